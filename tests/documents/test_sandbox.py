"""Each document in a process of its own: the same bytes as without; a crash is one refusal, and nobody else suffers."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from docx import Document
from structlog.testing import capture_logs

from service.documents.errors import BrokenDocument, DocumentError, DocumentTooLarge, UnsafeDocument
from service.documents.format import MIB, Limits, ReadOptions, format_of
from service.documents.sandbox import reader as sandbox
from service.documents.sandbox import zygote_process
from service.documents.sandbox.reader import DocumentReader
from tests.support.documents import packed, pdf_with_text, saved, through, upper
from tests.support.jobs import gate, job_of, runner_of, store_at
from tests.support.polling import wait_until_async

OPTIONS = ReadOptions("fr")
TEXT = b"Hello there.\nA second line.\n"
PO = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open"\nmsgstr ""\n'
MENDED = 5.0 * 4  # seconds: four times what a machine at work may take


def word(*texts: str) -> bytes:
    document = Document()
    for text in texts:
        document.add_paragraph(text)
    return saved(document)


DOCUMENTS = {
    "a.txt": TEXT,
    "a.html": b"<p>Hello <b>there</b></p>",
    "a.md": b"# Hello\n\nA *second* line.\n",
    "a.po": PO,
    "a.yml": b"en:\n  open: Hello\n",
    "a.json": b'{"a": "Hello", "b": "\\ud800 there"}',
    "a.docx": word("Hello there.", "A second line."),
    "a.pdf": pdf_with_text(["Hello there."], ["A second page."]),
}


@pytest.fixture
async def lost() -> list[str]:
    return []


@pytest.fixture
async def reader(lost: list[str]) -> AsyncIterator[DocumentReader]:
    reader = DocumentReader(lost.append)
    yield reader
    await reader.stop()


@pytest.fixture
async def faulty(monkeypatch: pytest.MonkeyPatch, lost: list[str]) -> AsyncIterator[DocumentReader]:
    """Yield a reader whose texts may hang or crash."""
    monkeypatch.setattr(zygote_process, "_PROGRAM", "tests.support.faulty_zygote")
    reader = DocumentReader(lost.append)
    yield reader
    await reader.stop()


async def translated(reader: DocumentReader, name: str, data: bytes, options: ReadOptions = OPTIONS) -> bytes:
    async with reader.open(data, format_of(name).name, options) as document:
        return await document.write([upper(segment) for segment in document.segments])


def children_of(process_id: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process_id}/task/{process_id}/children").read_text("ascii").split()]


async def zygote_of(reader: DocumentReader) -> int:
    child = await reader.child()
    child.close()
    await wait_until_async(lambda: not children_of(child.zygote.process_id))
    return child.zygote.process_id


async def test_a_document_of_each_kind_is_the_same_as_without_a_process(reader: DocumentReader) -> None:
    for name, data in DOCUMENTS.items():
        assert await translated(reader, name, data) == through(name, data), name
    with pytest.raises(BrokenDocument, match="cannot be unpacked"):
        await translated(reader, "a.docx", b"PK")
    with pytest.raises(UnsafeDocument, match="leads out of it"):
        await translated(reader, "a.docx", packed({"../a": b"x"}))
    with pytest.raises(DocumentTooLarge, match="paragraphs"):
        await translated(reader, "a.txt", TEXT * 9, ReadOptions("fr", Limits(segments=3)))


async def test_a_file_that_takes_too_much_is_refused_and_the_next_one_works(
    reader: DocumentReader, lost: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = b"<p>" + b"<b>a</b>" * 60_000 + b"</p>"
    for name, least in (("MEMORY", 64 * MIB), ("SECONDS", 0)):
        with monkeypatch.context() as patched:
            patched.setattr(sandbox, name, least)
            patched.setattr(sandbox, f"{name}_PER_{'BYTE' if name == 'MEMORY' else 'MIB'}", 0)
            with pytest.raises(DocumentTooLarge, match="too much time or memory"):
                await translated(reader, "a.html", page)
        assert await translated(reader, "a.txt", TEXT) == TEXT.upper()
    assert {*lost} <= {"document"}


async def test_a_crash_is_one_refusal_and_an_error_of_ours_is_logged_without_text(
    faulty: DocumentReader, lost: list[str]
) -> None:
    with pytest.raises(DocumentTooLarge):
        await translated(faulty, "a.txt", b"crash")
    with capture_logs() as logged, pytest.raises(BrokenDocument, match="Save it again"):
        await translated(faulty, "a.txt", b"fail")
    assert await translated(faulty, "a.txt", TEXT) == TEXT.upper()
    assert lost == ["document"]
    [line] = logged
    assert (line["format"], line["type"]) == ("txt", "builtins.RuntimeError")
    assert any("faulty_zygote" in frame for frame in line["frames"])
    assert "SECRET" not in str(logged)


@pytest.mark.parametrize("hostile", [b"hang", b"loop"])
async def test_a_document_without_an_end_is_killed_at_its_deadline_and_stops_nobody(
    faulty: DocumentReader, lost: list[str], monkeypatch: pytest.MonkeyPatch, hostile: bytes
) -> None:
    zygote = await zygote_of(faulty)
    monkeypatch.setattr(sandbox, "PATIENCE", 1 / sandbox.SECONDS)
    refused = asyncio.create_task(translated(faulty, "a.txt", hostile))
    began = time.process_time()
    with pytest.raises(DocumentTooLarge):
        await refused
    assert time.process_time() - began < 0.5, "it is not this process that works"
    await wait_until_async(lambda: not children_of(zygote))
    assert lost == ["document"]


async def test_the_process_of_a_job_that_is_cancelled_ends(faulty: DocumentReader, tmp_path: Path) -> None:
    runner = runner_of(store_at(tmp_path), gate(0), reader=faulty)
    zygote = await zygote_of(faulty)
    job = await runner.submit(job_of(), b"loop")
    await wait_until_async(lambda: len(children_of(zygote)) == 1)
    await runner.cancel(job.id)
    await wait_until_async(lambda: not children_of(zygote))
    assert runner.store.get(job.id) is None
    await runner.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(zygote, 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_processes_that_are_killed_or_stopped_are_replaced_and_no_document_is_lost(
    reader: DocumentReader, lost: list[str], number: signal.Signals
) -> None:
    first = await zygote_of(reader)
    async with reader.open(TEXT, "txt", OPTIONS) as document:
        os.kill(children_of(first)[0], number)
        await wait_until_async(lambda: not children_of(first))
        assert await document.write(document.segments) == TEXT
        os.kill(first, number)
        await wait_until_async(lambda: lost == ["zygote"], MENDED)
        assert await document.write(document.segments) == TEXT
    os.kill(await zygote_of(reader), number)  # while no document is open
    await wait_until_async(lambda: lost == ["zygote"] * 2, MENDED)
    assert await translated(reader, "a.txt", TEXT) == TEXT.upper()


PROGRAM = """
import asyncio, sys
from pathlib import Path
from service.documents.format import format_of
from tests.support.jobs import dummy, finished, job_of, runner_of, store_at

async def main():
    runner = runner_of(store_at(Path(sys.argv[1])), dummy())
    for path in sorted(Path(sys.argv[2]).iterdir()):
        job = job_of(format=format_of(path.name).name, file_name=path.name)
        assert (await finished(runner, await runner.submit(job, path.read_bytes()))).state == "done", path
    await runner.stop()

asyncio.run(main())
print(sorted({"lxml", "yaml", "polib", "pypdf", "markdown_it"} & {*sys.modules}))
print(sorted(name for name in sys.modules if name.startswith("service.documents.formats")))
"""


def test_the_server_loads_no_library_of_a_format(tmp_path: Path) -> None:
    documents, jobs = tmp_path / "documents", tmp_path / "jobs"
    documents.mkdir()
    for name, data in DOCUMENTS.items():
        (documents / name).write_bytes(data)
    command = [sys.executable, "-c", PROGRAM, str(jobs), str(documents)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["[]", "[]"]


def test_a_kind_of_error_keeps_its_class() -> None:
    assert type(sandbox._error("unsafe_document", "no")) is UnsafeDocument
    assert type(sandbox._error("else", "no")) is DocumentError
