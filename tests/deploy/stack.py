"""Runs the real compose.yaml with podman-compose, with a separate name and separate ports, and queries it."""

import contextlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from deploy.sources import LABEL, ROOT, digest
from tests.support.polling import wait_until
from tests.support.server import free_port

IMAGE = "localhost/translucent"
PROMETHEUS_IMAGE = "docker.io/prom/prometheus:v2"
METRICS_TOKEN = "a-token-of-the-tests"
EXAMPLE = {"q": "I lost.", "source": "en", "target": "fr"}


def podman(*arguments: str, seconds: float = 180) -> str:
    command = ["podman", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True).stdout.strip()


def missing(*images: str, programs: Sequence[str] = ("podman",)) -> str:
    """Return why containers cannot be tested here; empty if they can."""
    for program in programs:
        if shutil.which(program) is None:
            return f"there is no {program}"
    for image in images:
        if subprocess.run(["podman", "image", "exists", image], check=False).returncode:
            return f"podman has no image {image}: see `make containers`"
    if not list(ROOT.glob("models/*/manifest.json")):
        return "there are no models"
    label = f'{{{{index .Labels "{LABEL}"}}}}'
    if IMAGE in images and podman("image", "inspect", IMAGE, "--format", label) != digest():
        return f"{IMAGE} was built from other sources than these: see `make containers`"
    return ""


@dataclass(frozen=True, slots=True)
class Stack:
    """The containers of one `podman-compose up`."""

    project: str
    port: int
    prometheus_port: int

    @property
    def service(self) -> str:
        return f"{self.project}_translucent_1"

    @property
    def prometheus(self) -> str:
        return f"{self.project}_prometheus_1"

    def healthy(self) -> bool:
        """Return whether the image's own health check, run now, finds the service ready."""
        command = ["podman", "healthcheck", "run", self.service]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def wait_until_healthy(self, seconds: float = 120) -> float:
        return wait_until(self.healthy, seconds, lambda: podman("logs", self.service), pause=1)

    def state(self, field: str) -> str:
        """Return a field of podman's description of the service's container, such as `.State.Pid`."""
        return podman("inspect", self.service, "--format", "{{" + field + "}}")

    def inside(self, *command: str) -> str:
        return podman("exec", self.service, *command)

    def translate(self) -> str:
        answer = httpx.post(f"http://127.0.0.1:{self.port}/translate", json=EXAMPLE)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["translatedText"])

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the result of a query to Prometheus: label sets, each with its value."""
        return list(self.ask("query", query=expression)["result"])

    def value(self, expression: str) -> float:
        """Return the one value of an expression; -1 if there is none yet."""
        found = self.query(expression)
        return float(found[0]["value"][1]) if found else -1.0

    def ask(self, path: str, **parameters: str) -> dict[str, Any]:
        """Return an answer of Prometheus' API; an empty result while it does not answer."""
        url = f"http://127.0.0.1:{self.prometheus_port}/api/v1/{path}"
        try:
            answer = httpx.get(url, params=parameters)
        except httpx.TransportError:
            return {"result": [], "groups": []}
        return dict(answer.json()["data"]) if answer.status_code == 200 else {"result": [], "groups": []}


@contextlib.contextmanager
def up(*services: str, override: Path | None = None) -> Iterator[Stack]:
    """Bring services of compose.yaml up, with an override file if there is one; all is removed afterwards."""
    stack = Stack(f"translucent-test-{uuid.uuid4().hex[:8]}", free_port(), free_port())
    files = [ROOT / "compose.yaml", *([override] if override else [])]
    command = ["podman-compose", "-p", stack.project]
    for file in files:
        command += ["-f", str(file)]
    environment = {
        **os.environ,
        "TRANSLUCENT_IMAGE": IMAGE,
        "PROMETHEUS_IMAGE": PROMETHEUS_IMAGE,
        "PORT": str(stack.port),
        "PROMETHEUS_PORT": str(stack.prometheus_port),
        "GRAFANA_PASSWORD": "of-the-tests",
        "METRICS_TOKEN": METRICS_TOKEN,
    }

    def compose(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=180, check=False
        )

    try:
        started = compose("up", "-d", *services)
        assert started.returncode == 0, started.stdout + started.stderr
        yield stack
    finally:
        compose("down", "-v")
        networks = [f"{stack.project}_{name}" for name in ("default", "scraping", "dashboards")]
        subprocess.run(["podman", "network", "rm", *networks], capture_output=True, check=False)
