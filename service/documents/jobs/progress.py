"""The finished part of a job, on disk, from where it goes on after a restart."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace

from service.documents.jobs.files import in_files
from service.documents.jobs.job import Job
from service.documents.jobs.store import JobStore
from service.documents.translating import TranslatedSegment
from service.engine import Glossary, TextTranslator


def digest_of(legs: Sequence[TextTranslator], glossary: Glossary | None) -> str:
    """Return the digest of what the parts of a translation depend on; those of another are not used after a restart."""
    made_by = [*(leg.info.digest for leg in legs), "" if glossary is None else repr(glossary.terms)]
    return hashlib.sha256("\n".join(made_by).encode("utf-8", "replace")).hexdigest()


class Progress:
    """Keeps what is translated."""

    def __init__(self, store: JobStore, job: Job, digest: str) -> None:
        self._store = store
        self._digest = digest
        self.job = job

    async def begin(self) -> dict[str, TranslatedSegment]:
        """Return the translations from before a restart, unless another model or glossary made them."""
        parts = await in_files(lambda: self._store.parts(self.job, self._digest))
        await self._save(replace(self.job, segments_done=min(len(parts), self.job.segments)))
        return {segment: TranslatedSegment(*part) for segment, part in parts.items()}

    async def add(self, window: dict[str, TranslatedSegment]) -> None:
        """Keep a window; raise CancelledError if another process has cancelled the job."""
        if await in_files(lambda: self._store.is_cancelled(self.job.id)):
            raise asyncio.CancelledError
        await in_files(lambda: self._store.add_parts(self.job, self._digest, window))
        done = min(self.job.segments_done + len(window), self.job.segments)
        await self._save(replace(self.job, segments_done=done, attempts=0))

    async def _save(self, job: Job) -> None:
        self.job = job
        await in_files(lambda: self._store.save(job))
