"""A real server with several engine processes: they share the work and change no byte; one that goes comes back."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from benchmarks.exactness import CONFIGURATIONS, answers_of, differences, mixed_requests
from tests.support.polling import wait_until_async
from tests.support.server import ServerProcess, metric, processor_seconds, running
from tests.support.toy_onnx import write_speaking_bundle
from tests.system.load import Load, codes, status_of, status_of_translation

ADMIN_TOKEN = "a-token-for-these-tests-only"


def serving(models: Path, processes: int, **settings: str) -> AbstractContextManager[ServerProcess]:
    common = {"TRANSLUCENT_MODELS_DIR": str(models), "TRANSLUCENT_ENGINE_PROCESSES": str(processes)}
    common["TRANSLUCENT_ADMIN_TOKEN"] = ADMIN_TOKEN
    return running("-m", "service", "serve", "--device", "cpu", **common, **settings)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_speaking_bundle(tmp_path_factory.mktemp("models") / "transformer-en-fr").parent


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[ServerProcess]:
    with serving(models, 2) as server:
        yield server


def engines(server: ServerProcess) -> list[int]:
    """Return the engine processes of a server."""
    return [child for child in server.children if "engine_process.server" in Path(f"/proc/{child}/cmdline").read_text()]


async def is_idle(server: ServerProcess) -> None:
    """Wait until nothing is left of the load, in the figures of all processes together."""
    await wait_until_async(lambda: metric(server.url, "rows_in_use") == metric(server.url, "queued_sentences") == 0)


async def test_processes_share_requests_of_every_kind_and_their_figures_add_up(server: ServerProcess) -> None:
    before = [processor_seconds(process) for process in engines(server)]
    assert len(before) == 2
    finished = metric(server.url, "sentences_total")
    async with Load(server.url, callers=12) as load:
        await load.until(400)
    assert load.lost == []
    assert set(load.statuses) == {200}
    assert all(after > since for after, since in zip(map(processor_seconds, engines(server)), before, strict=True))
    assert metric(server.url, "sentences_total") - finished >= 300  # one with a target text has none of its own
    for number in "01":
        assert metric(server.url, "engine_process_cpu_seconds_total", process=number) > 0
        assert metric(server.url, "engine_process_resident_memory_bytes", process=number) > 10e6
    await is_idle(server)


def test_they_do_not_inherit_secrets(server: ServerProcess) -> None:
    for child in server.children:
        inherited = Path(f"/proc/{child}/environ").read_bytes()
        assert b"TRANSLUCENT_MODELS_DIR" in inherited
        assert ADMIN_TOKEN.encode() not in inherited


async def test_one_process_that_is_killed_is_restarted_while_the_other_goes_on(server: ServerProcess) -> None:
    victim, other = engines(server)
    async with Load(server.url, callers=12) as load:
        await load.until(24)
        os.kill(victim, signal.SIGKILL)
        lost = await asyncio.to_thread(server.wait_for, "an engine process has ended")
        assert (lost["process"], lost["exit_code"]) == (victim, -signal.SIGKILL)
        assert status_of(server, "/health/ready") == 200
        await asyncio.to_thread(server.wait_for, "model restarted")
        await load.until(24)
    assert load.lost == []
    assert set(load.statuses) <= {200, 503}
    assert codes(load).get(503, set()) <= {"interrupted", "not_ready", "overloaded"}
    assert metric(server.url, "engine_restarts_total") == 1
    assert other in engines(server)
    assert len(engines(server)) == 2
    await is_idle(server)


async def test_the_only_process_comes_back_without_a_restart_of_the_server(models: Path) -> None:
    with serving(models, 1) as server:
        [victim] = engines(server)
        async with Load(server.url) as load:
            await load.until(16)
            os.kill(victim, signal.SIGSTOP)
            await asyncio.sleep(0.5)  # every caller now waits for an answer of this process
            os.kill(victim, signal.SIGKILL)
            await wait_until_async(lambda: status_of(server, "/health/ready") == 503)
            assert status_of(server, "/health/live") == 200
            await wait_until_async(lambda: status_of(server, "/health/ready") == 200)
            await load.until(16)
        assert load.lost == []
        assert set(load.statuses) <= {200, 503}
        assert "interrupted" in codes(load)[503] <= {"interrupted", "not_ready", "overloaded"}
        assert status_of_translation(server) == 200
        assert engines(server) != [victim]
        assert server.process.poll() is None


async def test_what_runs_in_them_is_finished_when_the_server_is_told_to_stop(models: Path) -> None:
    with serving(models, 2, TRANSLUCENT_DRAIN_DELAY_SECONDS="2") as server:
        processes = engines(server)
        async with Load(server.url, callers=12) as load:
            await load.until(24)
            for process in [server.process.pid, *processes]:  # as a terminal does it
                os.kill(process, signal.SIGINT)
            await load.over()
        assert await asyncio.to_thread(server.exit_code, 60) == 0
    assert load.lost == []
    assert set(load.statuses) <= {200, 503}
    await wait_until_async(lambda: not any(Path(f"/proc/{process}").exists() for process in processes))


TEXTS = [
    *("I lost.", "He's calm.", "Go on.", "I'm home, and she isn't! Go, go, go.", "The cat; the dog.", "It is late."),
    *("The boat was sold in 1987 for $3,250.", "Write to help@example.org.", "Why not? Because. I said so, twice."),
]


async def test_configurations_change_no_byte_of_any_answer(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    requests = mixed_requests(TEXTS, 60, max_length=8, values="off")  # the toy model rarely ends by itself
    found: dict[str, list[bytes]] = {}
    for name in ("1 engine process", "3 engine processes, cache"):
        # The toy model writes tokens that its tokenizer lacks, which values cannot be found among.
        settings = {"TRANSLUCENT_MODELS_DIR": str(tmp_path), **CONFIGURATIONS[name]}
        with running("-m", "service", "serve", "--device", "cpu", **settings) as server:
            found[name] = await answers_of(server.url, requests)
            looked_up = metric(server.url, "cache_sentences_total", result="hit")
            assert (looked_up > 20) is name.endswith("cache")
    expected = found["1 engine process"]
    for name, answers in found.items():
        assert differences(requests, expected, answers) == [], name
