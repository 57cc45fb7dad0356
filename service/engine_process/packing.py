"""The frequent messages as plain tuples, which are pickled in a fifth of the time of objects.

Every request has a Translate and a Done, every step a few events, and every token of a stream a TokenChosen. All other
messages are pickled as they are.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from service.engine import (
    Hypothesis,
    LoadChanged,
    SearchOptions,
    SentenceFinished,
    SentenceJob,
    SentenceResult,
    StageDone,
    StepDone,
)
from service.engine_process.protocol import Done, EventReport, TokenChosen, Translate

EVENTS = (StepDone, LoadChanged, SentenceFinished, StageDone)
_NUMBERS: dict[type, int] = {kind: number for number, kind in enumerate(EVENTS)}
_TRANSLATE, _DONE, _TOKEN = range(len(EVENTS), len(EVENTS) + 3)  # a packed message begins with the number of its kind

_FIELDS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    kind: attrgetter(*kind.__match_args__)
    for kind in (*EVENTS, Hypothesis, SearchOptions, SentenceJob, SentenceResult, TokenChosen)
}


def fields_of(value: object) -> tuple[Any, ...]:
    """Return the fields of a value of these classes in their order."""
    return _FIELDS[type(value)](value)


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
    TokenChosen: lambda message: (_TOKEN, *fields_of(message)),
}
_UNPACKERS: list[Callable[..., Any]] = [*map(_unpack_event, EVENTS), _unpack_translate, _unpack_done, TokenChosen]
