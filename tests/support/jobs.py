"""Jobs of documents without a server: translators that wait for permission, stores and records."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from service.documents.jobs.job import Job, new_id
from service.documents.jobs.runner import JobRunner, RunnerOptions
from service.documents.jobs.store import JobStore, StoreLimits
from service.documents.sandbox.reader import DocumentReader
from service.documents.translating import WindowTimeouts
from service.engine import (
    Glossary,
    ModelInfo,
    SentenceQuality,
    Term,
    Translation,
    TranslationOptions,
    UnsupportedPair,
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

    def keep(self) -> AbstractContextManager[None]:
        return nullcontext()

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


def gate(calls: int, **values: object) -> Gate:
    """Return a translator that may be called so many times."""
    return Gate(allowed=asyncio.Semaphore(calls), **values)  # type: ignore[arg-type]


class Models:
    """The engine of a runner, with one model; its own glossary has one accepted form."""

    def __init__(self, translator: Gate | DummyTranslator, form: str) -> None:
        self.translator = translator
        self.form = form

    def legs(self, source: str, target: str, model: str | None) -> Sequence[Gate | DummyTranslator]:
        if target == "xx":
            raise UnsupportedPair("There is no model into xx.")
        return () if source == target else (self.translator,)

    async def glossary(self, job: Job) -> Glossary | None:
        if job.glossary is None:
            return None
        entries = (("Sentence", (self.form,)),) if isinstance(job.glossary, str) else job.glossary
        return Glossary([Term(source, forms) for source, forms in entries])

    async def detect(self, text: str) -> str | None:
        return "en" if "Sentence" in text else None


def dummy() -> DummyTranslator:
    return DummyTranslator(info_of("transformer-en-fr"))


def job_of(**values: object) -> Job:
    given = {"id": new_id(), "format": "txt", "file_name": "a.txt", "source": "en", "target": "fr", "created": 0.0}
    return Job(**{**given, **values})  # type: ignore[arg-type]


def store_at(folder: Path | None, clock: Callable[[], float] = time.time) -> JobStore:
    return JobStore(folder, StoreLimits(10, 1_000_000), 7200.0, clock)


def runner_of(
    store: JobStore, translator: Gate | DummyTranslator, form: str = "Satz", reader: DocumentReader | None = None
) -> JobRunner:
    options = RunnerOptions(timeouts=WindowTimeouts(5.0, 5.0), slots=2, poll_seconds=0.02)
    return JobRunner(store, Models(translator, form), options, reader)


async def finished(runner: JobRunner, job: Job) -> Job:
    found = await runner.wait(job.id)
    assert found is not None
    return found


def listed(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]
