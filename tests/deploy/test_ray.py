"""Ray on a local cluster: replicas behind one address, one of them killed under load, and a bulk job.

Ray lives in an environment of its own (docs/deploy.md), whose Python RAY_PYTHON names; models are needed, too.
"""

from __future__ import annotations

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

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("RAY_PYTHON", "")
MODELS = Path(os.environ.get("RAY_TEST_MODELS", ROOT / "models"))
PORT = 8000  # of Ray Serve
BUNDLES = sorted(path.parent for path in MODELS.glob("*/manifest.json"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON or not BUNDLES, reason="RAY_PYTHON does not name a Python with Ray, or no models"),
]


def environment(**more: str) -> dict[str, str]:
    """That of this process with Ray's own programs in front."""
    path = f"{Path(PYTHON).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1", **more}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    given = os.environ.get("RAY_ADDRESS_UNDER_TEST")  # a cluster that runs already
    if given:
        yield given
        return
    settings = {"RAY_REPLICAS": "2", "RAY_CPUS_PER_REPLICA": "0.5", "TRANSLUCENT_MODELS_DIR": str(MODELS)}
    command = ["serve", "run", "serving:app"]
    with subprocess.Popen(command, cwd=ROOT / "deploy/ray", env=environment(**settings)) as process:
        try:
            wait_until_ready(f"http://127.0.0.1:{PORT}")
            yield f"http://127.0.0.1:{PORT}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def wait_until_ready(url: str, seconds: float = 300) -> None:
    """Wait until the address answers that it is ready."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/health/ready", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(1)
    raise AssertionError("Ray Serve did not get ready")


def replicas() -> list[int]:
    """The processes of the replicas on this machine."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "ray::ServeReplica:default:translucent" in line]


def in_one_process(lines: Path, output: Path) -> list[str]:
    """What the command line makes of a file."""
    command = [sys.executable, "-m", "service", "translate", "--model", str(BUNDLES[0])]
    subprocess.run([*command, "--input", str(lines), "--output", str(output)], cwd=ROOT, check=True)
    return output.read_text("utf-8").splitlines()


TEXTS = [f"I lost {number} keys{'.' if number % 2 else ' and you found them!'}" for number in range(40)]


async def test_replicas_answer_as_one_process_does_and_one_may_be_killed(address: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{text}\n" for text in TEXTS), "utf-8")
    expected = dict(zip(TEXTS, in_one_process(lines, tmp_path / "out"), strict=True))
    before = replicas()
    assert len(before) == 2
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
        running = [asyncio.create_task(translate(client, TEXTS[number % len(TEXTS)])) for number in range(400)]
        await asyncio.sleep(0.3)
        os.kill(before[0], signal.SIGKILL)
        await asyncio.gather(*running)
    print(f"{retried} requests had to be sent again")  # noqa: T201 - for who reads the log of this test
    end = time.monotonic() + 120
    while len(now := set(replicas())) < 2 or before[0] in now:
        assert time.monotonic() < end, "the replica was not replaced"
        await asyncio.sleep(1)


def test_a_bulk_job_gives_what_the_command_line_gives_with_all_workers_busy(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    texts = [f"{text} {number}" for number in range(100) for text in TEXTS]
    lines.write_text("".join(f"{text}\n" for text in [*texts, "", "  "]), "utf-8")
    expected = in_one_process(lines, tmp_path / "expected")
    command = [PYTHON, str(ROOT / "deploy/ray/bulk.py"), "--model", str(BUNDLES[0]), "--workers", "2"]
    done = subprocess.run(
        [*command, "--input", str(lines), "--output", str(tmp_path / "out")],
        env=environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "out").read_text("utf-8").splitlines() == expected
    shares = done.stderr.splitlines()[-1].split(": ")[1].split(", ")
    assert len(shares) == 2, done.stderr[-500:]
