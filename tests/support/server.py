"""Starts a server as a process, reads its log, and stops it."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx

from tests.support.paths import ROOT


class ServerProcess:
    """A running server; `url` is where it listens and `lines` is its log so far."""

    def __init__(self, arguments: list[str], **environment: str) -> None:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("TRANSLUCENT_")}
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            # Most tests mean to give the engine work, also with the same sentence again: the cache would answer it.
            env={**variables, "TRANSLUCENT_PORT": "0", "TRANSLUCENT_CACHE_MB": "0", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[dict[str, Any]] = []
        self.raw: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.raw.append(line)
            with contextlib.suppress(ValueError):
                self.lines.append(json.loads(line))

    def wait_for(self, event: str, seconds: float = 180) -> dict[str, Any]:
        """Return the first log line of an event."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in list(self.lines):
                if line.get("event") == event:
                    return line
            if self.process.poll() is not None and not self._reader.is_alive():
                break
            time.sleep(0.02)
        raise AssertionError(f"no {event!r} in the log:\n{''.join(self.raw)}")

    @property
    def url(self) -> str:
        """The address where it listens."""
        return str(self.wait_for("listening")["url"])

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        url = httpx.URL(self.url)
        return url.host, url.port or 80

    @property
    def children(self) -> list[int]:
        """Return the processes that it has started."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")  # a child belongs to the thread that did it
        return sorted(int(child) for task in tasks for child in task.read_text("ascii").split())

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def exit_code(self, seconds: float = 30) -> int:
        """Wait for the end."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code


@contextlib.contextmanager
def running(*arguments: str, ready: bool | str = True, **environment: str) -> Iterator[ServerProcess]:
    """Yield a server, at once or when it is ready, and stop it at the end in any case.

    Flags may be strings for mypy: a dictionary of variables could hold them.
    """
    server = ServerProcess(list(arguments), **environment)
    try:
        if ready:
            server.wait_for("ready")
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.exit_code()
        assert server.process.stdout is not None
        server.process.stdout.close()


def running_dummy(
    seconds: float | str = 0.0, fault: str = "", *, ready: bool | str = True, **environment: str
) -> AbstractContextManager[ServerProcess]:
    """Return the real server with a fake engine."""
    return running("-m", "tests.support.serve_fake_engine", str(seconds), fault, ready=ready, **environment)


def metric(url: str, name: str, **labels: str) -> float:
    """Return the sum of a metric's samples that have the labels."""
    total = 0.0
    for line in httpx.get(f"{url}/metrics").text.splitlines():
        found = re.fullmatch(rf"translucent_{name}(?:{{(.*)}})? (\S+)", line)
        if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
            total += float(found[2])
    return total


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
