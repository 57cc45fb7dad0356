"""Hostile and careless connections to the real server: too much, too slow, too many; other clients are not affected."""

import contextlib
import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.polling import wait_until
from tests.support.raw_http import HEALTH, JSON_HEAD, SLACK, START, connect, read_all, read_answer
from tests.support.server import ServerProcess, running, running_dummy

HEAD_SECONDS = 1.0
SEND_SECONDS = 2.0
TEXT = {"q": "I lost.", "source": "en", "target": "fr"}
BODY = json.dumps(TEXT).encode()
POST = JSON_HEAD + b"Content-Length: %d\r\n" % len(BODY)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    limits = json.dumps({"head_seconds": HEAD_SECONDS, "send_seconds": SEND_SECONDS})
    with running_dummy(FAKE_LIMITS=limits) as server:
        httpx.post(f"{server.url}/detect", json={"q": "I lost."}, timeout=180)  # loads what guesses languages
        yield server


def resident(server: ServerProcess) -> int:
    """Bytes of memory that the server's process holds now."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


def cut_off(server: ServerProcess, reason: str) -> float:
    """Return the number of connections that were refused or cut off for a reason."""
    text = httpx.get(f"{server.url}/metrics").text
    return float(re.findall(rf'connections_cut_off_total{{reason="{reason}"}} (\S+)', text)[0])


def assert_serves(server: ServerProcess) -> None:
    """Check that a well-behaved client gets its translation."""
    answer = httpx.post(f"{server.url}/translate", json=TEXT, timeout=SLACK)
    assert answer.json() == {"translatedText": "I LOST."}


def send(connection: socket.socket, pieces: list[bytes]) -> None:
    """Send until the server does not want any more."""
    with contextlib.suppress(OSError):
        for piece in pieces:
            connection.sendall(piece)


def refusal_in(received: bytes) -> tuple[int, str]:
    """Return status and code of a refusal."""
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), str(json.loads(body)["code"])


MEGABYTE = 1_000_000
CHUNKED = b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
HEADERS, LETTERS = b"A: b\r\n" * (MEGABYTE // 6), b"a" * MEGABYTE
TOO_MUCH = {
    "tiny headers": (START, HEADERS, 431, "headers_too_large"),
    "one header": (START + b"A: ", LETTERS, 431, "headers_too_large"),
    "one name": (START, LETTERS, 431, "headers_too_large"),
    "one URL": (b"GET /", LETTERS, 414, "url_too_long"),
    "trailers": (CHUNKED + b"0\r\n", HEADERS, 431, "headers_too_large"),
    "a chunk's extension": (CHUNKED + b"1;a=", LETTERS, 431, "headers_too_large"),
}


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_32_megabytes_in_place_of_a_head_cost_next_to_nothing(server: ServerProcess, kind: str) -> None:
    start, megabyte, status, code = TOO_MUCH[kind]
    assert_serves(server)
    before, known = resident(server), cut_off(server, code)
    with connect(server) as connection:
        sending = threading.Thread(target=send, args=(connection, [start, *[megabyte] * 32]))
        sending.start()
        received = read_all(connection)
        sending.join(SLACK)
    assert refusal_in(received) == (status, code)
    assert b"\r\nx-request-id: " in received
    assert resident(server) - before < 10 * MEGABYTE
    assert cut_off(server, code) == known + 1
    assert_serves(server)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /health?" + b"a" * 32_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 200),
        (b"GET /health?" + b"a" * 33_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (START + b"".join(b"X-%d: b\r\n" % number for number in range(120)) + b"\r\n", 200),
        (START + b"".join(b"X-%d: b\r\n" % number for number in range(130)) + b"\r\n", 431),
        (START + b"X: " + b"a" * 65_000 + b"\r\n\r\n", 200),
        (START + b"X: " + b"a" * 66_000 + b"\r\n\r\n", 431),
    ],
)
def test_heads_may_be_as_large_as_the_limits(server: ServerProcess, request_: bytes, status: int) -> None:
    with connect(server) as connection:
        connection.sendall(request_)
        assert read_answer(connection).startswith(b"HTTP/1.1 %d " % status)


def closed_after(connections: list[socket.socket], seconds: float) -> dict[int, bytes]:
    """Return the last answer on each connection that the server closed in time, by its index in the list."""
    told: dict[int, bytes] = {}
    end = time.monotonic() + seconds
    while len(told) < len(connections) and time.monotonic() < end:
        waiting = [one for number, one in enumerate(connections) if number not in told]
        for ready in select.select(waiting, [], [], 0.2)[0]:
            told[connections.index(ready)] = read_all(ready)
    return told


def test_200_silent_connections_are_closed_while_others_are_served(server: ServerProcess) -> None:
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(server)) for _ in range(200)]
        for number, connection in enumerate(silent):
            connection.sendall([b"", b"GET /hea", START, b"\r\n\r\n"][number % 4])
        assert_serves(server)
        told = closed_after(silent, HEAD_SECONDS + SLACK)
        assert len(told) == 200
        assert {told[number][:13] for number in range(0, 200, 4)} == {b""}
        assert {told[number][:12] for number in range(1, 200, 4)} == {b"HTTP/1.1 408"}
        assert_serves(server)


@pytest.mark.parametrize(("first", "drop"), [(START, b"A: b\r\n"), (HEALTH, b"\r\n")])
def test_a_head_that_drips_is_not_waited_for(server: ServerProcess, first: bytes, drop: bytes) -> None:
    """Also on a connection that has been answered on, and where nothing but line ends arrives."""
    with connect(server) as connection:
        connection.sendall(first)
        if first == HEALTH:
            assert read_answer(connection).startswith(b"HTTP/1.1 200")
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            while not select.select([connection], [], [], 0.1)[0]:
                connection.sendall(drop)
                assert time.monotonic() - begun < HEAD_SECONDS + SLACK


def test_a_connection_may_rest_between_requests_and_a_body_take_longer_than_a_head(server: ServerProcess) -> None:
    with connect(server) as connection:
        connection.sendall(HEALTH)
        assert read_answer(connection).startswith(b"HTTP/1.1 200")
        for part in (POST + b"\r\n", BODY):
            time.sleep(HEAD_SECONDS * 1.5)
            connection.sendall(part)
        assert read_answer(connection).startswith(b"HTTP/1.1 200")


LARGE = b"GET /web/vega.js HTTP/1.1\r\nHost: x\r\n\r\n"  # some hundred kilobytes that cost the server nothing


@pytest.fixture(scope="module")
def whole(server: ServerProcess) -> bytes:
    """Return what the large request is answered with."""
    content = httpx.get(f"{server.url}/web/vega.js", headers={"Accept-Encoding": "identity"}).content
    assert len(content) > 500_000
    return content


def small_window(server: ServerProcess) -> socket.socket:
    """Return a connection with a small receive buffer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(SLACK)
    connection.connect(server.address)
    return connection


def test_20_clients_that_do_not_read_are_cut_off_while_others_are_served(server: ServerProcess, whole: bytes) -> None:
    known = cut_off(server, "unread")

    def all_are_cut_off() -> bool:
        assert_serves(server)
        return cut_off(server, "unread") >= known + 20

    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(small_window(server)).sendall(LARGE * 16)
        wait_until(all_are_cut_off, SEND_SECONDS + 3 * SLACK, pause=0.2)


def test_a_client_that_reads_slowly_gets_everything(server: ServerProcess, whole: bytes) -> None:
    with small_window(server) as connection:
        connection.sendall(LARGE)
        received = read_answer(connection, pause=0.01, until=time.monotonic() + 2 * SEND_SECONDS)
    assert received.partition(b"\r\n\r\n")[2] == whole


@pytest.mark.parametrize("number", [20, 33, 600, 20_000])
def test_requests_that_are_sent_before_their_turn_are_all_answered(server: ServerProcess, number: int) -> None:
    before = resident(server)
    with connect(server) as connection:
        sending = threading.Thread(target=send, args=(connection, [HEALTH * number + POST + b"\r\n" + BODY]))
        sending.start()
        received = b""
        while received.count(b"HTTP/1.1 200") < number + 1:
            part = connection.recv(65536)
            assert part, received.count(b"HTTP/1.1 200")
            received += part
        sending.join()
    assert received.endswith(b'{"translatedText":"I LOST."}')
    assert resident(server) < before + 8 * MEGABYTE
    assert_serves(server)


def test_requests_that_wait_for_a_slow_one_are_not_read() -> None:
    with running_dummy(2.0) as server, connect(server) as connection:
        connection.sendall(POST + b"\r\n" + BODY)
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.sendall(HEALTH * 1_000_000)  # 33 MB
        assert resident(server) < 300 * MEGABYTE


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /health HTTP/1.1\r\n", 400),
        (b"GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\n", 400),
        (b"GET /health HTTP/1.1\r\nHost: a/b\r\n", 400),
        (b'GET /health HTTP/1.1\r\nHost: "><script>\r\n', 400),
        (b"GET /health HTTP/1.0\r\nHost: a\r\nHost: b\r\n", 400),
        (b"GET /health\r\n", 400),
        (b"GET /health HTTP/0.9\r\nHost: a\r\n", 400),
        (b"GET /health HTTP/2.0\r\nHost: a\r\n", 400),
        (b"GET /health HTTP/1.0\r\n", 200),
        (b"GET /health HTTP/1.0\r\nHost: a\r\n", 200),
        (b"GET /health HTTP/1.1\r\nHost:\r\n", 200),
        (b"GET /health HTTP/1.1\r\nhOST: xn--bcher-kva.example:8000\r\n", 200),
        (b"GET /health HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n", 200),
    ],
)
def test_a_request_names_one_host(server: ServerProcess, head: bytes, status: int) -> None:
    with connect(server) as connection:
        connection.sendall(head + b"\r\n")
        received = read_answer(connection)
    assert received.startswith(b"HTTP/1.1 %d " % status), received[:200]
    if status == 400:
        assert refusal_in(received) == (400, "invalid_http")


def test_an_upgrade_is_answered_as_if_it_had_not_been_asked_for_and_not_logged(server: ServerProcess) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: %s\r\n\r\n"
    with connect(server) as connection:
        for request, answer in (
            (START + upgrade % b"websocket", b"}"),
            (START + upgrade % b"h2c", b"}"),
            (POST + upgrade % b"h2c" + BODY, b'{"translatedText":"I LOST."}'),
        ):
            connection.sendall(request)
            received = read_answer(connection)
            assert (received[:12], received[-len(answer) :]) == (b"HTTP/1.1 200", answer)
    assert not re.search("WebSocket|pgrade", "".join(server.raw))


def test_addresses_have_a_share_and_a_full_server_closes_what_has_been_idle_for_longest() -> None:
    limits = {"FAKE_LIMITS": '{"address_limit": 3, "connections": 8}'}
    with running_dummy(**limits) as server, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(server, "127.0.0.2")) for _ in range(3)]
        with connect(server, "127.0.0.2") as one_more:
            assert refusal_in(read_all(one_more)) == (429, "too_many_from_address")
        idle += [stack.enter_context(connect(server, f"127.0.0.{3 + number // 3}")) for number in range(5)]
        assert_serves(server)
        read_all(idle[0])  # until it is closed
        assert closed_after(idle[1:], 1) == {}


def test_with_few_open_files_new_connections_take_the_places_of_idle_ones() -> None:
    few = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); sys.argv = ['', '0']; "
    serve = "runpy.run_module('tests.support.serve_fake_engine', run_name='__main__')"
    with running("-c", few + serve) as server, contextlib.ExitStack() as stack:
        assert any("64 open files, so it holds" in line["event"] for line in server.lines)
        for _ in range(100):
            stack.enter_context(connect(server))
            time.sleep(0.01)  # a burst of more than the system holds is cut off by the system
        for _ in range(3):
            assert_serves(server)
