"""Documents through the real server: clients as they are, a restart in mid-job, two servers, and the command line."""

import io
import json
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

import httpx
from docx import Document
from libretranslatepy import LibreTranslateAPI

from tests.support.polling import wait_until
from tests.support.server import running_dummy

LONG = "".join(f"Sentence number {number}.\n" for number in range(100)).encode()
PAIR = {"source": "en", "target": "fr"}


def report() -> bytes:
    document = Document()
    document.add_paragraph("We have lost ").add_run("everything").bold = True
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def job_at(url: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}{path}").json()
    return found


def wait_for(url: str, path: str, least: int) -> dict[str, Any]:
    """Return a job once so many of its segments are translated."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        job = job_at(url, path)
        if job["progress"]["segments_done"] >= least:
            return job
        time.sleep(0.05)
    raise AssertionError(f"the job does not go on: {job}")


def test_a_file_as_libretranslates_own_page_sends_it() -> None:
    """Send a form with file, source, target and api_key, then fetch the link without a key.

    libretranslatepy 2.1.4, the newest, has no call for files; its settings and languages decide what a page offers.
    """
    with running_dummy() as server:
        server.wait_for("ready")
        client = LibreTranslateAPI(f"{server.url}/")
        assert "fr" in {language["code"] for language in client.languages()}
        settings = httpx.get(f"{client.url}frontend/settings").json()
        assert settings["filesTranslation"]
        assert ".docx" in settings["supportedFilesFormat"]
        form = {**PAIR, "api_key": ""}
        answer = httpx.post(f"{client.url}translate_file", data=form, files={"file": ("report.docx", report())})
        assert answer.status_code == 200, answer.text
        assert set(answer.json()) == {"translatedFileUrl"}
        with urllib.request.urlopen(answer.json()["translatedFileUrl"]) as response:
            [paragraph] = Document(io.BytesIO(response.read())).paragraphs
        assert paragraph.text == "WE HAVE LOST EVERYTHING"
        assert [run for run in paragraph.runs if run.bold]


def test_a_job_survives_the_death_of_the_server(tmp_path: Path) -> None:
    environment = {"TRANSLUCENT_JOBS_DIR": str(tmp_path / "jobs")}
    with running_dummy(0.7, **environment) as server:
        server.wait_for("ready")
        answer = httpx.post(f"{server.url}/jobs", data=PAIR, files={"file": ("long.txt", LONG)})
        path = answer.headers["location"]
        before = wait_for(server.url, path, 16)
        server.signal(signal.SIGKILL)
        server.exit_code()
    assert before["state"] == "running"
    with running_dummy(0.1, **environment) as server:
        server.wait_for("ready")
        job = wait_for(server.url, path, 100)
        while job["state"] == "running":
            job = job_at(server.url, path)
        assert job["state"] == "done"
        assert httpx.get(f"{server.url}{job['file']}").content == LONG.upper()
        assert httpx.delete(f"{server.url}{path}").status_code == 204
        assert not [*(tmp_path / "jobs").iterdir()]


def test_servers_that_share_a_folder_share_the_jobs(tmp_path: Path) -> None:
    environment = {"TRANSLUCENT_JOBS_DIR": str(tmp_path / "jobs")}
    with running_dummy(0.2, **environment) as one, running_dummy(0.2, **environment) as two:
        for server in (one, two):
            server.wait_for("ready")
        path = httpx.post(f"{one.url}/jobs", data=PAIR, files={"file": ("long.txt", LONG)}).headers["location"]
        job = wait_for(two.url, path, 100)
        while job["state"] == "running":
            job = job_at(two.url, path)
        assert httpx.get(f"{two.url}{path}/file").content == LONG.upper()
        lines = [line for server in (one, two) for line in server.lines if line.get("event") == "document"]
        assert [(line["format"], line["outcome"]) for line in lines] == [("txt", "done")]


def test_no_name_or_text_of_a_document_is_in_the_log(tmp_path: Path) -> None:
    with running_dummy(TRANSLUCENT_JOBS_DIR=str(tmp_path)) as server:
        server.wait_for("ready")
        for name, content in (("SECRET.txt", b"SECRET\n"), ("SECRET.docx", b"SECRET"), ("SECRET.exe", b"SECRET")):
            httpx.post(f"{server.url}/translate_file", data=PAIR, files={"file": (name, content)})
        metrics = httpx.get(f"{server.url}/metrics").text
        expected = {("txt", "done"), ("docx", "refused")}
        wait_until(
            lambda: {(each["format"], each["outcome"]) for each in server.lines if "outcome" in each} == expected
        )
        assert "SECRET" not in json.dumps(server.raw) + metrics


def test_a_document_of_many_megabytes_is_taken() -> None:
    document = b"A line of a long text that is nothing.\n" * 60_000
    with running_dummy(0.0, "", TRANSLUCENT_DOCUMENT_CHARACTER_LIMIT="9000000") as server:
        server.wait_for("ready")
        answer = httpx.post(f"{server.url}/translate_file", data=PAIR, files={"file": ("a.txt", document)}, timeout=60)
        assert answer.status_code == 200, answer.text
        assert httpx.get(answer.json()["translatedFileUrl"], timeout=60).content == document.upper()
        assert httpx.post(f"{server.url}/translate", content=document).status_code == 413  # texts keep their limit
