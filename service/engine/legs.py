"""Translates in one leg, or in two through a pivot language.

This is the only place where the translation of one model becomes the source of another. The decision which pairs are
pivoted is in `languages.pivot`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol, TypeVar

from service.engine.languages.tags import canonical
from service.engine.scheduling.admission import QueueStatus, admission_error
from service.engine.types import (
    ModelInfo,
    PivotText,
    StreamedPivot,
    StreamEvent,
    Translation,
    TranslationOptions,
    ValueHandling,
)


class Leg(Protocol):
    """The part of a translator that a leg needs."""

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model, with the pair of this leg."""
        ...

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of the model's queue."""
        ...

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""
        ...


class StreamingLeg(Leg, Protocol):
    """A translator that can also stream."""

    def translate(
        self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
    ) -> Awaitable[list[Translation]]:
        """Translate texts."""
        ...

    def stream(
        self,
        text: str,
        max_length: int | None = None,
        *,
        deadline: float | None = None,
        values: ValueHandling = "localize",
    ) -> AsyncIterator[StreamEvent]:
        """Translate greedily, token by token."""
        ...


AnyLeg = TypeVar("AnyLeg", bound=Leg)
RunLeg = Callable[[AnyLeg, Sequence[str], TranslationOptions], Awaitable[list[Translation]]]


def check_room(legs: Sequence[Leg], deadline: float | None = None) -> None:
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

    The search options apply to both legs, alternatives to the last. The translations of two legs have a `pivot`, and
    their `sentences` are those of the last leg. Raise the errors of `run`; if a queue is too long for both legs, raise
    Overloaded before the first.
    """
    if len(legs) == 1:
        return await run(legs[0], texts, options)
    first, second = legs
    check_room(legs, deadline)
    between = await run(first, texts, replace(options, alternatives=0))
    found = await run(second, [translation.text for translation in between], options)
    return [
        replace(translation, pivot=_pivot_text(first.info, before))
        for before, translation in zip(between, found, strict=True)
    ]


async def stream_in_legs(
    legs: Sequence[StreamingLeg],
    text: str,
    max_length: int | None = None,
    *,
    deadline: float | None = None,
    values: ValueHandling = "localize",
) -> AsyncIterator[StreamedPivot | StreamEvent]:
    """Yield the events of the last leg; with two legs, the first event is the text between them.

    The first leg is translated as a whole, also greedily. Raise the errors of `translate_in_legs`; if the iterator is
    closed, the rows are freed.
    """
    *before, last = legs
    if before:
        [first] = before
        check_room(legs, deadline)
        options = TranslationOptions(beam_size=1, max_length=max_length, values=values)
        [between] = await first.translate([text], options, deadline=deadline)
        text = between.text
        yield StreamedPivot(_pivot_text(first.info, between))
    async with aclosing(last.stream(text, max_length, deadline=deadline, values=values)) as events:  # type: ignore[type-var]
        async for event in events:
            yield event


def _pivot_text(info: ModelInfo, translation: Translation) -> PivotText:
    return PivotText(canonical(info.target_language), translation.text, info.name, info.digest, translation.sentences)
