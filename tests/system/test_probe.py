"""The container's own question whether its server is ready."""

import socket
import subprocess
import sys

from tests.support.server import ROOT, running_dummy


def ask(port: int) -> int:
    """Return the probe's exit code."""
    command = [sys.executable, "-m", "service.cli.probe"]
    return subprocess.run(command, cwd=ROOT, env={"TRANSLUCENT_PORT": str(port)}, timeout=10, check=False).returncode


def test_the_probe_follows_readiness() -> None:
    with running_dummy(TRANSLUCENT_DRAIN_DELAY_SECONDS="60") as server:
        server.wait_for("ready")
        port = server.address[1]
        assert ask(port) == 0
        server.signal()
        assert ask(port) == 1


def test_the_probe_fails_quietly_where_nothing_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert ask(taken.getsockname()[1]) == 1
