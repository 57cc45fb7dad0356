"""Jobs on disk: for the server only, deleted in time, within their room."""

import asyncio
import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from service.api.app import job_runner
from service.api.state import Service
from service.documents.format import MIB
from service.documents.jobs.job import from_json, to_json
from service.documents.jobs.runner import JobRunner
from service.documents.jobs.store import StoreFull
from service.engine import EngineSettings, Registry
from service.metrics import Metrics
from service.settings import Settings
from tests.support.jobs import LONG, Gate, dummy, finished, job_of, listed, runner_of, store_at
from tests.support.polling import PATIENCE, wait_until_async

OpenRunner = Callable[..., JobRunner]


async def test_a_job_is_translated_and_its_files_are_for_the_server_only(
    tmp_path: Path, open_runner: OpenRunner
) -> None:
    store = store_at(tmp_path / "jobs")
    runner = open_runner(dummy(), store)
    done = await finished(runner, await runner.submit(job_of(owner="hash"), LONG))
    assert (done.state, done.segments_done, done.owner) == ("done", 60, "hash")
    assert store.read_output(done) == LONG.upper()
    await runner.stop()  # it removes the document and the parts after the job is done
    files = [*(tmp_path / "jobs").rglob("*")]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.is_file()} == {0o600}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.is_dir()} == {0o700}
    assert {file.name for file in files if file.is_file()} == {"job.json", "output", "lock"}


async def test_jobs_expire(tmp_path: Path, open_runner: OpenRunner) -> None:
    now = [1000.0]
    store = store_at(tmp_path, lambda: now[0])
    runner = open_runner(dummy(), store)
    job = await finished(runner, await runner.submit(job_of(), b"Go.\n"))
    now[0] += 7100
    assert store.expire() == 0
    now[0] += 200
    await wait_until_async(lambda: not listed(tmp_path))
    assert store.get(job.id) is None


def test_a_link_that_needs_no_key_lives_an_hour() -> None:
    assert job_of(created=1000.0, linked=True).expires(86_400.0) == 4600.0
    assert job_of(created=1000.0).expires(86_400.0) == 87_400.0


def test_there_is_an_end_to_the_disk_space_of_jobs(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.add(job_of(), b"x" * 900_000)
    with pytest.raises(StoreFull):
        store.add(job_of(), b"x" * 200_000)
    store.add(job_of(), b"x" * 1000)


def test_jobs_leave_half_of_their_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(total=100 * MIB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    for folder in (None, tmp_path):
        settings = Settings(models_dir=tmp_path, jobs_dir=folder)
        runner = job_runner(Service(settings, Registry(tmp_path, EngineSettings()), Metrics()))
        assert runner.store.room.bytes == 50 * MIB


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_document_that_does_not_fit_the_disk_is_refused_and_leaves_nothing(
    tmp_path: Path, open_runner: OpenRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = open_runner(dummy())
    usage = shutil.disk_usage(tmp_path)
    for place, name, full in (
        (os, "fsync", no_room),
        (shutil, "disk_usage", lambda _: usage._replace(free=len(LONG))),  # none for a translation
    ):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, full)
            with pytest.raises(OSError, match="No space"):
                await runner.submit(job_of(), LONG)
        assert not listed(tmp_path)


async def test_a_job_whose_disk_is_full_fails_at_once_and_makes_room(
    tmp_path: Path, open_runner: OpenRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    runner = open_runner(gate)
    job = await runner.submit(job_of(), LONG)
    await wait_until_async(lambda: gate.entered > 0)
    sync = os.fsync

    def full_with_the_document(descriptor: int) -> None:
        if (tmp_path / job.id / "input").exists():
            no_room()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full_with_the_document)
    gate.allowed.release()
    found = await asyncio.wait_for(finished(runner, job), PATIENCE)  # it was kept until its client gave up
    assert (found.state, found.error_code, "no room" in str(found.error)) == ("failed", "jobs_unavailable", True)
    assert {*listed(tmp_path / job.id)} == {"job.json", "lock"}


async def test_the_folder_of_a_server_that_was_killed_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed, alive, other = store_at(None), store_at(None), tmp_path / "translucent-jobs-not-ours"
    for store in (killed, alive):
        store.add(job_of(), LONG)
    other.mkdir()
    assert killed._in_use is not None
    killed._in_use.close()  # as the end of a process does
    for store in (killed, alive):
        os.utime(store._made_folder() / "lock", (0, 0))
    await runner_of(store_at(None), dummy()).stop()
    assert len(listed(tmp_path)) == 3, "a runner that does not run removes nothing"
    runner = runner_of(store_at(None), dummy())
    runner.start()
    await wait_until_async(lambda: {*tmp_path.iterdir()} == {other, alive._made})
    await runner.stop()
    alive.close()


async def test_a_folder_that_somebody_removes_is_made_again(
    tmp_path: Path, open_runner: OpenRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for folder in (tmp_path / "jobs", None):
        store = store_at(folder)
        runner = open_runner(dummy(), store)
        job = await finished(runner, await runner.submit(job_of(), LONG))
        root = store._made_folder()
        await wait_until_async(lambda files=root / job.id: len(listed(files)) == 3)  # type: ignore[misc]
        shutil.rmtree(root)
        assert not [*store.ids()]
        assert (await finished(runner, await runner.submit(job_of(), LONG))).state == "done"
        await runner.stop()


async def test_without_a_folder_jobs_are_gone_after_the_end(
    tmp_path: Path, open_runner: OpenRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    store = store_at(None)
    assert store.folder is None
    runner = open_runner(dummy(), store)
    await finished(runner, await runner.submit(job_of(), b"Go.\n"))
    folder = tmp_path / listed(tmp_path)[0]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await runner.stop()
    assert not folder.exists()


@pytest.mark.parametrize("job_id", ["../../etc", "", "a" * 31, "A" * 32, "/etc/passwd"])
def test_an_id_that_is_none_leads_nowhere(tmp_path: Path, job_id: str) -> None:
    store = store_at(tmp_path)
    assert store.get(job_id) is None


def test_records_survive_their_file() -> None:
    job = job_of(columns=("a", "b"), file_name="Été 🎉.txt", glossary=(("a", ("b", "c")),))
    assert from_json(to_json(job)) == job
    for broken in ("", "[]", "{}", '{"id": 1', "null"):
        with pytest.raises(ValueError, match=r"."):
            from_json(broken)
