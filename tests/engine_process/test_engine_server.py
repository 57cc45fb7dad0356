"""The engine process' side of the channel: which messages are sent at once, and which together."""

from concurrent.futures import Future
from typing import Any

from service.engine import (
    Hypothesis,
    ScoringRequest,
    ScoringResult,
    SearchOptions,
    SentenceJob,
    SentenceResult,
    StepDone,
)
from service.engine_process.protocol import Done, EventReport, FromEngine, ScoreGiven, Translate
from service.engine_process.server.engine_server import EngineServer

RESULT = SentenceResult((Hypothesis((6, 2), (-0.5, -0.1), -0.3, "eos"),), 0.0, 0.1, 0.05)
STEP = StepDone("toy", 8, 0.001)


class ByHand:
    """A worker whose results the test gives."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit_all(self, jobs: list[SentenceJob], _numbers: tuple[int, ...]) -> list[Future[Any]]:
        self.futures += [Future() for _ in jobs]
        return self.futures[-len(jobs) :]

    def submit_scoring(self, _job: object, _number: int) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


def served() -> tuple[EngineServer, ByHand, list[tuple[str, FromEngine]]]:
    sent: list[tuple[str, FromEngine]] = []
    server = EngineServer(
        lambda message: sent.append(("now", message)), lambda message: sent.append(("later", message))
    )
    worker = ByHand()
    vars(server)["_workers"][3] = worker
    return server, worker, sent


def test_the_answers_of_one_step_are_sent_with_its_end() -> None:
    server, worker, sent = served()
    job = SentenceJob((5, 6, 2), SearchOptions(beam_size=1, max_length=8))
    server.receive(Translate(3, (10, 11), (job, job)))
    for future in worker.futures:
        future.set_result(RESULT)
    server._report(3, STEP)
    server._report(3, STEP)  # nothing was answered since
    end = EventReport(3, STEP)
    assert sent == [("later", Done(10, RESULT)), ("later", Done(11, RESULT)), ("now", end), ("later", end)]


def test_an_answer_that_no_step_follows_is_sent_at_once() -> None:
    server, worker, sent = served()
    server.receive(ScoreGiven(3, 12, ScoringRequest((5, 2), (6, 2))))
    scores = ScoringResult(**dict.fromkeys(ScoringResult.__match_args__))  # type: ignore[arg-type]
    worker.futures[0].set_result(scores)
    assert sent == [("now", Done(12, scores))]
