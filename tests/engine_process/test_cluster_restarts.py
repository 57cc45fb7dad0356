"""Engine processes and models that end, hang or fail: they are started again, or given up, and nobody waits forever."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from service.bundle.load import Bundle, load_bundle
from service.engine.errors import EngineFailure, Interrupted, NotReady
from service.engine.events import ignore_event
from service.engine.loader import EngineSettings
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import WorkerStatus
from service.engine_process.client import lifecycle
from service.engine_process.client.lifecycle import MOST_DELAY, MOST_IN_A_ROW, STABLE_SECONDS, Restarts
from service.engine_process.protocol import StatusReport
from tests.engine_process.serving import SLOW, jobs, serving, works
from tests.support.polling import PATIENCE, wait_until
from tests.support.toy_onnx import write_toy_bundle

until = partial(wait_until, seconds=120)  # a process imports all of the engine, on a machine that may be busy


def test_a_process_that_is_killed_is_restarted_in_place(bundle: Bundle) -> None:
    with serving(bundle) as served:
        [worker] = served.workers
        expected = worker.submit_all(jobs(3))[2].result(PATIENCE).hypotheses[0].ids
        futures = worker.submit_all([SLOW] * 60)
        victim = served.process
        os.kill(victim, signal.SIGKILL)
        until(lambda: worker.status.state == "restarting")
        assert Interrupted in {type(future.exception(PATIENCE)) for future in futures}
        with pytest.raises(NotReady, match="being restarted"):
            worker.check_room()
        until(lambda: worker.status.state == "running")
        assert worker.submit_all(jobs(3))[2].result(PATIENCE).hypotheses[0].ids == expected
        assert served.process != victim
        assert served.restarts == ["process"]
        another, _ = served.cluster.open(bundle, EngineSettings(), ignore_event)
        another.retire()


def test_a_process_that_never_lasts_is_given_up(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "MOST_IN_A_ROW", 2)
    with serving(bundle) as served:
        [worker] = served.workers
        for _ in range(3):
            until(lambda: worker.status.state == "running")
            os.kill(served.process, signal.SIGKILL)
            until(lambda: worker.status.state != "running")
        until(lambda: worker.status.state == "dead")
        assert served.restarts == ["process", "process", "given_up"]
        with pytest.raises(NotReady, match="has failed"):
            worker.check_room()
        with pytest.raises(EngineFailure):
            served.cluster.open(bundle, EngineSettings(), ignore_event)


def test_a_model_that_fails_is_loaded_anew_and_given_up_if_it_fails_again_beside_the_others(
    bundle: Bundle,
) -> None:
    with serving(bundle, bundle) as served:
        worker, well = served.workers
        running = well.submit_all([SLOW] * 20)
        [process] = served.cluster._processes
        for then in ("running", "dead"):
            [lost] = worker.submit_all([SLOW])
            report = StatusReport(worker.number, WorkerStatus(WorkerState.DEAD, False, time.monotonic()))
            process._loop.call_soon_threadsafe(process._receive, report)
            assert isinstance(lost.exception(PATIENCE), Interrupted)
            assert worker.status.state in ("restarting", then)
            assert works(well)
            until(lambda then=then: worker.status.state == then)  # type: ignore[misc]
            assert then == "dead" or works(worker)
        assert all(future.result(PATIENCE).hypotheses for future in running)
        assert served.restarts == ["model", "given_up"]
        assert works(well)


def test_a_model_that_was_exchanged_on_the_disk_is_not_mixed_with_the_one_that_was_lost(tmp_path: Path) -> None:
    bundles = [load_bundle(write_toy_bundle(tmp_path / name)) for name in ("toy", "other")]
    with serving(*bundles) as served:
        worker, well = served.workers
        manifest = tmp_path / "toy" / "manifest.json"
        manifest.write_text(manifest.read_text("utf-8") + " ", "utf-8")
        os.kill(served.process, signal.SIGKILL)
        until(lambda: worker.status.state == "dead" and well.status.state == "running")
        assert works(well)


def test_a_process_that_hangs_is_replaced(bundle: Bundle) -> None:
    with serving(bundle) as served:
        [worker] = served.workers
        assert works(worker)
        victim = served.process
        os.kill(victim, signal.SIGSTOP)
        until(lambda: victim not in served.cluster.process_ids)
        until(lambda: worker.status.state == "running" and len(served.cluster.process_ids) == 1)
        assert works(worker)


def test_a_bundle_whose_load_hangs_is_refused_in_time_and_the_others_serve(bundle: Bundle) -> None:
    with serving(bundle) as served:
        [worker] = served.workers
        os.kill(served.process, signal.SIGSTOP)  # so that nothing is loaded for the time being
        with pytest.raises(EngineFailure, match=r"within 0\.5 seconds"):
            served.cluster.open(bundle, EngineSettings(load_seconds=0.5), ignore_event)
        os.kill(served.process, signal.SIGCONT)
        until(lambda: worker.submit_all(jobs(1))[0].exception(PATIENCE) is None)
        assert served.cluster.open(bundle, EngineSettings(), ignore_event).placement


def test_processes_end_with_whoever_started_them() -> None:
    program = (
        "import time\nfrom tests.engine_process.serving import engines\n"
        "with engines(2) as cluster:\n    print(*cluster.process_ids, flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(word) for word in parent.stdout.readline().split()]
        time.sleep(1.0)
        parent.kill()
    until(lambda: not any(_lives(child) for child in children))


def _lives(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"


def test_each_restart_in_vain_waits_longer_until_there_are_no_more() -> None:
    restarts, now = Restarts(0.0), 0.0
    delays = []
    while (delay := restarts.ended(now)) is not None:
        delays.append(delay)
        now += delay
        restarts.begins(now)
        now += 1.0
    assert len(delays) == MOST_IN_A_ROW
    assert delays == sorted(delays)
    assert delays[0] < 1.0
    assert delays[-1] == MOST_DELAY


def test_what_lasted_is_started_at_once_again() -> None:
    restarts = Restarts(0.0)
    first = restarts.ended(1.0)
    assert restarts.ended(2.0) != first
    restarts.begins(10.0)
    assert restarts.ended(10.0 + STABLE_SECONDS) == first
