"""Documents through the real server: clients as they are, and a restart in mid-job."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.polling import wait_until
from tests.support.server import ServerProcess, metric, running_dummy

LONG = "".join(f"Sentence number {number}.\n" for number in range(100)).encode()
PAIR = {"source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    jobs = str(tmp_path_factory.mktemp("jobs"))
    with running_dummy(TRANSLUCENT_JOBS_DIR=jobs, TRANSLUCENT_MAX_FILE_MB="90") as server:
        yield server


def job_at(url: str, least: int) -> dict[str, Any]:
    """Return a job once so many of its segments are translated; all of them: once it is done."""
    job: dict[str, Any] = {}

    def is_there() -> bool:
        job.update(httpx.get(url).json())
        return job["progress"]["segments_done"] >= least and (least < 100 or job["state"] != "running")

    wait_until(is_there, 60, lambda: f"the job does not go on: {job}", pause=0.05)
    return job


def test_a_job_survives_the_death_of_the_server(tmp_path: Path) -> None:
    environment = {"TRANSLUCENT_JOBS_DIR": str(tmp_path / "jobs")}
    with running_dummy(0.7, **environment) as server:
        answer = httpx.post(f"{server.url}/jobs", data=PAIR, files={"file": ("long.txt", LONG)})
        path = answer.headers["location"]
        assert job_at(f"{server.url}{path}", 16)["state"] == "running"
        server.signal(signal.SIGKILL)
        server.exit_code()
    with running_dummy(0.1, **environment) as server:
        job = job_at(f"{server.url}{path}", 100)
        assert job["state"] == "done"
        assert httpx.get(f"{server.url}{job['file']}").content == LONG.upper()
        assert httpx.delete(f"{server.url}{path}").status_code == 204
        assert not [*(tmp_path / "jobs").iterdir()]


def test_no_name_or_text_of_a_document_is_in_the_log(server: ServerProcess) -> None:
    for name, content in (("SECRET.txt", b"SECRET\n"), ("SECRET.docx", b"SECRET"), ("SECRET.exe", b"SECRET")):
        httpx.post(f"{server.url}/translate_file", data=PAIR, files={"file": (name, content)})
    metrics = httpx.get(f"{server.url}/metrics").text
    expected = {("txt", "done"), ("docx", "refused")}
    wait_until(lambda: {(each["format"], each["outcome"]) for each in server.lines if "outcome" in each} >= expected)
    assert "SECRET" not in json.dumps(server.raw) + metrics


def test_documents_go_on_when_the_process_that_reads_them_is_killed(server: ServerProcess) -> None:
    def zygotes() -> list[int]:
        return [child for child in server.children if b"zygote" in Path(f"/proc/{child}/cmdline").read_bytes()]

    [zygote] = zygotes()
    os.kill(zygote, signal.SIGKILL)
    wait_until(lambda: metric(server.url, "document_processes_lost_total", process="zygote") == 1)
    answer = httpx.post(f"{server.url}/translate_file", data=PAIR, files={"file": ("a.html", b"<p>Hello")}, timeout=60)
    assert httpx.get(answer.json()["translatedFileUrl"]).content == b"<p>HELLO"
    assert zygotes() != [zygote]


def test_a_document_of_many_megabytes_is_taken(server: ServerProcess) -> None:
    document = b"A line of a long text that is nothing.\n" * 60_000
    answer = httpx.post(f"{server.url}/translate_file", data=PAIR, files={"file": ("a.txt", document)})
    assert answer.status_code == 200, answer.text
    assert httpx.get(answer.json()["translatedFileUrl"]).content == document.upper()
    assert httpx.post(f"{server.url}/translate", content=document).status_code == 413  # texts keep their limit
