"""What an engine process sends: no load that the next message makes obsolete."""

from service.engine import EngineFailure, LoadChanged, StepDone
from service.engine_process.protocol import EventReport, Failed, FromEngine
from service.engine_process.server.engine_server import latest_loads


def load(worker: int, rows: int) -> EventReport:
    return EventReport(worker, LoadChanged(f"model {worker}", rows, rows, 0))


def test_only_the_last_load_of_each_worker_is_sent_and_everything_else_in_its_order() -> None:
    step = EventReport(1, StepDone("model 1", 4, 0.001))
    failed = Failed(7, EngineFailure("no"))
    messages: list[FromEngine] = [load(1, 1), step, load(2, 5), load(1, 2), step, failed, load(1, 3), step]
    assert latest_loads(messages) == [step, load(2, 5), step, failed, load(1, 3), step]
