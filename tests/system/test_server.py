"""The real server over real connections: leaving clients, many clients, hostile clients, and its own end."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.paths import ROOT
from tests.support.polling import wait_until, wait_until_async
from tests.support.raw_http import JSON_HEAD, connect, read_answer
from tests.support.server import ServerProcess, metric, running, running_dummy
from tests.support.toy_onnx import write_speaking_bundle
from tests.system.load import Load, status_of, status_of_translation

TEXT = {"q": "I lost my secret.", "source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_dummy() as server:
        yield server


@pytest.fixture(scope="module")
def slow_server() -> Iterator[ServerProcess]:
    with running_dummy(30) as server:
        yield server


async def test_clients_that_disconnect_free_their_rows(slow_server: ServerProcess) -> None:
    url, names = slow_server.url, ("transformer-en-fr", "transformer-en-de")
    async with httpx.AsyncClient(base_url=url) as client:
        requests = [asyncio.create_task(client.post("/translate", json={**TEXT, "q": ["a", "b"]})) for _ in range(10)]
        shown = client.get("/attention", params={"text": "a", "source": "en", "target": "de"})
        requests.append(asyncio.create_task(shown))
        await wait_until_async(lambda: metric(url, "rows_in_use") == 81)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
    await wait_until_async(lambda: metric(url, "rows_in_use") == 0)
    assert [metric(url, "sentences_cancelled_total", model=name) for name in names] == [20, 1]
    assert metric(url, "http_requests_in_flight") == 1  # the one that asks
    assert metric(url, "http_requests_total", route="/translate", status="499") >= 10


def exchanged(server: ServerProcess, data: bytes, timeout: float = 20) -> bytes:
    """Return what the server answers to these bytes before it closes or is silent for a while."""
    with connect(server) as connection:
        connection.sendall(data)
        connection.settimeout(timeout)
        return read_answer(connection)


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nabcde",
        JSON_HEAD + b"Content-Length: 10\r\nContent-Length: 20\r\n\r\n" + b"a" * 20,
        JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n0\r\n\r\n",
        b"GET /%c3%28?\xff\xfe=\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /attention?text=\xff&source=en&target=fr HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_garbage_is_refused_and_the_next_request_works(server: ServerProcess, data: bytes) -> None:
    received = exchanged(server, data, timeout=2)
    assert received == b"" or received.startswith(b"HTTP/1.1 4"), received[:200]
    assert httpx.post(f"{server.url}/translate", json=TEXT).json() == {"translatedText": "I LOST MY SECRET."}


@pytest.mark.parametrize("chunked", [False, True])
async def test_twenty_megabytes_are_refused_in_a_way_the_client_sees(server: ServerProcess, chunked: bool) -> None:
    body = json.dumps({**TEXT, "q": "a" * 20_000_000}).encode()

    async def chunks() -> object:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]

    async with httpx.AsyncClient(base_url=server.url) as client:
        for _ in range(3):
            answer = await client.post(
                "/translate",
                content=chunks() if chunked else body,  # type: ignore[arg-type]
                headers={"content-type": "application/json"},
            )
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert (await client.post("/translate", json=TEXT)).status_code == 200


def test_a_client_that_expects_to_be_asked_is_refused_before_it_sends(server: ServerProcess) -> None:
    received = exchanged(server, JSON_HEAD + b"Content-Length: 20000000\r\nExpect: 100-continue\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 413")


def test_neither_a_slow_client_nor_a_hanging_engine_is_waited_for() -> None:
    limits = {"FAKE_LIMITS": '{"body_seconds": 0.3}', "TRANSLUCENT_REQUEST_TIMEOUT_SECONDS": "0.2"}
    limits["TRANSLUCENT_MAX_FILE_MB"] = "0"  # a large document would have more time
    with running_dummy(30, **limits) as server:
        assert exchanged(server, JSON_HEAD + b"Content-Length: 100\r\n\r\n{").startswith(b"HTTP/1.1 408")
        answer = httpx.post(f"{server.url}/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")


def test_clients_that_leave_in_the_middle_of_sending_leave_nothing_behind(server: ServerProcess) -> None:
    for _ in range(50):
        with connect(server) as connection:
            connection.sendall(JSON_HEAD + b"Content-Length: 100\r\n\r\n{")
    wait_until(lambda: metric(server.url, "http_requests_in_flight") == 1)  # the one that asks
    assert httpx.post(f"{server.url}/translate", json=TEXT).status_code == 200


def test_the_last_line_of_a_start_says_which_address_to_open() -> None:
    with running_dummy(TRANSLUCENT_HOST="0.0.0.0") as server:
        line = server.wait_for("ready")
        assert server.lines[-1] == line
        assert line["open"] == f"http://localhost:{server.address[1]}/"
        assert "<h1" in httpx.get(line["open"]).text


def test_log_lines_are_json_without_the_texts_of_users(server: ServerProcess) -> None:
    httpx.post(f"{server.url}/translate", json=TEXT)
    httpx.get(f"{server.url}/attention", params={"text": "my secret", "source": "en", "target": "fr"})
    httpx.get(
        f"{server.url}/translate/secret?q=secret",
        headers={"X-Request-ID": "seen-in-the-log", "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"},
    )
    wait_until(lambda: any(line.get("request_id") == "seen-in-the-log" for line in list(server.lines)))
    assert all(line.startswith("{") for line in server.raw), server.raw
    assert "secret" not in "".join(server.raw)
    line = next(line for line in server.lines if line.get("request_id") == "seen-in-the-log")
    assert (line["route"], line["status"], line["level"]) == ("unmatched", 404, "info")
    assert line["trace_id"] == "ab" * 16
    assert {"timestamp", "seconds", "method"} <= set(line)


@pytest.mark.parametrize(
    ("seconds", "drain", "status"), [(1.5, "30", 200), (30.0, "1", 503)], ids=["finished in time", "too slow"]
)
async def test_what_runs_at_the_stop_may_finish_for_as_long_as_the_setting_says(
    seconds: float, drain: str, status: int
) -> None:
    settings = {"TRANSLUCENT_DRAIN_DELAY_SECONDS": "0", "TRANSLUCENT_DRAIN_TIMEOUT_SECONDS": drain}
    with running_dummy(seconds, **settings) as server:
        async with httpx.AsyncClient(base_url=server.url) as client:
            request = asyncio.create_task(client.post("/translate", json=TEXT))
            await wait_until_async(lambda: metric(server.url, "rows_in_use") == 4)
            server.signal()
            answer = await request
        assert (answer.status_code, answer.json().get("code")) == (status, None if status == 200 else "stopping")
        assert server.exit_code() == 0


def probe(port: int) -> int:
    """Return the exit code of the container's own question whether its server is ready."""
    command = [sys.executable, "-m", "service.cli.probe"]
    return subprocess.run(command, cwd=ROOT, env={"TRANSLUCENT_PORT": str(port)}, timeout=120, check=False).returncode


def test_an_idle_server_stops_at_once_and_a_second_ctrl_c_does_not_wait() -> None:
    with running_dummy(ready=False, TRANSLUCENT_DRAIN_DELAY_SECONDS="600") as server:
        url, port = server.url, server.address[1]
        assert httpx.get(f"{url}/health/live").status_code == 200  # alive before it is ready
        server.wait_for("ready")
        assert (httpx.get(f"{url}/health/ready").status_code, probe(port)) == (200, 0)
        server.signal(signal.SIGINT)
        assert probe(port) == 1
        server.signal(signal.SIGINT)
        assert server.exit_code(120) == 0
    assert probe(port) == 1


def test_an_engine_that_cannot_start_ends_the_process_with_exit_code_1() -> None:
    with running_dummy(0, "start", ready=False) as server:
        assert server.exit_code() == 1
        assert any(line["level"] == "critical" for line in server.lines)
        assert "secret" not in "".join(server.raw)


async def test_a_stop_under_load_loses_nothing_of_any_kind(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    settings = {"TRANSLUCENT_MODELS_DIR": str(tmp_path), "TRANSLUCENT_DRAIN_DELAY_SECONDS": "4"}
    with running("-m", "service", "serve", "--device", "cpu", **settings) as server:
        async with Load(server.url, callers=12) as load:
            await load.until(16)
            server.signal()
            before = len(load.answers)
            await wait_until_async(lambda: status_of(server, "/health/ready") == 503)
            assert status_of(server, "/health/live") == 200
            assert await asyncio.to_thread(status_of_translation, server) == 200
            await load.over()  # they go on asking until the port is closed
        assert await asyncio.to_thread(server.exit_code, 120) == 0
    assert load.lost == []
    assert set(load.statuses) == {200}
    assert len(load.answers) > before
    assert all(json.loads(answer.content) for _, answer in load.answers)
