"""Translates in one leg, or in two through a pivot language.

This is the only place where the translation of one model becomes the source of another. The decision which pairs are
pivoted is in `languages.tags`.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

from service.engine.errors import InvalidOption
from service.engine.languages.tags import canonical
from service.engine.model_info import ModelInfo
from service.engine.scheduling.admission import QueueStatus, admission_error
from service.engine.search.options import check_limits, check_quality
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    PivotText,
    SentenceDetail,
    SentenceQuality,
    Translation,
    TranslationOptions,
)


class TextTranslator(Protocol):
    """One served model for one pair, as far as texts are concerned."""

    def keep(self) -> AbstractContextManager[None]:
        """Return a context inside which the model serves, even if it is replaced or unloaded."""

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model, with its pair."""

    def translate(
        self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
    ) -> Awaitable[list[Translation]]:
        """Translate texts; cancellation of the awaiting task frees their rows. `deadline` is on time.monotonic."""


class Translates(TextTranslator, Protocol):
    """A Translator, as narrow as possible, so that tests can use a fake one."""

    failed_default: str | None  # the model that it stands in for

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of the model's queue."""

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""

    def attention(
        self,
        text: str,
        target_text: str | None,
        options: AttentionOptions,
        *,
        deadline: float | None = None,
        most_weights: int | None = None,
    ) -> Awaitable[AttentionMap]:
        """Return the attention of one sentence and its own, or the given, translation; raise TooManyWeights."""

    def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> Awaitable[list[SentenceDetail]]:
        """Score given translations (source, target), many at once."""


@contextmanager
def kept(legs: Iterable[TextTranslator]) -> Iterator[None]:
    """Keep the models that a request or a job began with, until its end."""
    with ExitStack() as stack:
        for leg in legs:
            stack.enter_context(leg.keep())
        yield


AnyLeg = TypeVar("AnyLeg", bound=Translates)
RunLeg = Callable[[AnyLeg, Sequence[str], TranslationOptions], Awaitable[list[Translation]]]


def check_room(legs: Sequence[Translates], deadline: float | None = None) -> None:
    """Raise Overloaded or NotReady if the smallest request through all legs would not be accepted now.

    The request waits in the queue of each leg in turn, so their waiting times add up against its one deadline.
    """
    for leg in legs:
        leg.check_room(deadline)
    if len(legs) > 1:
        waits = [leg.queue_status.seconds or 0.0 for leg in legs]
        slowest = legs[waits.index(max(waits))].info.name
        error = admission_error(slowest, QueueStatus(seconds=sum(waits)), deadline, time.monotonic())
        if error is not None:
            raise error


async def translate_in_legs(
    legs: Sequence[AnyLeg],
    texts: Sequence[str],
    options: TranslationOptions,
    run: RunLeg[AnyLeg],
    deadline: float | None = None,
) -> list[Translation]:
    """Translate texts in one or two legs; `run` does the work of one leg.

    The search options apply to both legs, alternatives and the prefix to the last. The translations of two legs have a
    `pivot`, and their `sentences` are those of the last leg. Raise the errors of `run`; if a queue is too long for both
    legs, raise Overloaded before the first.
    """
    if len(legs) == 1:
        return await run(legs[0], texts, options)
    first, second = legs
    _check_options(legs, options)
    check_room(legs, deadline)
    leg_options = replace(options, min_quality=None)  # what counts is the quality of both legs together
    between = await run(first, texts, replace(leg_options, alternatives=0, target_prefix=None))
    translations = await run(second, [translation.text for translation in between], leg_options)
    return [
        replace(_through(before, translation, options.min_quality), pivot=_pivot_text(first.info, before))
        for before, translation in zip(between, translations, strict=True)
    ]


def _check_options(legs: Sequence[Translates], options: TranslationOptions) -> None:
    if options.glossary is not None:
        raise InvalidOption(
            f"A glossary works in one translation, and this one goes through {legs[-1].info.source_language}. "
            "Translate in two calls, each with its own glossary."
        )
    if options.keeps_source:
        raise InvalidOption("below_min_quality=keep_source is not possible through a pivot language; use mark.")
    check_limits(options)
    for leg in legs:
        check_quality(options, leg.info.confidence is not None, leg.info.name)


def _through(before: Translation, translation: Translation, min_quality: float | None) -> Translation:
    """Return the second leg's translation with the qualities of both legs: each times that of the text before it."""

    def marked(after: SentenceQuality) -> SentenceQuality:
        quality = _product(after.quality, before.quality)
        low = quality is not None and min_quality is not None and quality < min_quality
        return replace(after, quality=quality, low=low)

    sentences = tuple(
        replace(sentence, quality=_product(sentence.quality, before.quality)) for sentence in translation.sentences
    )
    return replace(translation, qualities=tuple(map(marked, translation.qualities)), sentences=sentences)


def _product(one: float | None, second: float | None) -> float | None:
    return None if one is None or second is None else one * second


def _pivot_text(info: ModelInfo, translation: Translation) -> PivotText:
    return PivotText(canonical(info.target_language), translation.text, info.name, info.digest, translation.sentences)
