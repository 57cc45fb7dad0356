"""The register that a translation shows: familiar (tu, du) or polite (vous, Sie)."""

import functools
import re
from collections.abc import Collection, Sequence
from typing import Literal

from service.engine.fields import Formality
from service.languages import Language, known_languages, language_of
from service.languages.language import Registers

Register = Literal["familiar", "polite"]
Shown = frozenset[Register]
_BY_FORMALITY: dict[Formality, Register] = {"prefer_more": "polite", "prefer_less": "familiar"}
_SHOWN_CHARACTERS = 60  # of a sentence in a note
_START = r"(?:^|(?<=[.!…:;] )|(?<=[«„“\"] )|(?<=[«„“\"]))"


def has_registers(language: str) -> bool:
    """Return whether it is known how a language shows its registers."""
    return language_of(language).registers is not None


@functools.cache
def _familiar(registers: Registers) -> re.Pattern[str]:
    return re.compile("|".join(registers.familiar) or "(?!)", re.IGNORECASE)


@functools.cache
def _command(registers: Registers) -> re.Pattern[str]:
    """Return what begins a familiar command: a common verb; or no other word that sentences begin with, and a follower.

    A follower seldom stands behind a noun.
    """
    commands = registers.commands
    verbs, others, followers = map("|".join, (commands.verbs, commands.not_verbs, commands.followers))
    guessed = rf"(?!(?:{others})\b)\w+{commands.ending}(?=[ \u00a0](?:{followers}))"
    anywhere = f"|{commands.anywhere}" if commands.anywhere else ""
    return re.compile(rf"{_START}{commands.before}(?:(?:{verbs})\b|{guessed}){anywhere}", re.IGNORECASE)


@functools.cache
def _no_command(language: Language) -> re.Pattern[str]:
    """Return how sentences begin that are no commands, in a language whose commands look like other sentences."""
    return re.compile(rf"(?:{'|'.join(language.no_commands) or '(?!)'})\b", re.IGNORECASE)


def _is_no_command(source: str, language: Language) -> bool:
    return bool(language.no_commands) and (
        _no_command(language).match(source) is not None or source.rstrip().endswith("?")
    )


def registers_of(text: str, language: str, source: str, source_language: str) -> Shown:
    """Return the registers that a sentence shows; none in a language without data about them.

    Where its words have several meanings, those of the source decide if that has one word for both registers.
    """
    ours, registers = language_of(source_language), language_of(language).registers
    if registers is None:
        return frozenset()
    found: set[Register] = set()
    if _familiar(registers).search(text):
        found.add("familiar")
    addressed = ours.you is None or ours.you.search(source)
    if registers.polite.search(text) or (addressed and registers.polite_at_start.match(text)):
        found.add("polite")
    if not found and not _is_no_command(source, ours) and _command(registers).search(text):
        found.add("familiar")
    return frozenset(found)


def polite_forms(command: str, language: str) -> list[str]:
    """Return what may be the polite form of a familiar command, right or wrong: "Nourrissez" and "Nourrisez"."""
    registers = language_of(language).registers
    if registers is None or not _command(registers).match(command):
        return []
    found = re.match(registers.commands.first_verb, command)
    if not found:
        return []
    verb, rest = command[: found.end()], command[found.end() :]
    forms = [re.sub(f"{old}$", new, verb, count=1) + rest for old, new in registers.polite_verbs]
    return [form for form in dict.fromkeys(forms) if form != command]


def wanted_register(formality: Formality, shown: Collection[Shown]) -> Register | None:
    """Return the register of a text: the one that is asked for, or that most of its sentences show if it has both."""
    if formality != "default":
        return _BY_FORMALITY[formality]
    familiar, polite = (sum(register in sentence for sentence in shown) for register in ("familiar", "polite"))
    return None if not familiar or not polite else "familiar" if familiar > polite else "polite"


def is_other(shown: Shown, wanted: Register | None) -> bool:
    """Return whether a sentence shows another register than the wanted one, perhaps beside it."""
    return wanted is not None and bool(shown - {wanted})


Pair = tuple[str, str]  # a text and its translation; or the languages of both


def in_other_register(
    texts: Sequence[Pair], languages: Pair, formality: Formality = "default"
) -> tuple[list[int], Formality]:
    """Return the numbers of the texts in another register than the wanted one, and the formality that asks for it.

    By default that is the register of most.
    """
    shown = [registers_of(translation, languages[1], text, languages[0]) for text, translation in texts]
    wanted = wanted_register(formality, shown)
    numbers = [number for number, each in enumerate(shown) if is_other(each, wanted)]
    return numbers, "prefer_more" if wanted == "polite" else "prefer_less"


def formality_note(formality: Formality, texts: Sequence[Pair], languages: Pair) -> str:
    """Return what translations do not have of the formality that was asked for; "" if nothing is missing."""
    source, target = languages
    if formality == "default":
        return ""
    if not has_registers(target):
        known = " and ".join(language.name for language in known_languages() if language.registers)
        return f"formality has no effect on {target}: {known} have familiar and polite forms here."
    wanted = wanted_register(formality, ())
    other = [each for text, each in texts if is_other(registers_of(each, target, text, source), wanted)]
    if not other:
        return ""
    return (
        f"formality is {formality}, but {len(other)} of {len(texts)} have no {wanted} translation that is nearly as "
        f"likely; the first: {other[0][:_SHOWN_CHARACTERS]}"
    )
