"""Signs that a translation went wrong, and how long a call was in each stage."""

import asyncio

import numpy as np
import pytest

from service.bundle.manifest import parse_manifest
from service.engine.attention.quality_signals import coverage, repeats
from service.engine.events import EngineEvent, Measured, StageDone
from service.engine.jobs import Hypothesis, SentenceResult
from service.engine.scheduling.interface import sentence_stages
from service.engine.types import AttentionOptions, TranslationOptions
from tests.support.fake_engine import info_of
from tests.support.fake_worker import MirrorWorker, served_by
from tests.support.manifests import manifest_document


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ((), False),
        ((5, 5, 5, 5), False),
        ((5, 5, 5, 5, 5), True),
        ((5, 6, 7, 8, 5, 6, 7, 2), False),
        ((5, 6, 7, 8, 9, 5, 6, 7, 8, 2), True),
    ],
)
def test_four_tokens_that_come_again_are_found(ids: tuple[int, ...], found: bool) -> None:
    assert repeats(ids) is found


def test_coverage_is_the_share_of_source_tokens_that_were_looked_at() -> None:
    # Two target tokens and </s>; of the source "a b c </s>" nobody looks at b, and c gets just enough in pieces.
    weights = np.array([[0.9, 0.0, 0.1, 0.0], [0.8, 0.0, 0.1, 0.1], [0.0, 0.0, 0.0, 1.0]], np.float32)
    assert coverage(weights) == pytest.approx(2 / 3)
    assert coverage(np.ones((2, 1), np.float32)) == 1.0


def test_a_call_is_in_a_stage_from_its_first_sentence_to_its_last() -> None:
    quick = SentenceResult((Hypothesis((4, 2), (-0.1, -0.1), -0.1, "eos"),), 0.25, 1.0, 0.5)
    late = SentenceResult((Hypothesis((4, 5, 2), (-0.1,) * 3, -0.1, "eos"),), 3.0, 1.0, 0.25)
    stages = sentence_stages(100.0, [(4, 2), (4, 5, 6, 2)], [quick, late])
    assert [(stage.stage, stage.began, stage.ended) for stage in stages] == [
        ("queue", 100.0, 103.0),
        ("encode", 100.25, 103.25),
        ("decode", 100.75, 104.0),
    ]
    assert stages[0].figures == {"sentences": 2, "source_tokens": 6}
    assert stages[2].figures == {"sentences": 2, "target_tokens": 5}


class Listener:
    """Remembers the stages of calls, with the task they were told in, and the coverage of sentences."""

    def __init__(self) -> None:
        self.stages: list[StageDone] = []
        self.tasks: set[object] = set()
        self.coverage: list[float] = []

    def hear(self, event: EngineEvent) -> None:
        assert event.model == "transformer-en-fr"
        if isinstance(event, Measured) and event.what == "source_coverage":
            self.coverage.append(event.value)
        if isinstance(event, StageDone):
            self.stages.append(event)
            self.tasks.add(asyncio.current_task())


async def test_a_call_tells_its_stages_and_the_coverage_of_translations_whose_attention_was_asked_for() -> None:
    listener, manifest = Listener(), parse_manifest(manifest_document())
    translator = served_by(MirrorWorker(), manifest, info_of("transformer-en-fr"), listener.hear)
    await translator.model.start()
    assert listener.coverage == [], "what it is warmed up with says nothing about translations"
    listener.stages.clear()
    await translator.translate(["I lost. He lost."])
    assert [stage.stage for stage in listener.stages] == ["tokenize", "queue", "encode", "decode", "detokenize"]
    assert all(stage.began <= stage.ended for stage in listener.stages)
    assert listener.tasks == {asyncio.current_task()}
    assert listener.stages[1].figures["sentences"] == 2
    await translator.attention("I lost.", "I found.", AttentionOptions())
    assert listener.coverage == []
    await translator.translate(["I lost. He lost."], TranslationOptions(details=True))
    assert listener.coverage == [1.0, 1.0]
    await translator.attention("I lost.", None, AttentionOptions())
    assert listener.coverage == [1.0, 1.0, 1.0]
    assert [stage.stage for stage in listener.stages][-3:] == ["score", "detokenize", "view"]
