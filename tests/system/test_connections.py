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

from tests.support.server import ServerProcess, running, running_dummy

HEAD_SECONDS = 1.0
SEND_SECONDS = 2.0
SLACK = 10.0  # seconds that a busy machine may be late
TEXT = {"q": "I lost.", "source": "en", "target": "fr"}
LIMITS = json.dumps({"head_seconds": HEAD_SECONDS, "send_seconds": SEND_SECONDS})


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_dummy(FAKE_LIMITS=LIMITS) as server:
        server.wait_for("ready")
        settled = -1
        while settled != (settled := resident(server)):  # it still loads what guesses languages
            time.sleep(1)
        yield server


def connect(server: ServerProcess) -> socket.socket:
    """Return a new connection, whose operations take a few seconds at most."""
    return socket.create_connection(server.address, timeout=SLACK)


def read_all(connection: socket.socket) -> bytes:
    """Return the bytes that arrive until the server closes."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            received += part
    return received


def answer_of(connection: socket.socket, pause: float = 0.0, until: float = 0.0) -> bytes:
    """One whole answer, read as slowly as that until a time on time.monotonic."""
    received = b""
    while part := connection.recv(65536):
        received += part
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if length and len(body) >= int(length[1]):
            break
        if time.monotonic() < until:
            time.sleep(pause)
    return received


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


def tell(connection: socket.socket, pieces: Iterator[bytes]) -> int:
    """Send until the server does not want any more; returns how many bytes it took."""
    taken = 0
    with contextlib.suppress(OSError):
        for piece in pieces:
            connection.sendall(piece)
            taken += len(piece)
    return taken


def answer_in(received: bytes) -> tuple[int, str]:
    """Status and code of a refusal."""
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), str(json.loads(body)["code"])


START = b"GET /health HTTP/1.1\r\nHost: x\r\n"
MEGABYTE = 1_000_000
TOO_MUCH = {
    "tiny headers": (START, b"A: b\r\n" * (MEGABYTE // 6), 431, "headers_too_large"),
    "one header": (START + b"A: ", b"a" * MEGABYTE, 431, "headers_too_large"),
    "one name": (START, b"a" * MEGABYTE, 431, "headers_too_large"),
    "one URL": (b"GET /", b"a" * MEGABYTE, 414, "url_too_long"),
    "trailers": (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        b"A: b\r\n" * (MEGABYTE // 6),
        431,
        "headers_too_large",
    ),
    "a chunk's extension": (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;a=",
        b"a" * MEGABYTE,
        431,
        "headers_too_large",
    ),
}


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_64_megabytes_in_place_of_a_head_cost_next_to_nothing(server: ServerProcess, kind: str) -> None:
    start, megabyte, status, code = TOO_MUCH[kind]
    assert_serves(server)
    before, known = resident(server), cut_off(server, code)
    with connect(server) as connection:
        sending = threading.Thread(target=tell, args=(connection, iter([start, *[megabyte] * 64])))
        sending.start()
        received = read_all(connection)
        sending.join(SLACK)
    assert answer_in(received) == (status, code)
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
        assert answer_of(connection).startswith(b"HTTP/1.1 %d " % status)


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


def test_a_head_that_drips_is_not_waited_for(server: ServerProcess) -> None:
    """Also on a connection that has been answered on, and where nothing but line ends arrives."""
    for first, drop in ((b"", b"A: b\r\n"), (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n")):
        with connect(server) as connection:
            connection.sendall(first)
            if first:
                assert answer_of(connection).startswith(b"HTTP/1.1 200")
            else:
                connection.sendall(START)
            begun = time.monotonic()
            with contextlib.suppress(OSError):
                while not select.select([connection], [], [], 0.1)[0]:
                    connection.sendall(drop)
                    assert time.monotonic() - begun < HEAD_SECONDS + SLACK


def test_a_connection_between_two_requests_may_rest(server: ServerProcess) -> None:
    with connect(server) as connection:
        for _ in range(2):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer_of(connection).startswith(b"HTTP/1.1 200")
            time.sleep(HEAD_SECONDS * 1.5)


def test_a_body_may_take_longer_than_a_head(server: ServerProcess) -> None:
    body = json.dumps(TEXT).encode()
    with connect(server) as connection:
        head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % len(body))
        time.sleep(HEAD_SECONDS * 1.5)
        connection.sendall(body)
        assert answer_of(connection).startswith(b"HTTP/1.1 200")


LARGE = b"GET /web/vega.js HTTP/1.1\r\nHost: x\r\n\r\n"  # some hundred kilobytes that cost the server nothing


def small_window(server: ServerProcess) -> socket.socket:
    """Return a connection with a small receive buffer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(SLACK)
    connection.connect(server.address)
    return connection


def test_20_clients_that_do_not_read_are_cut_off_while_others_are_served(server: ServerProcess) -> None:
    known = cut_off(server, "unread")
    assert len(httpx.get(f"{server.url}/web/vega.js", timeout=60).content) > 500_000
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(small_window(server)) for _ in range(20)]
        for connection in connections:
            connection.sendall(LARGE * 16)
        end = time.monotonic() + SEND_SECONDS + 3 * SLACK
        while cut_off(server, "unread") < known + 20:
            assert_serves(server)
            assert time.monotonic() < end, f"only {cut_off(server, 'unread') - known:g} are cut off"
            time.sleep(0.2)


def test_a_client_that_reads_slowly_gets_everything(server: ServerProcess) -> None:
    whole = httpx.get(f"{server.url}/web/vega.js", headers={"Accept-Encoding": "identity"}, timeout=60).content
    with small_window(server) as connection:
        connection.sendall(LARGE)
        begun = time.monotonic()
        received = answer_of(connection, pause=0.01, until=begun + 2 * SEND_SECONDS)
    assert received.partition(b"\r\n\r\n")[2] == whole


def test_requests_may_be_sent_before_their_turn_but_not_by_the_thousand(server: ServerProcess) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(one * 20)
        received = b""
        while received.count(b"HTTP/1.1 200") < 20:
            part = connection.recv(65536)
            assert part
            received += part
    with connect(server) as connection:
        connection.sendall(one * 5000)
        assert read_all(connection).count(b"HTTP/1.1 200") < 100
    assert_serves(server)


def test_an_upgrade_is_answered_as_if_it_had_not_been_asked_for_and_not_logged(server: ServerProcess) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: %s\r\n"
    with connect(server) as connection:
        for protocol in (b"websocket", b"h2c"):
            connection.sendall(START + upgrade % protocol + b"\r\n")
            assert answer_of(connection).startswith(b"HTTP/1.1 200")
        body = json.dumps(TEXT).encode()
        head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
        connection.sendall(head % len(body) + upgrade % b"h2c" + b"\r\n" + body)
        assert answer_of(connection).endswith(b'{"translatedText":"I LOST."}')
    assert "WebSocket" not in "".join(server.raw)
    assert "pgrade" not in "".join(server.raw)


def test_addresses_have_a_share_of_the_connections() -> None:
    with running_dummy(FAKE_LIMITS='{"address_limit": 3}') as server, contextlib.ExitStack() as stack:
        server.wait_for("ready")
        for _ in range(3):
            stack.enter_context(connect(server))
        with connect(server) as one_more:
            assert answer_in(read_all(one_more)) == (429, "too_many_from_address")


def test_a_full_server_takes_the_place_of_whoever_has_been_idle_for_longest() -> None:
    with running_dummy(TRANSLUCENT_CONNECTION_LIMIT="8") as server, contextlib.ExitStack() as stack:
        server.wait_for("ready")
        idle = [stack.enter_context(connect(server)) for _ in range(8)]
        assert_serves(server)
        assert set(closed_after(idle, 2)) == {0}


def test_with_few_open_files_new_connections_take_the_places_of_idle_ones() -> None:
    few = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); sys.argv = ['', '0']; "
    serve = "runpy.run_module('tests.support.serve_fake_engine', run_name='__main__')"
    with running("-c", few + serve) as server, contextlib.ExitStack() as stack:
        server.wait_for("ready")
        assert any("64 open files, so it holds" in line["event"] for line in server.lines)
        for _ in range(100):
            stack.enter_context(connect(server))
            time.sleep(0.01)  # a burst of more than the system holds is cut off by the system
        for _ in range(3):
            assert_serves(server)
