"""The engine is harmed in a real server: everybody gets one clear answer, and it recovers or the process ends."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.polling import wait_until_async
from tests.support.server import ServerProcess, metric, running
from tests.support.toy_onnx import write_speaking_bundle
from tests.system.load import Load, codes, status_of, status_of_translation

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}
ADMIN_TOKEN = "a-token-for-these-tests-only"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_speaking_bundle(folder / "transformer-en-fr")
    return folder


@contextmanager
def faulty(models: Path, stalled_seconds: float = 60.0, **settings: str) -> Iterator[ServerProcess]:
    common = {"TRANSLUCENT_MODELS_DIR": str(models), "TRANSLUCENT_DEVICE": "cpu"}
    with running("-m", "tests.system.serve_faulty", str(stalled_seconds), **common, **settings) as server:
        server.wait_for("ready")
        yield server


async def test_a_step_that_fails_costs_those_in_flight_and_nobody_else(models: Path) -> None:
    with faulty(models) as server:
        async with Load(server.url) as load:
            await load.until(16)
            server.signal(signal.SIGUSR1)
            await wait_until_async(lambda: metric(server.url, "engine_failures_total") == 1)
            await load.until(16)
            assert status_of(server, "/health/ready") == 200
        assert load.lost == []
        assert codes(load) == {500: {"engine_failure"}}
        assert load.statuses[500] <= load.callers
        assert metric(server.url, "rows_in_use") == metric(server.url, "queued_sentences") == 0
        assert status_of_translation(server) == 200
        assert "secret" not in "".join(server.raw)


@pytest.mark.parametrize("fault", [signal.SIGUSR2, signal.SIGRTMIN + 1], ids=["thread killed", "three failures"])
async def test_an_engine_that_dies_answers_everybody_and_ends_the_process(models: Path, fault: int) -> None:
    with faulty(models, TRANSLUCENT_DRAIN_DELAY_SECONDS="3") as server:
        ready: list[int] = []

        async def watch() -> None:
            async with httpx.AsyncClient(base_url=server.url) as client:
                with contextlib.suppress(httpx.TransportError):  # until it is gone
                    while True:
                        ready.append((await client.get("/health/ready")).status_code)
                        await asyncio.sleep(0.05)

        watching = asyncio.create_task(watch())
        async with Load(server.url, callers=12) as load:
            await load.until(24)
            before = set(ready)
            server.signal(fault)
            code = await asyncio.to_thread(server.exit_code, 120)
            await asyncio.wait([watching], timeout=5)
        assert code != 0  # so that compose and Kubernetes start it again
        assert before == {200}
        assert set(ready) == {200, 503}
        assert watching.done()
        assert load.lost == []
        assert set(load.statuses) <= {200, 500, 503}
        assert codes(load)[500] == {"engine_failure"}
        assert codes(load).get(503, set()) <= {"not_ready", "stopping"}
        assert any(line["level"] == "critical" for line in server.lines)


async def test_a_model_that_fails_leaves_the_others_serving_until_it_is_loaded_again(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    write_speaking_bundle(tmp_path / "transformer-en-de", name="transformer-en-de", target_language="de")
    with faulty(tmp_path, TRANSLUCENT_ADMIN_TOKEN=ADMIN_TOKEN) as server:
        german = {**TEXT, "target": "de"}
        async with httpx.AsyncClient(base_url=server.url, timeout=20) as client:
            assert (await client.post("/translate", json=german)).status_code == 200
            server.signal(signal.SIGRTMIN + 1)
            answers = [await client.post("/translate", json=german) for _ in range(4)]
            assert [answer.json().get("code") for answer in answers] == ["engine_failure"] * 3 + ["not_ready"]
            assert status_of_translation(server) == 200
            assert status_of(server, "/health/ready") == 200
            assert metric(server.url, "model_ready", model="transformer-en-de") == 0
            loaded = await client.post("/v2/repository/models/transformer-en-de/load", headers=ADMIN)
            assert (loaded.status_code, loaded.json()["outcome"]) == (200, "replaced")
            assert (await client.post("/translate", json=german)).status_code == 200
        assert metric(server.url, "model_ready", model="transformer-en-fr") == 1
        assert server.process.poll() is None


async def test_a_bundle_whose_load_hangs_holds_up_nobody(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    limits = {"TRANSLUCENT_LOAD_TIMEOUT_SECONDS": "2", "TRANSLUCENT_ADMIN_TOKEN": ADMIN_TOKEN}
    with faulty(tmp_path, 60.0, **limits) as server:
        write_speaking_bundle(tmp_path / "hangs-en-de", name="hangs-en-de", target_language="de")
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
            load = "/v2/repository/models/{}/load"
            hanging = asyncio.create_task(client.post(load.format("hangs-en-de"), headers=ADMIN))
            answered = 0
            while not hanging.done():
                assert (await client.post("/translate", json=TEXT)).status_code == 200
                answered += 1
            write_speaking_bundle(tmp_path / "transformer-en-es", name="transformer-en-es", target_language="es")
            other = await client.post(load.format("transformer-en-es"), headers=ADMIN)
            refused = await hanging
        assert (refused.status_code, refused.json()["code"]) == (409, "engine_failure")
        assert "within 2 seconds" in refused.json()["error"]
        assert (other.status_code, other.json()["outcome"]) == (200, "added")
        assert answered > 5


async def test_an_engine_that_hangs_fails_readiness_and_then_ends_the_process(models: Path) -> None:
    limits = {"TRANSLUCENT_REQUEST_TIMEOUT_SECONDS": "3", "TRANSLUCENT_DRAIN_DELAY_SECONDS": "3"}
    with faulty(models, 4.0, **limits) as server:
        async with Load(server.url, callers=4) as load:
            await load.until(8)
            server.signal(signal.SIGRTMIN)
            begun = time.monotonic()
            await wait_until_async(lambda: status_of(server, "/health/ready") == 503)
            assert status_of(server, "/health/live") == 200
            assert await asyncio.to_thread(server.exit_code, 120) == 1
        assert time.monotonic() - begun < 120
        assert load.lost == []
        assert codes(load)[504] == {"deadline_exceeded"}
        assert set(load.statuses) <= {200, 503, 504}
        server.wait_for("a model hangs; not ready until it continues")


def test_a_server_that_was_paused_goes_on(models: Path) -> None:
    with faulty(models, 3.0) as server:
        server.signal(signal.SIGSTOP)
        time.sleep(5)  # longer than an engine may be silent here
        server.signal(signal.SIGCONT)
        time.sleep(0.5)
        assert status_of_translation(server) == 200
        assert status_of(server, "/health/ready") == 200
        assert server.process.poll() is None
