"""Scoring beside decoding: given translations, and translations that are answered with their scores."""

import time
from dataclasses import replace

import pytest

from service.engine.errors import DeadlineExceeded, Overloaded, TooManyWeights
from service.engine.events import RequestRejected, SentenceFinished, StageDone
from service.engine.jobs import ScoringRequest, WeightLimit, WeightSelection
from service.engine.scheduling import scheduler
from tests.engine.scheduling.working import Clock, Gate, ids_of, job, scored, working
from tests.support.fake_model import EOS
from tests.support.polling import PATIENCE, wait_until


def test_scoring_that_hangs_stops_the_heartbeat_and_no_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.engine.scheduling.requests.IDLE_SECONDS", 0.01)
    gate = Gate("force")
    with working(gate) as engine:
        before = engine.worker.status.heartbeat
        wait_until(lambda: engine.worker.status.heartbeat > before + 0.03)  # it goes on in an idle worker
        forced = engine.worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS)))
        assert gate.arrived.wait(PATIENCE)
        assert ids_of(engine.worker.submit(job(5))) == (5, EOS)
        time.sleep(0.1)  # the other thread's last sign of life may be from before the run
        stopped = engine.worker.status.heartbeat
        time.sleep(0.1)
        assert engine.worker.status.heartbeat == stopped
        gate.open()
        forced.result(PATIENCE)
        wait_until(lambda: engine.worker.status.heartbeat > stopped)


def test_those_who_wait_are_scored_together_within_the_limits_of_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduler, "SCORED_TOGETHER", 4)
    monkeypatch.setattr(scheduler, "SCORED_TOKENS", 50)
    gate = Gate("force")
    with working(gate) as engine:
        submit = engine.worker.submit_scoring
        long = [submit(ScoringRequest((3,) * 20, (3,) * 20))]
        assert gate.arrived.wait(PATIENCE)
        long += [submit(ScoringRequest((3,) * 20, (3,) * 20)) for _ in range(2)]
        short = [submit(ScoringRequest((3, 4, EOS), (3, at, EOS))) for at in range(4, 10)]
        gate.open()
        assert all(future.result(PATIENCE).ranks.shape == (20,) for future in long)
        results = [future.result(PATIENCE) for future in short]
    assert [int(result.ranks[1]) == 1 for result in results] == [True] + [False] * 5
    assert results[0].cross_attention.shape == (1, 1, 3, 3)
    assert engine.calls("force") == [1, 1, 2, 4, 1]  # a long one has 40 tokens, a short one 6


def test_forced_jobs_that_would_come_up_too_late_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "SCORED_TOGETHER", 1)
    clock = Clock()

    def slow(what: str, rows: int) -> None:
        clock.now += 0.1

    first, second = Gate("force", then=slow), Gate("force")
    request = ScoringRequest((3, 4, EOS), (3, 4, EOS))
    with working(first, clock=clock) as engine:
        submit = engine.worker.submit_scoring
        known = [submit(request) for _ in range(30)]
        first.open()
        assert all(future.result(PATIENCE) for future in known)  # by now it is known how long each takes
        engine.model.before = second
        futures = [submit(request) for _ in range(30)]
        assert second.arrived.wait(PATIENCE)
        with pytest.raises(Overloaded) as refused:
            submit(replace(request, deadline=clock.now + 1.0))
        assert refused.value.retry_after >= 1.0
        assert RequestRejected("toy", "overloaded") in engine.events
        futures.append(submit(replace(request, deadline=clock.now + 600)))
        second.open()
        assert all(future.result(PATIENCE) for future in futures)


def test_a_translation_is_answered_with_its_scores_where_it_asks_for_them() -> None:
    with working() as engine:
        plain, whole, cut = engine.worker.submit_all([job(3, 4), scored(3, 4), scored(*range(3, 12), max_length=4)])
        assert plain.result(PATIENCE).scores is None
        given = engine.worker.submit_scoring(ScoringRequest((3, 4, EOS), (3, 4, EOS))).result(PATIENCE)
        result = whole.result(PATIENCE)
        assert result.hypotheses == plain.result(0).hypotheses
        assert result.scores is not None
        assert result.scores.logprobs.tolist() == given.logprobs.tolist()
        assert result.score_seconds > 0
        behind = WeightSelection((0, 0), ("cross", 0, 0), stage="scores")
        explained = engine.worker.submit(replace(job(3, 4), score=behind)).result(PATIENCE).scores
        assert explained is not None
        assert explained.scores is not None
        closed = cut.result(PATIENCE)
        assert closed.hypotheses[0].ids == (3, 4, 5, 6)  # what is cut off is closed by </s> before it is scored
        assert closed.scores is not None
        assert closed.scores.logprobs.shape == (5,)
    assert "score" in [each.stage for each in engine.events if isinstance(each, StageDone)]
    assert engine.count(SentenceFinished) == 4


def test_a_translation_that_waits_for_its_scores_can_be_cancelled_or_expire() -> None:
    gate, clock = Gate("force"), Clock()
    with working(gate, clock=clock) as engine:
        first = engine.worker.submit(scored(3))
        assert gate.arrived.wait(PATIENCE)
        left, late = engine.worker.submit_all([scored(4), scored(5, deadline=1.0)])
        wait_until(lambda: engine.count(SentenceFinished) == 3)
        assert left.cancel()
        clock.now = 2.0
        gate.open()
        assert first.result(PATIENCE).scores is not None
        with pytest.raises(DeadlineExceeded):
            late.result(PATIENCE)
    assert engine.calls("force") == [1]


def test_a_translation_with_too_many_weights_fails_before_it_is_scored() -> None:
    with working() as engine:
        limited = WeightSelection((0, 0), limit=WeightLimit("cross", 1, 9))
        fits, exceeds = engine.worker.submit_all([replace(job(*ids), score=limited) for ids in ((3, 4), (3, 4, 5))])
        assert fits.result(PATIENCE).scores is not None
        with pytest.raises(TooManyWeights, match="16 attention weights"):
            exceeds.result(PATIENCE)
    assert engine.calls("force") == [1]
