"""The real server over real connections: leaving clients, many clients, hostile clients, and its own end."""

import asyncio
import json
import random
import re
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.support.polling import wait_until_async
from tests.support.server import ServerProcess, metric, running_dummy

TEXT = {"q": "I lost my secret.", "source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_dummy() as server:
        server.wait_for("ready")
        yield server


@pytest.fixture(scope="module")
def slow_server() -> Iterator[ServerProcess]:
    with running_dummy(30) as server:
        server.wait_for("ready")
        yield server


async def test_a_hundred_requests_at_once_are_all_answered_correctly(server: ServerProcess) -> None:
    generator = random.Random(1)
    words = ["go", "été", "🎉", "I lost.", "line\nbreak", "  ", "漢字"]
    texts = [" ".join(generator.choices(words, k=generator.randint(1, 120))) for _ in range(99)] + ["word " * 4000]

    async def translate(client: httpx.AsyncClient, number: int, text: str) -> None:
        fields = {"q": [text] if number % 3 == 0 else text, "source": "en", "target": "fr"}
        if number % 3 == 2:
            answer = await client.post("/translate", data=fields)
        else:
            answer = await client.post("/translate", json=fields)
        assert answer.status_code == 200
        assert answer.json()["translatedText"] == ([text.upper()] if number % 3 == 0 else text.upper())

    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=20) as client:
        await asyncio.gather(*(translate(client, number, text) for number, text in enumerate(texts)))
    assert metric(server.url, "rows_in_use") == 0


async def test_a_client_that_disconnects_frees_its_rows(slow_server: ServerProcess) -> None:
    url = slow_server.url
    cancelled = metric(url, "sentences_cancelled_total", model="transformer-en-fr")
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        requests = [asyncio.create_task(client.post("/translate", json={**TEXT, "q": ["a", "b"]})) for _ in range(10)]
        await wait_until_async(lambda: metric(url, "rows_in_use", model="transformer-en-fr") == 80)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
    await wait_until_async(lambda: metric(url, "rows_in_use", model="transformer-en-fr") == 0)
    assert metric(url, "sentences_cancelled_total", model="transformer-en-fr") - cancelled == 20
    assert metric(url, "http_requests_in_flight") == 1  # the one that asks
    assert metric(url, "http_requests_total", route="/translate", status="499") >= 10


async def test_get_attention_frees_its_rows_too(slow_server: ServerProcess) -> None:
    url = slow_server.url
    async with httpx.AsyncClient(base_url=url, timeout=0.3) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.get("/attention", params={"text": "a", "source": "en", "target": "de"})
    await wait_until_async(lambda: metric(url, "sentences_cancelled_total", model="transformer-en-de") == 1)


def raw(server: ServerProcess, data: bytes, *, wait: bool = True, timeout: float = 20) -> bytes:
    """Send bytes as they are and read what comes until the server closes or pauses."""
    with socket.create_connection(server.address, timeout=timeout) as connection:
        connection.sendall(data)
        received = b""
        while wait:
            try:
                part = connection.recv(65536)
            except TimeoutError:
                break
            received += part
            head, _, body = received.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            if not part or (length and len(body) >= int(length[1])):
                break
        return received


HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nabcde",
        HEAD + b"Content-Length: 10\r\nContent-Length: 20\r\n\r\n" + b"a" * 20,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n0\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /%c3%28?\xff\xfe=\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /attention?text=\xff&source=en&target=fr HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_garbage_is_refused_and_the_next_request_works(server: ServerProcess, data: bytes) -> None:
    received = raw(server, data, timeout=2)
    assert received == b"" or received.startswith(b"HTTP/1.1 4"), received[:200]
    assert httpx.post(f"{server.url}/translate", json=TEXT).json() == {"translatedText": "I LOST MY SECRET."}


@pytest.mark.parametrize("chunked", [False, True])
async def test_twenty_megabytes_are_refused_in_a_way_the_client_sees(server: ServerProcess, chunked: bool) -> None:
    body = json.dumps({**TEXT, "q": "a" * 20_000_000}).encode()

    async def chunks() -> object:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]

    async with httpx.AsyncClient(base_url=server.url, timeout=20) as client:
        for _ in range(3):
            answer = await client.post(
                "/translate",
                content=chunks() if chunked else body,  # type: ignore[arg-type]
                headers={"content-type": "application/json"},
            )
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert (await client.post("/translate", json=TEXT)).status_code == 200


def test_a_client_that_expects_to_be_asked_is_refused_before_it_sends(server: ServerProcess) -> None:
    received = raw(server, HEAD + b"Content-Length: 20000000\r\nExpect: 100-continue\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 413")


def test_neither_a_slow_client_nor_a_hanging_engine_is_waited_for() -> None:
    limits = {"TRANSLUCENT_BODY_TIMEOUT_SECONDS": "0.3", "TRANSLUCENT_REQUEST_TIMEOUT_SECONDS": "0.2"}
    with running_dummy(30, **limits) as server:
        server.wait_for("ready")
        assert raw(server, HEAD + b"Content-Length: 100\r\n\r\n{").startswith(b"HTTP/1.1 408")
        answer = httpx.post(f"{server.url}/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")


def test_clients_that_leave_in_the_middle_of_sending_leave_nothing_behind(server: ServerProcess) -> None:
    for _ in range(50):
        raw(server, HEAD + b"Content-Length: 100\r\n\r\n{", wait=False)
    end = time.monotonic() + 5
    while metric(server.url, "http_requests_in_flight") > 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert httpx.post(f"{server.url}/translate", json=TEXT).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_last_line_of_a_start_says_which_address_to_open(host: str) -> None:
    with running_dummy(TRANSLUCENT_HOST=host) as server:
        line = server.wait_for("ready")
        assert server.lines[-1] == line
        assert line["open"] == f"http://localhost:{server.address[1]}/"
        answer = httpx.get(line["open"], timeout=10)
        assert (answer.status_code, "<h1" in answer.text) == (200, True)


def test_log_lines_are_json_without_the_texts_of_users(server: ServerProcess) -> None:
    httpx.post(f"{server.url}/translate", json=TEXT)
    httpx.get(f"{server.url}/attention", params={"text": "my secret", "source": "en", "target": "fr"})
    httpx.get(
        f"{server.url}/translate/secret?q=secret",
        headers={"X-Request-ID": "seen-in-the-log", "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"},
    )
    server.wait_for("request")
    time.sleep(0.2)
    assert all(line.startswith("{") for line in server.raw), server.raw
    assert "secret" not in "".join(server.raw)
    line = next(line for line in server.lines if line.get("request_id") == "seen-in-the-log")
    assert (line["route"], line["status"], line["level"]) == ("unmatched", 404, "info")
    assert line["trace_id"] == "ab" * 16
    assert {"timestamp", "seconds", "method"} <= set(line)


async def test_a_stop_under_load_loses_no_request() -> None:
    answers: list[int] = []
    lost: list[str] = []
    stopped = asyncio.Event()

    async def call(client: httpx.AsyncClient) -> None:
        while not stopped.is_set():
            try:
                answers.append((await client.post("/translate", json=TEXT)).status_code)
            except httpx.ConnectError:
                return  # not accepted: a load balancer would have gone elsewhere
            except httpx.HTTPError as error:
                lost.append(repr(error))

    with running_dummy(0.05, TRANSLUCENT_DRAIN_DELAY_SECONDS="4") as server:
        server.wait_for("ready")
        async with httpx.AsyncClient(base_url=server.url, timeout=20) as client:
            callers = [asyncio.create_task(call(client)) for _ in range(20)]
            await wait_until_async(lambda: len(answers) > 40, 20)
            server.signal()
            await wait_until_async(lambda: httpx.get(f"{server.url}/health/ready").status_code == 503)
            before = len(answers)
            assert (await client.get("/health/live")).status_code == 200
            assert (await client.get("/health/ready")).json()["code"] == "stopping"
            assert (await client.post("/translate", json=TEXT)).status_code == 200
            await asyncio.wait_for(asyncio.gather(*callers), 20)
        assert server.exit_code() == 0
        assert lost == []
        assert set(answers) == {200}
        assert len(answers) > before


async def test_what_runs_at_the_stop_is_finished() -> None:
    with running_dummy(1.5, TRANSLUCENT_DRAIN_DELAY_SECONDS="0") as server:
        server.wait_for("ready")
        async with httpx.AsyncClient(base_url=server.url, timeout=20) as client:
            request = asyncio.create_task(client.post("/translate", json=TEXT))
            await wait_until_async(lambda: metric(server.url, "rows_in_use") == 4)
            server.signal()
            assert (await request).status_code == 200
        assert server.exit_code() == 0


async def test_what_does_not_finish_in_time_is_told_so() -> None:
    with running_dummy(30, TRANSLUCENT_DRAIN_DELAY_SECONDS="0", TRANSLUCENT_DRAIN_TIMEOUT_SECONDS="1") as server:
        server.wait_for("ready")
        async with httpx.AsyncClient(base_url=server.url, timeout=20) as client:
            request = asyncio.create_task(client.post("/translate", json=TEXT))
            await wait_until_async(lambda: metric(server.url, "rows_in_use") == 4)
            server.signal()
            answer = await request
        assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
        assert server.exit_code() == 0


def test_a_setting_under_its_old_name_works_and_the_log_says_the_new_name_once() -> None:
    with running_dummy(TRANSLUCENT_DRAIN_SECONDS="2", TRANSLUCENT_DRAIN_DELAY_SECONDS="0") as server:
        server.wait_for("ready")
        [line] = [line for line in server.lines if "TRANSLUCENT_DRAIN_TIMEOUT_SECONDS" in str(line.get("event"))]
        assert (line["level"], line["event"].split(";")[0]) == (
            "warning",
            "TRANSLUCENT_DRAIN_SECONDS is now TRANSLUCENT_DRAIN_TIMEOUT_SECONDS",
        )


def test_an_idle_server_stops_at_once_and_a_second_ctrl_c_does_not_wait() -> None:
    with running_dummy(TRANSLUCENT_DRAIN_DELAY_SECONDS="60") as server:
        url = server.url
        assert httpx.get(f"{url}/health/live").status_code == 200  # alive before it is ready
        server.wait_for("ready")
        assert httpx.get(f"{url}/health/ready").status_code == 200
        server.signal(signal.SIGINT)
        time.sleep(0.3)
        server.signal(signal.SIGINT)
        assert server.exit_code(10) == 0


@pytest.mark.parametrize("fault", ["start", "die"])
def test_an_engine_that_is_dead_ends_the_process_with_exit_code_1(fault: str) -> None:
    with running_dummy(0, fault) as server:
        assert server.exit_code() == 1
        assert any(line["level"] == "critical" for line in server.lines)
        assert "secret" not in "".join(server.raw)


def test_a_port_that_is_taken_is_a_clear_failure(server: ServerProcess) -> None:
    with running_dummy(TRANSLUCENT_PORT=str(server.address[1])) as second:
        assert second.exit_code() == 1
        assert "address already in use" in "".join(second.raw)
