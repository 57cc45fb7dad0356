"""Bundles are replaced under a running server: no client gets an error, and a damaged bundle changes nothing."""

import asyncio
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.paths import ROOT
from tests.support.polling import PATIENCE, wait_until_async
from tests.support.server import ServerProcess, metric, running
from tests.support.toy_onnx import write_speaking_bundle
from tests.system.load import Load

NAME = "transformer-en-fr"
IN_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
ADMIN = {"Authorization": "Bearer operator-of-models"}


def exchange(models: Path, version: int, **changes: Any) -> None:
    """Put another version in the place of the bundle, as one does: written aside, then moved."""
    aside = write_speaking_bundle(models / ".new", version, **changes)
    if (models / NAME).exists():
        (models / NAME).rename(models / ".old")
    aside.rename(models / NAME)
    shutil.rmtree(models / ".old", ignore_errors=True)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    exchange(folder, 1)
    return folder


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    glossaries = tmp_path / "glossaries"
    glossaries.mkdir()
    (glossaries / "legal.en-fr.tsv").write_text("key\tclef\n", encoding="utf-8")
    settings = {"TRANSLUCENT_MODELS_DIR": str(models), "TRANSLUCENT_GLOSSARIES_DIR": str(glossaries)}
    settings["TRANSLUCENT_ADMIN_TOKEN"] = "operator-of-models"
    with running("-m", "service", "serve", "--device", "cpu", **settings) as server:
        yield server


def events(server: ServerProcess, name: str) -> list[dict[str, Any]]:
    return [line for line in list(server.lines) if line.get("event") == name]


def digest(server: ServerProcess) -> str:
    return str(httpx.get(f"{server.url}/models").json()["models"][0]["digest"])


def load_model(server: ServerProcess) -> httpx.Response:
    return httpx.post(f"{server.url}/v2/repository/models/{NAME}/load", headers=ADMIN)


def released(server: ServerProcess) -> int:
    """Return the number of models that were removed from memory."""
    return len(events(server, f"The engine threads of {NAME} have ended"))


def translations(load: Load, since: int = 0) -> dict[str, set[str]]:
    """Return the translation of each text by a plain request."""
    found: dict[str, set[str]] = {}
    for text, answer in load.answers[since:]:
        if isinstance(answer.json() if "json" in answer.headers["content-type"] else None, dict):
            body = answer.json()
            if set(body) == {"translatedText"}:
                found.setdefault(text, set()).add(body["translatedText"])
    return found


async def test_bundles_are_exchanged_under_load_without_an_error(server: ServerProcess, models: Path) -> None:
    digests = [digest(server)]
    async with Load(server.url) as load:
        await load.until(32)
        for version in (2, 3, 4):
            await asyncio.to_thread(exchange, models, version)
            if version == 3:
                server.signal(signal.SIGHUP)
                await wait_until_async(lambda: len(events(server, "models reloaded")) == 2)
            else:
                answer = await asyncio.to_thread(load_model, server)
                assert (answer.status_code, answer.json()["outcome"]) == (200, "replaced")
            digests.append(await asyncio.to_thread(digest, server))
            since = len(load.answers) + load.callers  # requests on their way may still end with the old one
            await load.until(40)
            assert all(len(texts) == 1 for texts in translations(load, since).values())
        await asyncio.to_thread(exchange, models, 5)
        (models / NAME / "decoder.fp32.onnx").write_bytes(b"damaged")
        assert (await asyncio.to_thread(load_model, server)).status_code == 409
        await load.until(8)
    [refusal] = events(server, "model refused")
    assert (refusal["level"], refusal["model"], refusal["serving"]) == ("error", NAME, digests[3])
    assert "decoder.fp32.onnx: its SHA-256 is" in refusal["reason"]
    assert load.lost == []
    assert set(load.statuses) == {200}, load.statuses
    assert len(set(digests)) == 4
    assert all(len(texts) == 4 for texts in translations(load).values())  # every version was met
    shown = {answer.json()["digest"] for _, answer in load.answers if answer.url.path == "/attention"}
    assert shown == set(digests)
    assert metric(server.url, "model_info", digest=digests[3]) == 1
    assert metric(server.url, "model_info") == 1
    assert metric(server.url, "model_changes_total", result="replaced") == 3
    await wait_until_async(lambda: released(server) == 3)
    assert metric(server.url, "rows_in_use") == metric(server.url, "queued_sentences") == 0


async def test_a_pair_and_a_glossary_are_added_by_sighup(server: ServerProcess, models: Path, tmp_path: Path) -> None:
    text = {"q": "I lost.", "source": "en", "target": "de"}
    write_speaking_bundle(models / ".new", 2, name="bahdanau-en-de", target_language="de")
    (models / ".new").rename(models / "bahdanau-en-de")
    (tmp_path / "glossaries/shop.en-fr.csv").write_text("box,boîte\n", encoding="utf-8")
    (tmp_path / "glossaries/legal.en-fr.tsv").write_text("lonely\n", encoding="utf-8")
    async with httpx.AsyncClient(base_url=server.url) as client:
        assert (await client.post("/translate", json=text)).status_code == 400
        server.signal(signal.SIGHUP)
        await wait_until_async(lambda: len(events(server, "models reloaded")) == 1)
        assert (await client.post("/translate", json=text)).status_code == 200
        assert "de" in (await client.get("/languages")).text
        glossaries = {each["name"]: each["terms"] for each in (await client.get("/glossaries")).json()}
        assert glossaries == {"legal": 1, "shop": 1}, "a file that breaks is served as it was"
        answer = await client.post("/v2/repository/models/bahdanau-en-de/unload", headers=ADMIN)
        assert answer.json()["outcome"] == "unloaded"
        assert (await client.post("/translate", json=text)).status_code == 400
    await wait_until_async(lambda: len(events(server, "The engine threads of bahdanau-en-de have ended")) == 1)
    assert any(line.get("level") == "error" for line in server.lines)
    assert not any("lonely" in line for line in server.raw)


def test_a_terminal_that_closes_stops_the_server_instead(models: Path) -> None:
    """SIGHUP also means that; a server that stayed behind would hold the port."""
    terminal, other = pty.openpty()
    serve = ["-m", "service", "serve", "--device", "cpu", "--port", "0"]
    settings = {"TRANSLUCENT_MODELS_DIR": str(models), "TRANSLUCENT_DRAIN_DELAY_SECONDS": "0"}
    process = subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL, sys.executable, *serve],
        stdin=other,
        stdout=other,
        stderr=other,
        cwd=ROOT,
        env={**os.environ, **settings},
    )
    os.close(other)
    try:
        seen, end = b"", time.monotonic() + 180
        while b"ready" not in seen and time.monotonic() < end:
            seen += os.read(terminal, 4096)
        os.close(terminal)
        assert process.wait(PATIENCE) in (0, 1)
    finally:
        process.kill()
        process.wait()
