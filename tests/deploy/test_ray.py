"""Ray on a local cluster: replicas behind one address, one of them killed under load, and a bulk job.

Ray lives in an environment of its own (docs/deploy.md), whose Python RAY_PYTHON names; models are needed, too.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deploy.bulk_job import RAY_ENVIRONMENT, made_up, prove
from tests.support.polling import wait_until, wait_until_async
from tests.support.server import ROOT, free_port, processor_seconds

PYTHON = os.environ.get("RAY_PYTHON", "")
MODELS = Path(os.environ.get("RAY_TEST_MODELS", ROOT / "models"))
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


def in_one_process(texts: list[str], folder: Path) -> dict[str, str]:
    """Return the command line's translation of each text."""
    lines, output = folder / "lines", folder / "output"
    lines.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    command = [sys.executable, "-m", "service", "translate", "--model", str(BUNDLES[0])]
    subprocess.run([*command, "--input", str(lines), "--output", str(output)], cwd=ROOT, check=True)
    return dict(zip(texts, output.read_text("utf-8").splitlines(), strict=True))


TEXTS = [f"I lost {number} keys{'.' if number % 2 else ' and you found them!'}" for number in range(40)]


async def test_replicas_answer_as_one_process_does_and_one_may_be_killed(address: str, tmp_path: Path) -> None:
    expected = in_one_process(TEXTS, tmp_path)
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

    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
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


def test_a_bulk_job_gives_what_the_command_line_gives_with_all_workers_at_work() -> None:
    """Small; `python -m tests.deploy.bulk_job` does it with 100,000 lines and says how busy the workers were."""
    report = prove(BUNDLES[0], made_up(int(os.environ.get("RAY_TEST_LINES", "4100"))), 2)
    assert report["same_bytes"], f"{report['different_lines']} lines differ"
    assert len(report["ray"]["workers"]) == 2
    assert sum(worker["lines"] for worker in report["ray"]["workers"]) == report["lines"]
