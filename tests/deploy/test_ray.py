"""Ray on a local cluster: replicas behind one address, one of them killed under load, and a bulk job.

Ray lives in an environment of its own (docs/deploy.md), whose Python RAY_PYTHON names; models are needed, too.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.paths import ROOT
from tests.support.polling import wait_until, wait_until_async
from tests.support.server import free_port, processor_seconds

PYTHON = os.environ.get("RAY_PYTHON", "")
MODELS = Path(os.environ.get("RAY_TEST_MODELS", ROOT / "models"))
RAY_ENVIRONMENT = {
    **os.environ,
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "300",
    "OMP_NUM_THREADS": "1",
}
BUNDLES = sorted(path.parent for path in MODELS.glob("*-en-fr/manifest.json"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON or not BUNDLES, reason="RAY_PYTHON does not name a Python with Ray, or no models"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    given = os.environ.get("RAY_ADDRESS_UNDER_TEST")  # a cluster that runs already
    if given:
        yield given
        return
    path = f"{Path(PYTHON).parent}:{os.environ['PATH']}"  # Ray's own programs first
    settings = {"RAY_REPLICAS": "2", "RAY_CPUS_PER_REPLICA": "0.5"}
    environment = {**RAY_ENVIRONMENT, **settings, "PATH": path, "TRANSLUCENT_MODELS_DIR": str(MODELS)}
    port = free_port()
    command = [PYTHON, "-m", "deploy.ray.serving", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: is_ready(url), 300, lambda: "Ray Serve did not get ready", pause=1)
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(90)


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def replicas() -> list[int]:
    """Return the processes of the replicas on this machine."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "ray::ServeReplica:default:translucent" in line]


def by_the_command_line(lines: list[str], folder: Path) -> bytes:
    """Write the lines to a file of the folder, and return their translations by one process."""
    (folder / "lines").write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
    command = [sys.executable, "-m", "service", "translate", "--model", str(BUNDLES[0])]
    files = ["--input", str(folder / "lines"), "--output", str(folder / "expected")]
    subprocess.run([*command, *files], cwd=ROOT, check=True)
    return (folder / "expected").read_bytes()


TEXTS = [f"I lost {number} keys{'.' if number % 2 else ' and you found them!'}" for number in range(40)]


async def test_replicas_answer_as_one_process_does_and_one_may_be_killed(address: str, tmp_path: Path) -> None:
    expected = dict(zip(TEXTS, by_the_command_line(TEXTS, tmp_path).decode().splitlines(), strict=True))
    wait_until(lambda: len(replicas()) == 2, 120, lambda: f"replicas: {replicas()}")
    before = replicas()
    retried = 0

    async def translate(client: httpx.AsyncClient, text: str) -> None:
        nonlocal retried
        fields = {"q": text, "source": "en", "target": "fr", "model": BUNDLES[0].name}
        for _ in range(20):
            try:
                answer = await client.post("/translate", json=fields)
            except httpx.HTTPError:
                answer = None
            if answer is not None and answer.status_code == 200:
                assert answer.json()["translatedText"] == expected[text]
                return
            retried += 1
            await asyncio.sleep(0.5)
        raise AssertionError(f"no answer to {text!r}")

    async with httpx.AsyncClient(base_url=address) as client:
        idle = [processor_seconds(replica) for replica in before]
        end = time.monotonic() + 60
        while not all(processor_seconds(one) > was + 0.1 for one, was in zip(before, idle, strict=True)):
            assert time.monotonic() < end, "one of the replicas had nothing to do"
            await asyncio.gather(*(translate(client, text) for text in TEXTS))
        assert retried == 0
        running = [asyncio.create_task(translate(client, TEXTS[number % len(TEXTS)])) for number in range(400)]
        await asyncio.sleep(0.3)
        os.kill(before[0], signal.SIGKILL)
        await asyncio.gather(*running)
    print(f"{retried} requests had to be sent again")  # noqa: T201 - for readers of the log
    await wait_until_async(lambda: len(replicas()) == 2 and before[0] not in replicas(), 120, pause=1)


def test_a_bulk_job_gives_what_the_command_line_gives_with_all_workers_at_work(tmp_path: Path) -> None:
    odd = ["", "  ", "Tabs\tand spaces  ", "A carriage return\r", "A line separator\u2028inside", "Ünïcödé 😀 中文"]
    lines = [*odd, *(f"{text} It was number {number}." for number in range(100) for text in TEXTS)]
    expected, report = by_the_command_line(lines, tmp_path), tmp_path / "report.json"
    command = [PYTHON, "-m", "deploy.ray.bulk", "--model", str(BUNDLES[0]), "--workers", "2", "--report", str(report)]
    files = ["--input", str(tmp_path / "lines"), "--output", str(tmp_path / "output")]
    subprocess.run([*command, *files], cwd=ROOT, env=RAY_ENVIRONMENT, check=True)
    assert (tmp_path / "output").read_bytes() == expected
    workers = json.loads(report.read_text("utf-8"))["workers"]
    assert len(workers) == 2
    assert sum(worker["lines"] for worker in workers) == len(lines)
