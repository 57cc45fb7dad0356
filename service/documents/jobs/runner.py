"""Runs jobs: a few at a time, those of this process and those that another process or an earlier run has left.

A job that is cancelled frees its rows in the engine at once. A job that is running when the process stops stays on
disk, with the part that is translated.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol

from service.documents.errors import DocumentError
from service.documents.format import Limits, ReadOptions
from service.documents.jobs.files import in_files
from service.documents.jobs.job import Job
from service.documents.jobs.progress import Progress, digest_of
from service.documents.jobs.store import JobStore, remove_left_behind
from service.documents.sandbox.reader import DocumentReader
from service.documents.translating import (
    TranslatedSegment,
    WindowTimeouts,
    doubtful_segments,
    note_of,
    quality_of,
    sample,
    translate_segments,
)
from service.engine import (
    TEXT_POOL,
    EngineError,
    Glossary,
    NotReady,
    TextTranslator,
    TranslationOptions,
    kept,
    result_owner,
    trim_memory,
)
from service.logs import describe_exception, get_logger

log = get_logger(__name__)

POLL_SECONDS = 2.0
AUTO = "auto"
MOST_ATTEMPTS = 3  # a document that ends the server, which none should, is not tried for ever
FAILED = "The server failed on this document. Send it again; if that fails again, ask the operator."
NO_ROOM = "The server has no room to keep this document at present; try again later, or ask the operator."


class JobsUnavailable(NotReady):
    """The disk of the jobs is full or cannot be written."""


class Engine(Protocol):
    """The parts of the server that jobs use."""

    def legs(self, source: str, target: str, model: str | None) -> Sequence[TextTranslator]:
        """Return the models of a pair, one after the other; none if both are one language. Raise EngineError."""

    async def detect(self, text: str) -> str | None:
        """Return the language of a text among those that are served, or None."""

    async def glossary(self, job: Job) -> Glossary | None:
        """Return the glossary of a job; raise EngineError."""


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    """The settings with which jobs run."""

    limits: Limits = field(default_factory=Limits)
    timeouts: WindowTimeouts = field(default_factory=WindowTimeouts)
    slots: int = 2  # jobs that run at one time in this process
    poll_seconds: float = POLL_SECONDS


class JobRunner:
    """The jobs of one process; each document is read and written in a process of its own."""

    def __init__(
        self, store: JobStore, engine: Engine, options: RunnerOptions, reader: DocumentReader | None = None
    ) -> None:
        self.store = store
        self._engine = engine
        self._options = options
        self._reader = reader or DocumentReader()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._finished: set[str] = set()
        self._changed = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Begin to run jobs, also those that an earlier process has left."""
        if self._loop is None and not self._stopping:
            self._reader.start()
            self._loop = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; jobs that are running stay on disk for the next process."""
        self._stopping = True
        tasks = [task for task in (self._loop, *self._running.values()) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._reader.stop()
        self.store.close()

    async def submit(self, job: Job, data: bytes) -> Job:
        """Keep a job and run it soon; return it with its time. Raise StoreFull or OSError."""
        job = replace(job, created=self.store.clock())
        await in_files(lambda: self.store.add(job, data))
        self.start()
        self._wake()
        return job

    async def wait(self, job_id: str) -> Job | None:
        """Return a job once it is finished; None if it is gone."""
        while True:
            changed = self._changed
            job = await in_files(lambda: self.store.get(job_id))
            if job is None or job.is_finished:
                return job
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.poll_seconds):
                    await changed.wait()

    async def cancel(self, job_id: str) -> None:
        """Cancel a job and delete its files; if another process works on it, that one deletes them soon."""
        await in_files(lambda: self.store.cancel(job_id))
        task = self._running.get(job_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            return
        await in_files(self.store.expire)

    def _wake(self) -> None:
        """Wake all waiting tasks: something has changed."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _run(self) -> None:
        with contextlib.suppress(OSError):
            await in_files(remove_left_behind)
        expired = -math.inf
        while True:
            changed = self._changed
            try:
                if time.monotonic() - expired >= self._options.poll_seconds:
                    await in_files(self.store.expire)
                    expired = time.monotonic()
                await self._begin_jobs()
            except Exception as error:  # otherwise no document would be translated until the restart
                log.error("jobs cannot be read", **describe_exception(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.poll_seconds):
                    await changed.wait()

    async def _begin_jobs(self) -> None:
        for job in await in_files(self._waiting):
            if len(self._running) >= self._options.slots:
                return
            claim = None if job.id in self._running else await in_files(lambda job=job: self.store.claim(job.id))  # type: ignore[misc]
            if claim is not None:
                self._running[job.id] = asyncio.create_task(self._work(job.id, claim))

    def _waiting(self) -> list[Job]:
        """Return the jobs that are not finished, the oldest first; a record that is finished is read once."""
        ids = {*self.store.ids()}
        jobs = [job for job_id in ids - self._finished if (job := self.store.get(job_id))]
        self._finished = (self._finished & ids) | {job.id for job in jobs if job.is_finished}
        return sorted((job for job in jobs if not job.is_finished), key=lambda job: job.created)

    async def _work(self, job_id: str, claim: BinaryIO) -> None:
        outcome = None
        job = None
        try:
            job = await in_files(lambda: self.store.get(job_id))
            if job is None or job.is_finished:
                return
            outcome = await self._translate(job)
            await in_files(trim_memory)
        except asyncio.CancelledError:
            if not self._stopping:
                outcome = "cancelled"
            raise
        finally:
            if outcome == "cancelled":
                await in_files(lambda: self.store.remove(job_id))
            claim.close()
            del self._running[job_id]
            if outcome is not None and job is not None:
                log.info("document", job=job_id[:8], format=job.format, outcome=outcome)
            self._wake()

    async def _translate(self, job: Job) -> str:
        """Translate a job and keep its result; return its outcome."""
        try:
            return await self._translated(job)
        except EngineError as error:
            await self._fail(job, error)
            return "refused" if isinstance(error, DocumentError) else "failed"
        except OSError as error:
            log.error("jobs cannot be written; see TRANSLUCENT_JOBS_DIR", **describe_exception(error))
            await self._fail(job, JobsUnavailable(NO_ROOM))
        except Exception as error:
            log.error("a document failed", format=job.format, **describe_exception(error))
            await self._fail(job, EngineError(FAILED))
        return "failed"

    async def _fail(self, job: Job, error: EngineError) -> None:
        now = self.store.clock()
        failed = replace(job, state="failed", error=error.message, error_code=error.code, finished=now)
        with contextlib.suppress(OSError):
            await in_files(lambda: self.store.finish(failed, None))

    async def _translated(self, job: Job) -> str:
        if job.attempts >= MOST_ATTEMPTS:
            raise DocumentError("The server ended several times while it worked on this document, and gives it up.")
        job = replace(job, state="running", attempts=job.attempts + 1)
        result_owner.set(job.owner or "")
        await in_files(lambda: self.store.save(job))
        options = ReadOptions(job.target, self._options.limits, job.columns, job.header, job.metadata)
        data = await in_files(lambda: self.store.read_input(job))
        async with self._reader.open(data, job.format, options) as document:
            done, translations = await self._with_translations(job, document.segments)
            output = await document.write([each.text for each in translations])
        done = replace(done, kept=tuple(document.kept))
        await in_files(lambda: self.store.finish(done, output))
        return "done"

    async def _with_translations(self, job: Job, segments: Sequence[str]) -> tuple[Job, Sequence[TranslatedSegment]]:
        """Return a job as it is when it is done, and the translations of the segments of its document."""
        job = await self._with_source(job, segments)
        legs = self._engine.legs(job.detected or job.source, job.target, job.model)
        with kept(legs):
            glossary = await self._engine.glossary(job) if legs else None
            progress = Progress(self.store, replace(job, segments=len(segments)), digest_of(legs, glossary))
            if legs:
                known = await progress.begin()
                search = TranslationOptions.of(job, glossary=glossary)
                translations = await translate_segments(
                    legs, segments, search, timeouts=self._options.timeouts, known=known, on_window=progress.add
                )
            else:
                translations = [TranslatedSegment(segment) for segment in segments]
        done = await TEXT_POOL.run(
            lambda: replace(
                progress.job,
                state="done",
                segments_done=progress.job.segments,
                quality=quality_of(segments, translations),
                doubtful=doubtful_segments(segments, translations),
                formality_note=note_of(job.formality, segments, translations, legs),
                finished=self.store.clock(),
            )
        )
        return done, translations

    async def _with_source(self, job: Job, segments: Sequence[str]) -> Job:
        if job.source != AUTO or not segments:
            return job
        found = await self._engine.detect(await TEXT_POOL.run(lambda: sample(segments)))
        if found is None:
            raise DocumentError("The language of the document was not recognised; name it in the field source.")
        return replace(job, detected=found)
