"""What is full outside of the server, a disk or the pipe of its log, costs no request."""

import http.client
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from tests.support.paths import ROOT
from tests.support.polling import PATIENCE, wait_until
from tests.support.server import metric, running

SERVE = "sys.argv = ['', '0']; runpy.run_module('tests.support.serve_fake_engine', run_name='__main__')"
PIPE_HOLDS = 300  # lines of requests, at the most
FIELDS = {"q": "I have lost the keys of my house.", "source": "en", "target": "fr"}


def test_without_room_in_the_temporary_folder_languages_are_still_detected() -> None:
    full = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    with running("-c", full + SERVE) as server:
        answer = httpx.post(f"{server.url}/translate", json={**FIELDS, "q": "Ich habe meine Schlüssel verloren."})
        assert (answer.status_code, answer.json()["warnings"][0]["language"]) == (200, "de")
        assert httpx.post(f"{server.url}/detect", json={"q": FIELDS["q"]}).json()[0]["language"] == "en"
        assert httpx.post(f"{server.url}/translate", json={**FIELDS, "source": "auto"}).status_code == 200


class Unread:
    """A server whose log is read only on request."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[dict[str, object]] = []
        self._rest = b""
        self.url = ""

    def read(self, seconds: float) -> None:
        """Read lines until no more of them come."""
        assert self.process.stdout is not None
        while select.select([self.process.stdout], [], [], seconds)[0]:
            data = os.read(self.process.stdout.fileno(), 65_536)
            if not data:
                return
            *whole, self._rest = (self._rest + data).split(b"\n")
            self.lines += map(json.loads, whole)

    def events(self, event: str) -> list[dict[str, object]]:
        """Return the lines of one event."""
        return [line for line in self.lines if line["event"] == event]


@contextmanager
def unread() -> Iterator[Unread]:
    """Yield a server that is ready."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TRANSLUCENT_")}
    command = [sys.executable, "-m", "tests.support.serve_fake_engine", "0"]
    environment = {**variables, "TRANSLUCENT_PORT": "0"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=environment
    ) as process:
        server = Unread(process)
        try:
            wait_for(server, lambda: bool(server.events("ready")))
            server.url = str(server.events("listening")[0]["url"])
            yield server
        finally:
            process.kill()


def wait_for(server: Unread, holds: Callable[[], bool]) -> None:
    """Read lines until a condition holds."""

    def holds_then() -> bool:
        server.read(0.05)
        return holds()

    wait_until(holds_then)


def asks(server: Unread, requests: int) -> None:
    """Send requests one after the other; each is answered."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE)
    for _ in range(requests):
        connection.request("GET", "/languages")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def test_a_log_that_nobody_reads_delays_nothing_and_its_lost_lines_are_counted() -> None:
    requests = 6000  # more than the pipe and the queue hold
    with unread() as server:
        asks(server, requests)
        dropped = metric(server.url, "log_lines_dropped_total")
        assert dropped > 0
        wait_for(server, lambda: len(server.events("request")) + dropped == requests)
        lost = "log lines were dropped, because they were not read in time"
        wait_for(server, lambda: [line["lines"] for line in server.events(lost)] == [dropped])
        asks(server, 1)
        wait_for(server, lambda: len(server.events("request")) + dropped == requests + 1)


def test_a_server_whose_log_is_not_read_stops_in_time() -> None:
    with unread() as server:
        asks(server, 2 * PIPE_HOLDS)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0


def test_the_last_lines_are_written_before_the_end() -> None:
    with unread() as server:
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
        wait_for(server, lambda: [line["exit_code"] for line in server.events("stopped")] == [0])
