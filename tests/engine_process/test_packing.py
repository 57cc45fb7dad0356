"""Messages that are packed for the channel are the same messages afterwards, with every one of their fields.

No load is sent that the next message makes obsolete.
"""

import dataclasses
import pickle

import pytest

from service.engine import (
    EngineFailure,
    Hypothesis,
    LoadChanged,
    SearchOptions,
    SentenceFinished,
    SentenceJob,
    SentenceResult,
    StageDone,
    StepDone,
)
from service.engine.jobs import WeightSelection
from service.engine.values.constraints import Form, TokenClasses, ValueConstraints
from service.engine_process.packing import EVENTS, packed, unpacked
from service.engine_process.protocol import Cancel, Done, EventReport, Failed, FromEngine, TokenChosen, Translate
from service.engine_process.server.engine_server import latest_loads

SEARCH = SearchOptions(4, 0.5, 40, 3, False, False, (2, 7))
VALUES = ValueConstraints(((Form((5, 6), True),),), (True,), False, TokenClasses(8, b"1", b"2", b"3"))
SCORE = WeightSelection((1, 2))
JOB = SentenceJob((5, 6, 2), SEARCH, 12.5, score=SCORE, values=VALUES, fresh=True, trace=True, step_weights=True)
BEST = Hypothesis((7, 2), (-0.1, -0.2), -0.15, "eos")
OTHER = Hypothesis((8,), (-3.0,), -3.0, "length")
RESULT = SentenceResult((BEST, OTHER), 0.1, 0.2, 0.3, score_seconds=0.4)
MESSAGES = [
    Translate(1, (2, 3), (JOB, SentenceJob((2,), SearchOptions())), frozenset({3})),
    Translate(1, (), ()),
    Done(9, RESULT),
    Done(9, ("CPUExecutionProvider",)),
    Cancel(1, 2),
    TokenChosen(7, 3, -0.25),
    TokenChosen(7, 3, -0.25, b"\x00\x00\x80?"),
    *(
        EventReport(7, event)
        for event in (
            StepDone("m", 8, 0.1),
            LoadChanged("m", 1, 2, 3),
            SentenceFinished("m", 1, 2, 0.3, 0.4, -0.5, "eos", -0.6, True),
            StageDone("m", "encode", 0.5),
        )
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message: object) -> None:
    assert unpacked(pickle.loads(pickle.dumps(packed(message)))) == message


def test_the_examples_change_every_default_so_that_no_field_can_be_forgotten() -> None:
    for example in (JOB, SEARCH, RESULT):
        left = {
            field.name
            for field in dataclasses.fields(example)
            if field.default is not dataclasses.MISSING and getattr(example, field.name) == field.default
        }
        # Listeners stay behind, and the others are sent as they are, whatever they hold (test_cluster.py).
        assert left <= {"listener", "scores", "trace", "step_weights"}
    assert {type(each.event) for each in MESSAGES if isinstance(each, EventReport)} == set(EVENTS)


def load(worker: int, rows: int) -> EventReport:
    return EventReport(worker, LoadChanged(f"model {worker}", rows, rows, 0))


def test_only_the_last_load_of_each_worker_is_sent_and_everything_else_in_its_order() -> None:
    step = EventReport(1, StepDone("model 1", 4, 0.001))
    failed = Failed(7, EngineFailure("no"))
    messages: list[FromEngine] = [load(1, 1), step, load(2, 5), load(1, 2), step, failed, load(1, 3), step]
    assert latest_loads(messages) == [step, load(2, 5), step, failed, load(1, 3), step]
