"""Asks the other model of a pair about short texts whose translation fails its own checks (ADR 28).

The first answer is kept unless it fails and the other one is better. What one text gets depends on nothing but that
text, so an answer is the same alone and in company.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.api.interface import TranslatorPort
from service.engine import Translation, TranslationOptions, is_better, is_checked, problems_of


@dataclass(frozen=True, slots=True)
class SecondAnswer:
    """Why a text has the translation of another model."""

    model: str
    problems: tuple[str, ...]  # of the first model's answer


async def with_second_answers(
    other: TranslatorPort | None,
    texts: Sequence[str],
    found: Sequence[Translation],
    options: TranslationOptions,
    deadline: float,
) -> tuple[list[Translation], list[SecondAnswer | None]]:
    """Return the translations, some of them by the other model, and for each why; raise the other model's errors."""
    chosen, reasons = list(found), [None] * len(found)  # type: list[Translation], list[SecondAnswer | None]
    if other is None:
        return chosen, reasons
    problems = {
        number: own
        for number, (text, translation) in enumerate(zip(texts, found, strict=True))
        if is_checked(text) and (own := problems_of(text, translation.text))
    }
    if not problems:
        return chosen, reasons
    answers = await other.translate([texts[number] for number in problems], options, deadline=deadline)
    for (number, own), answer in zip(problems.items(), answers, strict=True):
        if is_better(texts[number], answer, found[number]):
            chosen[number] = answer
            reasons[number] = SecondAnswer(other.info.name, tuple(map(str, own)))
    return chosen, reasons
