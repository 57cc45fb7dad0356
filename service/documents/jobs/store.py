"""Jobs on disk: one folder each, with files that only the server's user can read.

A process that works on a job holds a lock on its file `lock`; the lock ends with the process, so that another one, or
the next one, continues the job. Records are replaced as a whole. Paths hold random ids only, never a name of a user.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from service.documents.format import MIB
from service.documents.jobs.job import JOB_ID, Job, doubts_to_json, from_json, to_json, with_doubts
from service.whole_file import write_whole

TEMPORARY = "translucent-jobs-"
SETTLED_SECONDS = 2.0
RECORD, INPUT, OUTPUT, PARTS, LOCK, CANCEL = "job.json", "input", "output", "parts.", "lock", "cancel"
DOUBTS = "doubts.json"  # what a job says of its translation, in words of it
FURTHER_FILES = 3  # times the size of a document that its parts, its translation and a draft of that may need
LEAST_FREE = 65_536  # bytes for records


class StoreFull(Exception):
    """There are as many jobs as may be kept."""


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """The most that all jobs together may use."""

    jobs: int = 1000
    bytes: int = 2048 * MIB


FOR_THE_OWNER = 0o600  # the mode of every file


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, FOR_THE_OWNER)


def locked(path: Path) -> BinaryIO | None:
    """Return a file that is locked until it is closed; None if another process has it, or if its folder is gone."""
    try:
        with contextlib.ExitStack() as undo:
            file = undo.enter_context(open(path, "ab", opener=_for_the_owner))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            undo.pop_all()
            return file
    except OSError:
        return None


def temporary_folder() -> Path:
    """Return the folder for temporary files, also while it is full: tempfile would choose another one then, or fail."""
    return Path(os.environ.get("TMPDIR") or "/tmp")


def remove_left_behind() -> None:
    """Remove the temporary folders of our servers that were killed, and could not do it themselves."""
    for folder in temporary_folder().glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
                continue
            if time.time() - (folder / LOCK).lstat().st_mtime < SETTLED_SECONDS:  # it may not be locked yet
                continue
            claim = locked(folder / LOCK)
            if claim is not None:
                shutil.rmtree(folder, ignore_errors=True)
                claim.close()


class JobStore:
    """The jobs in a folder; without one, in a temporary folder that `close` removes."""

    def __init__(
        self, folder: Path | None, room: StoreLimits, retention_seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._given = folder
        self._made: Path | None = None
        self._in_use: BinaryIO | None = None  # of a temporary folder
        self._making = threading.Lock()
        self.room = room
        self.retention_seconds = retention_seconds
        self.clock = clock

    @property
    def folder(self) -> Path | None:
        """Return the folder of the jobs, which may not be there; None if none has been made."""
        return self._given or self._made

    def _folder_of(self, job_id: str) -> Path:
        """Return the folder of a job; raise FileNotFoundError if there are no jobs."""
        if self.folder is None:
            raise FileNotFoundError
        return self.folder / job_id

    def _made_folder(self) -> Path:
        """Return the folder of the jobs, which is made if there is none; somebody may have removed it."""
        with self._making:
            if self._given is not None:
                self._given.mkdir(mode=0o700, parents=True, exist_ok=True)
                return self._given
            if self._made is None or not self._made.is_dir():
                if self._in_use is not None:
                    self._in_use.close()
                self._made = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=temporary_folder()))
                self._in_use = locked(self._made / LOCK)
            return self._made

    def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        if self._given is None and self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)
            self._made = None
            if self._in_use is not None:
                self._in_use.close()

    def add(self, job: Job, data: bytes) -> None:
        """Keep a new job; raise StoreFull or OSError."""
        root = self._made_folder()
        ids = [*self.ids()]
        if len(ids) >= self.room.jobs or self._size(ids) + len(data) > self.room.bytes:
            raise StoreFull
        folder = root / job.id
        folder.mkdir(mode=0o700)
        try:
            write_whole(folder / INPUT, data, FOR_THE_OWNER)
            self.save(job)
            if shutil.disk_usage(folder).free < len(data) * FURTHER_FILES + LEAST_FREE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self.remove(job.id)
            raise

    def _size(self, ids: Iterable[str]) -> int:
        """Return the bytes of all files of jobs."""
        size = 0
        for job_id in ids:
            with contextlib.suppress(OSError), os.scandir(self._folder_of(job_id)) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        size += entry.stat(follow_symlinks=False).st_size
        return size

    def save(self, job: Job) -> None:
        """Replace the record of a job."""
        record = to_json(job).encode("utf-8", "surrogatepass")
        write_whole(self._folder_of(job.id) / RECORD, record, FOR_THE_OWNER)

    def get(self, job_id: str) -> Job | None:
        """Return a job; None if there is none of this id, or if it has been cancelled."""
        if self.folder is None or not JOB_ID.fullmatch(job_id):
            return None
        folder = self.folder / job_id
        try:
            if (folder / CANCEL).exists():
                return None
            job = from_json((folder / RECORD).read_text("utf-8", "surrogatepass"))
            if not job.is_finished or not (folder / DOUBTS).exists():
                return job
            return with_doubts(job, (folder / DOUBTS).read_text("utf-8", "surrogatepass"))
        except (OSError, ValueError):
            return None

    def ids(self) -> Iterator[str]:
        """Yield the ids of all jobs."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder_of("")) as entries:
            yield from [entry.name for entry in entries if JOB_ID.fullmatch(entry.name)]

    def claim(self, job_id: str) -> BinaryIO | None:
        """Return the right to work on a job, or None if another process has it, or if the job is gone."""
        return locked(self._folder_of(job_id) / LOCK)

    def read_input(self, job: Job) -> bytes:
        """Return the document of a job."""
        return (self._folder_of(job.id) / INPUT).read_bytes()

    def read_output(self, job: Job) -> bytes:
        """Return the translated document of a job that is done."""
        return (self._folder_of(job.id) / OUTPUT).read_bytes()

    def finish(self, job: Job, output: bytes | None) -> None:
        """Keep the result, and delete what is no longer needed: the document, and the parts of its translation."""
        folder = self._folder_of(job.id)
        job = replace(job, glossary=None)
        if output is not None:
            write_whole(folder / OUTPUT, output, FOR_THE_OWNER)
            if doubts := doubts_to_json(job):
                write_whole(folder / DOUBTS, doubts.encode("utf-8", "surrogatepass"), FOR_THE_OWNER)
            self.save(job)
        for path in (folder / INPUT, *folder.glob(f"{PARTS}*")):
            path.unlink(missing_ok=True)
        if output is None:  # after the others, which may have filled the disk
            self.save(job)

    def add_parts(self, job: Job, digest: str, parts: Mapping[str, object]) -> None:
        """Keep a part of the translation that models and a glossary of a digest made, so that it survives a restart."""
        with open(self._folder_of(job.id) / f"{PARTS}{digest}", "ab", opener=_for_the_owner) as file:
            # A line of its own also after one that was cut off.
            file.write(b"\n" + json.dumps(dict(parts), ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def parts(self, job: Job, digest: str) -> dict[str, Any]:
        """Return what was translated before a restart; a line that was cut off is left out."""
        stored: dict[str, Any] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in (self._folder_of(job.id) / f"{PARTS}{digest}").read_bytes().split(b"\n"):
                with contextlib.suppress(ValueError):
                    stored.update(json.loads(line))
        return stored

    def cancel(self, job_id: str) -> None:
        """Mark a job as cancelled, for the process that works on it."""
        with contextlib.suppress(FileNotFoundError):
            (self._folder_of(job_id) / CANCEL).touch(0o600)

    def is_cancelled(self, job_id: str) -> bool:
        """Return whether a job was cancelled or removed."""
        folder = self._folder_of(job_id)
        return (folder / CANCEL).exists() or not (folder / RECORD).exists()

    def remove(self, job_id: str) -> None:
        """Delete all files of a job, its record first: without the mark of a cancelled job it would be found again."""
        folder = self._folder_of(job_id)
        with contextlib.suppress(OSError):
            (folder / RECORD).unlink()
        shutil.rmtree(folder, ignore_errors=True)

    def expire(self) -> int:
        """Delete the jobs whose time is over, and what is left of broken ones; return their number."""
        removed = 0
        for job_id in self.ids():
            job = self.get(job_id)
            if job is None:
                over = self._age(job_id) > self.retention_seconds or (self._folder_of(job_id) / CANCEL).exists()
            else:
                over = self.clock() > job.expires(self.retention_seconds)
            claim = self.claim(job_id) if over else None
            if claim is not None:
                self.remove(job_id)
                claim.close()
                removed += 1
        return removed

    def _age(self, job_id: str) -> float:
        try:
            return self.clock() - (self._folder_of(job_id)).stat().st_mtime
        except OSError:
            return 0.0
