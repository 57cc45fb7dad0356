"""Jobs: kept on disk for their owner only, shared fairly, continued after a restart, deleted in time."""

import asyncio
import errno
import json
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from service.documents.jobs.job import Job, from_json, new_id, to_json
from service.documents.jobs.runner import JobRunner, RunnerOptions, digest_of
from service.documents.jobs.store import JobStore, Room, StoreFull
from service.documents.translating import WINDOW_SEGMENTS, WindowTimeouts, translate_segments
from service.engine import (
    Glossary,
    ModelInfo,
    Overloaded,
    SentenceQuality,
    Term,
    Translation,
    TranslationOptions,
    UnsupportedPair,
    ValueHandling,
)
from tests.support.fake_engine import DummyTranslator, info_of

LONG = "".join(f"Sentence number {number}.\n" for number in range(60)).encode()


@dataclass
class Gate:
    """A translator that stops before each call until it may go on."""

    calls: list[tuple[str, ...]] = field(default_factory=list)
    allowed: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    entered: int = 0
    cancelled: int = 0
    info: ModelInfo = field(default_factory=lambda: info_of("transformer-en-fr"))
    errors: list[Exception] = field(default_factory=list)
    quality_of: Callable[[str], float] | None = None

    async def translate(
        self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
    ) -> list[Translation]:
        self.entered += 1
        try:
            await self.allowed.acquire()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.errors:
            raise self.errors.pop()
        self.calls.append(tuple(texts))
        return [Translation(text.upper(), qualities=self._judged(text)) for text in texts]

    def _judged(self, text: str) -> tuple[SentenceQuality, ...]:
        if self.quality_of is None:
            return ()
        return (SentenceQuality(text, text.upper(), 0, self.quality_of(text), ()),)


class Echo(Gate):
    """A translator that returns its texts."""

    async def translate(
        self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
    ) -> list[Translation]:
        self.calls.append(tuple(texts))
        return [Translation(text) for text in texts]


class Models:
    """The engine of a runner, with one model."""

    def __init__(self, translator: Gate | DummyTranslator) -> None:
        self.translator = translator
        self.wanted: list[object] = []  # the glossaries of jobs

    def legs(self, source: str, target: str, model: str | None) -> Sequence[Gate | DummyTranslator]:
        if target == "xx":
            raise UnsupportedPair("There is no model into xx.")
        return () if source == target else (self.translator,)

    def glossary(self, job: Job) -> Glossary | None:
        if job.glossary is None:
            return None
        self.wanted.append(job.glossary)
        return Glossary([Term("Sentence", ("Satz",))])

    async def detect(self, text: str) -> str | None:
        return "en" if "Sentence" in text else None


def job_of(**values: object) -> Job:
    given = {"id": new_id(), "format": "txt", "file_name": "a.txt", "source": "en", "target": "fr", "created": 0.0}
    return Job(**{**given, **values})  # type: ignore[arg-type]


def store_at(folder: Path | None, clock: Callable[[], float] | None = None, most: int = 10) -> JobStore:
    room = Room(most, 1_000_000)
    return JobStore(folder, room, 7200.0) if clock is None else JobStore(folder, room, 7200.0, clock)


def runner_of(store: JobStore, translator: Gate | DummyTranslator) -> JobRunner:
    options = RunnerOptions(timeouts=WindowTimeouts(5.0, 5.0), slots=2, poll_seconds=0.02)
    return JobRunner(store, Models(translator), options)


async def until(check: Callable[[], bool | Awaitable[bool]]) -> None:
    for _ in range(500):
        result = check()
        if (await result) if isinstance(result, Awaitable) else result:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


def listed(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def parts_of(store: JobStore, job: Job) -> list[str]:
    """Return the segments that are translated so far, on disk."""
    lines = [line for file in (store._root() / job.id).glob("parts.*") for line in file.read_text().splitlines()]
    return [segment for line in lines for segment in json.loads(line)]


def dummy() -> DummyTranslator:
    return DummyTranslator(info_of("transformer-en-fr"))


async def test_a_job_is_translated_and_its_files_are_for_the_server_only(tmp_path: Path) -> None:
    store = store_at(tmp_path / "jobs")
    runner = runner_of(store, dummy())
    job = await runner.submit(job_of(owner="hash"), LONG)
    done = await runner.wait(job.id)
    assert done is not None
    assert (done.state, done.segments_done, done.owner) == ("done", 60, "hash")
    assert store.read_output(done) == LONG.upper()
    files = [*(tmp_path / "jobs").rglob("*")]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.is_file()} == {0o600}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.is_dir()} == {0o700}
    assert {file.name for file in files if file.is_file()} == {"job.json", "output", "lock"}  # the original is gone
    await runner.stop()


async def test_a_document_takes_small_turns_so_that_others_get_theirs(tmp_path: Path) -> None:
    gate = Gate()
    gate.allowed = asyncio.Semaphore(1000)
    runner = runner_of(store_at(tmp_path), gate)
    job = await runner.submit(job_of(), b"A line.\n" * 5 + LONG)
    await runner.wait(job.id)
    assert max(map(len, gate.calls)) <= WINDOW_SEGMENTS
    assert sum(map(len, gate.calls)) == 61  # the equal lines are translated once
    await runner.stop()


async def test_a_full_engine_makes_a_document_wait_and_not_fail(tmp_path: Path) -> None:
    gate = Gate(errors=[Overloaded("full", 0.01)], allowed=asyncio.Semaphore(100))
    runner = runner_of(store_at(tmp_path), gate)
    job = await runner.submit(job_of(), b"A line.\n")
    done = await runner.wait(job.id)
    assert done is not None
    assert done.state == "done"
    await runner.stop()


async def test_after_a_restart_a_job_goes_on_where_it_was(tmp_path: Path) -> None:
    gate = Gate(allowed=asyncio.Semaphore(2))
    first = runner_of(store_at(tmp_path), gate)
    job = await first.submit(job_of(), LONG)
    await until(lambda: len(gate.calls) == 2)
    await until(lambda: len(parts_of(first.store, job)) > WINDOW_SEGMENTS)
    await first.stop()
    assert first.store.get(job.id) is not None
    second_gate = Gate(allowed=asyncio.Semaphore(100))
    second = runner_of(store_at(tmp_path), second_gate)
    second.start()
    done = await second.wait(job.id)
    assert done is not None
    assert second.store.read_output(done) == LONG.upper()
    assert not {text for call in gate.calls for text in call} & {text for call in second_gate.calls for text in call}
    await second.stop()


async def test_the_quality_of_a_job_counts_what_was_translated_before_a_restart(tmp_path: Path) -> None:
    def quality(text: str) -> float:
        return 0.2 if text == "Sentence number 3." else 0.8

    gate = Gate(allowed=asyncio.Semaphore(2), quality_of=quality)
    first = runner_of(store_at(tmp_path), gate)
    job = await first.submit(job_of(), LONG)
    await until(lambda: len(parts_of(first.store, job)) > WINDOW_SEGMENTS)
    await first.stop()
    second_gate = Gate(allowed=asyncio.Semaphore(100), quality_of=quality)
    second = runner_of(store_at(tmp_path), second_gate)
    second.start()
    done = await second.wait(job.id)
    assert done is not None
    assert not any("Sentence number 3." in call for call in second_gate.calls)
    assert done.doubtful == ((4, 0.2, "SENTENCE NUMBER 3."),)
    assert done.quality is not None
    assert 0.78 < done.quality < 0.8
    assert second.store.get(job.id) == done, "the record on disk has it too"
    await second.stop()


async def test_the_quality_of_two_legs_is_their_product() -> None:
    legs = [Gate(allowed=asyncio.Semaphore(1), quality_of=lambda _text, q=q: q) for q in (0.5, 0.8)]  # type: ignore[misc]
    [found] = await translate_segments(legs, ["One."], TranslationOptions())
    assert found.quality == pytest.approx(0.4)
    legs[1] = Gate(allowed=asyncio.Semaphore(1))
    legs[0].allowed = asyncio.Semaphore(1)
    [found] = await translate_segments(legs, ["One."], TranslationOptions())
    assert found == ("ONE.", None), "one leg gives no quality"


async def test_another_model_begins_again(tmp_path: Path) -> None:
    gate = Gate(allowed=asyncio.Semaphore(1))
    first = runner_of(store_at(tmp_path), gate)
    job = await first.submit(job_of(), LONG)
    await until(lambda: len(parts_of(first.store, job)) > 1)
    await first.stop()
    other = Gate(allowed=asyncio.Semaphore(100), info=info_of("bahdanau-en-fr"))
    second = runner_of(store_at(tmp_path), other)
    second.start()
    await second.wait(job.id)
    assert sum(map(len, other.calls)) == 60
    await second.stop()


async def test_two_processes_share_a_folder_and_never_a_job(tmp_path: Path) -> None:
    gates = [Gate(allowed=asyncio.Semaphore(1000)) for _ in range(2)]
    runners = [runner_of(store_at(tmp_path), gate) for gate in gates]
    for runner in runners:
        runner.start()
    jobs = [await runners[0].submit(job_of(), f"Sentence {number}.\n".encode()) for number in range(8)]
    for job in jobs:
        done = await runners[1].wait(job.id)
        assert done is not None
        assert done.state == "done"
    texts = [text for gate in gates for call in gate.calls for text in call]
    assert len(texts) == len(set(texts)) == 8
    for runner in runners:
        await runner.stop()


async def test_a_cancelled_job_frees_the_engine_and_leaves_nothing(tmp_path: Path) -> None:
    gate = Gate()
    runner = runner_of(store_at(tmp_path), gate)
    job = await runner.submit(job_of(), LONG)
    await until(lambda: gate.entered == 1)
    await runner.cancel(job.id)
    assert (gate.cancelled, listed(tmp_path)) == (1, [])
    assert await runner.wait(job.id) is None
    await runner.stop()


async def test_a_job_is_cancelled_in_the_process_that_works_on_it(tmp_path: Path) -> None:
    gate = Gate(allowed=asyncio.Semaphore(1))
    worker, other = runner_of(store_at(tmp_path), gate), runner_of(store_at(tmp_path), Gate())
    job = await worker.submit(job_of(), LONG)
    await until(lambda: len(gate.calls) == 1)
    await other.cancel(job.id)
    assert other.store.get(job.id) is None
    gate.allowed.release()
    await until(lambda: not listed(tmp_path))
    assert len(gate.calls) <= 2
    await worker.stop()
    await other.stop()


@pytest.mark.parametrize(
    ("values", "data", "code", "outcome"),
    [
        ({"target": "xx"}, LONG, "unsupported_pair", "failed"),
        ({"source": "auto"}, b"zzz\n", "invalid_document", "refused"),
        ({}, b"\xff\n", "document_encoding", "refused"),
        ({"format": "docx"}, b"PK", "broken_document", "refused"),
    ],
)
async def test_a_job_that_fails_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: dict[str, str], data: bytes, code: str, outcome: str
) -> None:
    runner = runner_of(store_at(tmp_path), dummy())
    job = await runner.submit(job_of(**values), data)
    failed = await runner.wait(job.id)
    assert failed is not None
    assert (failed.state, failed.error_code, bool(failed.error)) == ("failed", code, True)
    assert not (tmp_path / job.id / "input").exists()
    await until(lambda: outcome in capsys.readouterr().out)
    await runner.stop()


async def test_jobs_expire(tmp_path: Path) -> None:
    now = [1000.0]
    store = store_at(tmp_path, lambda: now[0])
    runner = runner_of(store, dummy())
    job = await runner.submit(job_of(), b"Go.\n")
    await runner.wait(job.id)
    now[0] += 7100
    assert store.expire() == 0
    now[0] += 200
    await until(lambda: not listed(tmp_path))
    assert store.get(job.id) is None
    await runner.stop()


async def test_there_is_an_end_to_the_number_of_jobs(tmp_path: Path) -> None:
    runner = runner_of(store_at(tmp_path, most=1), Gate())
    await runner.submit(job_of(), LONG)
    with pytest.raises(StoreFull):
        await runner.submit(job_of(), LONG)
    await runner.stop()


async def test_there_is_an_end_to_their_disk_space(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.add(job_of(), b"x" * 900_000)
    with pytest.raises(StoreFull):
        store.add(job_of(), b"x" * 200_000)
    store.add(job_of(), b"x" * 1000)


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_document_that_does_not_fit_the_disk_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = runner_of(store_at(tmp_path), dummy())
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", no_room)
        with pytest.raises(OSError, match="No space"):
            await runner.submit(job_of(), LONG)
    assert not listed(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=len(LONG)))  # none for a translation
    with pytest.raises(OSError, match="No space"):
        await runner.submit(job_of(), LONG)
    assert not listed(tmp_path)
    await runner.stop()


async def test_a_job_whose_disk_is_full_fails_at_once_and_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    runner = runner_of(store_at(tmp_path), gate)
    job = await runner.submit(job_of(), LONG)
    await until(lambda: gate.entered > 0)
    sync = os.fsync

    def full_with_the_document(descriptor: int) -> None:
        if (tmp_path / job.id / "input").exists():
            no_room()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full_with_the_document)
    gate.allowed.release()
    found = await asyncio.wait_for(runner.wait(job.id), 5)  # it was kept until its client gave up
    assert found is not None
    assert found.state == "failed"
    assert "no room" in str(found.error)
    assert {*listed(tmp_path / job.id)} == {"job.json", "lock"}
    await runner.stop()


def test_a_link_that_needs_no_key_lives_an_hour() -> None:
    assert job_of(created=1000.0, linked=True).expires(86_400.0) == 4600.0
    assert job_of(created=1000.0).expires(86_400.0) == 87_400.0


async def test_a_document_that_ends_the_server_again_and_again_is_given_up(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    job = job_of(attempts=3, created=store.clock())
    store.add(job, LONG)
    runner = runner_of(store, dummy())
    runner.start()
    failed = await runner.wait(job.id)
    assert failed is not None
    assert (failed.state, "gives it up" in str(failed.error)) == ("failed", True)
    await runner.stop()


async def test_the_folder_of_a_server_that_was_killed_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed, alive, other = store_at(None), store_at(None), tmp_path / "translucent-jobs-not-ours"
    for store in (killed, alive):
        store.add(job_of(), LONG)
    other.mkdir()
    assert killed._in_use is not None
    killed._in_use.close()  # as the end of a process does
    for folder in listed(tmp_path):
        os.utime(tmp_path / folder, (0, 0))
    last = store_at(None)
    last.add(job_of(), LONG)
    assert {*listed(tmp_path)} == {other.name, *(each._made.name for each in (alive, last) if each._made)}
    for store in (alive, last):
        store.close()


async def test_without_a_folder_jobs_are_gone_after_the_end() -> None:
    store = store_at(None)
    assert not store.exists
    runner = runner_of(store, dummy())
    job = await runner.submit(job_of(), b"Go.\n")
    await runner.wait(job.id)
    [folder] = {file.parent.parent for file in [store._root() / job.id / "output"]}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await runner.stop()
    assert not folder.exists()


@pytest.mark.parametrize("job_id", ["../../etc", "..", "", "a" * 31, "A" * 32, "/etc/passwd"])
def test_an_id_that_is_none_leads_nowhere(tmp_path: Path, job_id: str) -> None:
    store = store_at(tmp_path)
    assert store.get(job_id) is None


def test_records_survive_their_file() -> None:
    job = job_of(columns=("a", "b"), file_name="Été 🎉.txt", glossary=(("a", ("b", "c")),))
    assert from_json(to_json(job)) == job
    for broken in ("", "[]", "{}", '{"id": 1', "null"):
        with pytest.raises(ValueError, match=r"."):
            from_json(broken)


@pytest.mark.parametrize("values", ["localize", "off"])
async def test_protected_elements_stay_whatever_becomes_of_values(values: ValueHandling) -> None:
    echo = Echo()
    segment = 'Open <span translate="no">README</span> now'
    [found] = await translate_segments([echo], [segment], TranslationOptions(values=values))
    assert found.text.count('<span translate="no">README</span>') == 1
    [[text]] = echo.calls
    assert ("dnt" in text) == (values != "off"), "without values the engine does not know the marks"


async def test_the_glossary_of_a_job_is_kept_until_it_is_done(tmp_path: Path) -> None:
    translator = dummy()
    store = store_at(tmp_path)
    runner = runner_of(store, translator)
    entries = (("Sentence", ("Satz", "Sätze")),)
    by_entries = await runner.submit(job_of(glossary=entries), LONG)
    by_name = await runner.submit(job_of(glossary="legal"), LONG)
    for job in (by_entries, by_name):
        done = await runner.wait(job.id)
        assert done is not None
        assert (done.state, done.glossary) == ("done", None)
    models = runner._engine
    assert isinstance(models, Models)
    assert sorted(models.wanted, key=str) == [entries, "legal"]
    glossaries = {options.glossary.terms for _, options, _ in translator.calls}  # type: ignore[attr-defined]
    assert glossaries == {(Term("Sentence", ("Satz",)),)}
    await runner.stop()


async def test_another_glossary_at_a_restart_translates_the_parts_anew(tmp_path: Path) -> None:
    one, other = Glossary([Term("a", ("b",))]), Glossary([Term("a", ("c",))])
    legs = [dummy()]
    assert digest_of(legs, one) == digest_of(legs, Glossary([Term("a", ("b",))]))
    assert len({digest_of(legs, glossary) for glossary in (None, one, other)}) == 3
