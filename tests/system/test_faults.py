"""The engine is harmed in a real server: everybody gets one clear answer, and it recovers or the process ends."""

import asyncio
import signal
import time
from contextlib import AbstractContextManager
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
    return write_speaking_bundle(tmp_path_factory.mktemp("models") / "transformer-en-fr").parent


def faulty(models: Path, stalled_seconds: float = 60.0, **settings: str) -> AbstractContextManager[ServerProcess]:
    common = {"TRANSLUCENT_MODELS_DIR": str(models), "TRANSLUCENT_DEVICE": "cpu"}
    return running("-m", "tests.system.serve_faulty", str(stalled_seconds), **common, **settings)


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


NO_REQUEST_WAITS = {"TRANSLUCENT_REQUEST_TIMEOUT_SECONDS": "3"}


@pytest.mark.parametrize(
    ("fault", "stalled_seconds", "limits", "error"),
    [
        (signal.SIGUSR2, 60.0, {}, (500, "engine_failure")),
        (signal.SIGRTMIN, 4.0, NO_REQUEST_WAITS, (504, "deadline_exceeded")),
    ],
    ids=["thread killed", "hangs"],
)
async def test_an_engine_that_dies_or_hangs_answers_everybody_fails_readiness_and_ends_the_process(
    models: Path, fault: int, stalled_seconds: float, limits: dict[str, str], error: tuple[int, str]
) -> None:
    with faulty(models, stalled_seconds, TRANSLUCENT_DRAIN_DELAY_SECONDS="3", **limits) as server:
        async with Load(server.url) as load:
            await load.until(24)
            assert status_of(server, "/health/ready") == 200
            server.signal(fault)
            await wait_until_async(lambda: status_of(server, "/health/ready") == 503)
            assert status_of(server, "/health/live") == 200
            assert await asyncio.to_thread(server.exit_code, 120) != 0  # so that it is started again
        assert load.lost == []
        assert set(load.statuses) <= {200, 503, error[0]}
        assert codes(load)[error[0]] == {error[1]}
        assert codes(load).get(503, set()) <= {"not_ready", "stopping", *(["overloaded"] if limits else [])}
        assert any(line["level"] == "critical" for line in server.lines)


async def test_a_model_that_fails_leaves_the_others_serving_until_it_is_loaded_again(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    write_speaking_bundle(tmp_path / "transformer-en-de", name="transformer-en-de", target_language="de")
    with faulty(tmp_path, TRANSLUCENT_ADMIN_TOKEN=ADMIN_TOKEN) as server:
        german = {**TEXT, "target": "de"}
        async with httpx.AsyncClient(base_url=server.url) as client:
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


def test_a_server_that_was_paused_goes_on(models: Path) -> None:
    with faulty(models, 3.0) as server:
        server.signal(signal.SIGSTOP)
        time.sleep(5)  # longer than an engine may be silent here
        server.signal(signal.SIGCONT)
        time.sleep(0.5)
        assert status_of_translation(server) == 200
        assert status_of(server, "/health/ready") == 200
        assert server.process.poll() is None
