"""The frequent messages as plain tuples, which are pickled in a fifth of the time of objects.

Every request has a Translate and a Done, and every step a few events. All other messages are pickled as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from service.engine import (
    Hypothesis,
    LoadChanged,
    SearchOptions,
    SentenceFinished,
    SentenceJob,
    SentenceResult,
    SentencesQueued,
    StageDone,
    StepDone,
    fields_of,
)
from service.engine_process.protocol import Done, EventReport, Translate

EVENTS = (StepDone, LoadChanged, SentenceFinished, SentencesQueued, StageDone)
_NUMBERS: dict[type, int] = {kind: number for number, kind in enumerate(EVENTS)}
_TRANSLATE, _DONE = len(EVENTS), len(EVENTS) + 1  # a packed message begins with the number of its kind


def packed(message: object) -> object:
    """Return a frequent message as a tuple of plain values, and any other as it is."""
    pack = _PACKERS.get(type(message))
    return message if pack is None else pack(message)


def unpacked(received: Any) -> Any:
    """Return the message that was packed."""
    if type(received) is not tuple:
        return received
    number, *fields = received
    return _UNPACKERS[number](*fields)


def _pack_event(report: EventReport) -> object:
    event = report.event
    number = _NUMBERS.get(type(event))
    return report if number is None else (number, report.worker, fields_of(event))


def _unpack_event(kind: Callable[..., Any]) -> Callable[[int, tuple[Any, ...]], EventReport]:
    return lambda worker, fields: EventReport(worker, kind(*fields))


def _pack_translate(message: Translate) -> object:
    jobs = [(fields_of(job.search), fields_of(job)) for job in message.jobs]
    jobs = [(search, (*fields[:1], None, *fields[2:])) for search, fields in jobs]
    return (_TRANSLATE, message.worker, message.numbers, jobs, message.streamed or None)


def _unpack_translate(worker: int, numbers: tuple[int, ...], jobs: Any, streamed: frozenset[int] | None) -> Translate:
    own = tuple(SentenceJob(source_ids, SearchOptions(*search), *others) for search, (source_ids, _, *others) in jobs)
    return Translate(worker, numbers, own, streamed or frozenset())


def _pack_done(message: Done) -> object:
    result = message.result
    if not isinstance(result, SentenceResult):
        return message
    return (_DONE, message.number, [fields_of(each) for each in result.hypotheses], fields_of(result)[1:])


def _unpack_done(number: int, hypotheses: Any, others: Any) -> Done:
    return Done(number, SentenceResult(tuple(Hypothesis(*each) for each in hypotheses), *others))


_PACKERS: dict[type, Callable[[Any], object]] = {
    EventReport: _pack_event,
    Translate: _pack_translate,
    Done: _pack_done,
}
_UNPACKERS: list[Callable[..., Any]] = [*map(_unpack_event, EVENTS), _unpack_translate, _unpack_done]
