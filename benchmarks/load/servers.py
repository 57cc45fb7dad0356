"""Processes of the two services, with their start-up time and memory."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpora import ROOT

MANY_CONNECTIONS = """
from service.cli.main import main
from service.server import exposure

exposure.MOST_CONNECTIONS = 60_000
main()
"""


class RunningServer(NamedTuple):
    """A running service."""

    name: str
    port: int
    pid: int
    seconds_to_ready: float

    def megabytes(self) -> float:
        """Return the memory of its processes; shared memory counts once."""
        return sum(map(_proportional_kilobytes, process_tree(self.pid))) / 2**10


@contextlib.contextmanager
def serving(name: str, bundles: list[Path], device: str = "cpu", **settings: str) -> Iterator[RunningServer]:
    """Start `translucent` with these bundles, or `ctranslate2` with the first.

    `translucent x2` has two engine processes, `ctranslate2 x2` two workers, and `translucent cached` the default cache.
    """
    port = _free_port()
    ours = ("TRANSLUCENT_", "OMP_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    with tempfile.TemporaryDirectory() as folder:
        for bundle in bundles:
            (Path(folder) / bundle.name).symlink_to(bundle.resolve())
        kind, _, variant = name.partition(" ")
        if kind == "translucent":
            environment |= {"TRANSLUCENT_MODELS_DIR": folder, "TRANSLUCENT_LOG_LEVEL": "warning"}
            # All of the load comes from one address.
            environment |= {"TRANSLUCENT_TRUSTED_PROXIES": "127.0.0.1"}
            if variant != "cached":  # the sentences of a measurement come again and again
                environment |= {"TRANSLUCENT_CACHE_MB": "0"}
            if variant.startswith("x"):
                environment |= {"TRANSLUCENT_ENGINE_PROCESSES": variant[1:]}
            environment |= {"TRANSLUCENT_DEVICE": device} | settings
            command = [sys.executable, "-c", MANY_CONNECTIONS, "serve", "--port", str(port)]
        else:
            workers = variant.removeprefix("x") or "0"
            command = [sys.executable, "-m", "benchmarks.load.ctranslate2_server", str(bundles[0])]
            command += [str(port), workers, device]
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment)
        try:
            _wait(process, port)
            yield RunningServer(name, port, process.pid, time.perf_counter() - begun)
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (OSError, urllib.error.URLError):
            time.sleep(0.02)
    raise RuntimeError(f"the server on port {port} did not get ready")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread has ended since it was listed
            for child in (task / "children").read_text(encoding="ascii").split():
                found += process_tree(int(child))
    return found


def _proportional_kilobytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
