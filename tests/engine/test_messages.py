"""Messages between processes keep every field, whatever their class and however many fields it has."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from service.engine.events import CoverageMeasured, EngineEvent, LoadChanged, SentenceFinished, StepDone
from service.engine.messages import Message
from service.engine.types import Hypothesis, ScoringResult, SearchOptions, SentenceJob, SentenceResult, WeightSelection
from service.engine.values.constraints import Form, TokenClasses, ValueConstraints
from service.engine_process.protocol import Cancel, Done, EventReport, TokenChosen, Translate

VALUES = ValueConstraints(((Form((5, 6), True),),), (True,), False, TokenClasses(8, b"1", b"2", b"3"))
JOB = SentenceJob((3, 4, 2), SearchOptions(4, 0.6, 50, 1, 2), 12.5, None, WeightSelection((1, 0)), VALUES, True)
RESULT = SentenceResult((Hypothesis((3, 2), (-0.1, -0.2), -0.15, "eos"),), 0.1, 0.2, 0.05, None, 0.3)
FINISHED = SentenceFinished("model", 3, 2, 0.1, 0.2, -0.15, "length", -0.15, True)
EVENTS: tuple[EngineEvent, ...] = (StepDone("model", 8, 0.002), LoadChanged("model", 8, 2, 1), FINISHED)


@pytest.mark.parametrize(
    "message",
    [
        Translate(1, (7, 8), (JOB, JOB), frozenset({8})),
        Done(7, RESULT),
        Cancel(1, 7),
        TokenChosen(7, 3, -0.25),
        TokenChosen(7, 3, -0.25, b"\x00\x00\x80?"),
        *(EventReport(1, event) for event in EVENTS),
        EventReport(1, CoverageMeasured("model", 0.75)),
    ],
)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    assert pickle.loads(pickle.dumps(message)) == message


def test_a_class_with_one_field_is_no_special_case() -> None:
    @dataclass(frozen=True, slots=True)
    class Alone(Message):
        field: tuple[int, ...]

    kind, arguments = Alone((1, 2)).__reduce__()
    assert kind(*arguments) == Alone((1, 2))


def test_weights_arrive_too() -> None:
    sent = ScoringResult(
        np.array([1, 2], np.float32),
        np.array([3, 4]),
        np.ones((1, 1, 2, 3), np.float32),
        None,
        None,
        np.array([5], np.float32),
    )
    came = pickle.loads(pickle.dumps(sent))
    assert isinstance(came, ScoringResult)
    assert came.encoder_attention is None
    assert np.array_equal(came.cross_attention, sent.cross_attention)
    assert came.selected is not None
    assert came.selected[0] == 5
