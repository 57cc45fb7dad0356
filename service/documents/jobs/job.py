"""The record of one job, as it is kept on disk; it holds no text of the document.

What a job says about its translation in words of it is kept beside the record, and deleted with the translation.
"""

import json
import re
import secrets
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from service.engine import DocumentFields

Entries = tuple[tuple[str, tuple[str, ...]], ...]  # source terms and the accepted forms of their target terms
State = Literal["queued", "running", "done", "failed"]
FINISHED: frozenset[State] = frozenset({"done", "failed"})
LINK_SECONDS = 3600.0
DOUBTS = ("doubtful", "formality_note", "kept")
JOB_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class Job(DocumentFields):
    """The translation of one document."""

    id: str  # 128 random bits: whoever knows it may fetch the job where no API keys are used
    format: str
    file_name: str  # what the client calls the document; for its download only
    source: str  # a language or `auto`
    target: str
    created: float  # seconds since 1970
    model: str | None = None
    columns: tuple[str, ...] = ()
    header: bool = False
    metadata: bool = True
    glossary: str | Entries | None = None  # the name of a glossary of the server, or entries; until it is finished
    encoding: str | None = None  # what the document was read as, if that is not UTF-8; for people
    owner: str | None = None  # SHA-256 of the API key that sent it
    linked: bool = False  # whether /download_file/ID gives it to everyone with the link, as LibreTranslate does
    state: State = "queued"
    finished: float | None = None
    detected: str | None = None
    segments: int = 0
    segments_done: int = 0
    attempts: int = 0  # starts since its last progress
    quality: float | None = None  # the share of the document that is expected to be usable
    doubtful: tuple[tuple[int, float, str, str], ...] = ()  # of service.documents.translating
    formality_note: str | None = None  # what is missing of the formality that was asked for
    kept: tuple[str, ...] = ()  # texts of cells that stay as they are, as something finds them by their words
    error_code: str | None = None
    error: str | None = None

    @property
    def is_finished(self) -> bool:
        """Return whether nothing more will happen to it."""
        return self.state in FINISHED

    def expires(self, retention_seconds: float) -> float:
        """Return the time after which its files are deleted; a link that needs no key lives an hour at most."""
        seconds = min(retention_seconds, LINK_SECONDS) if self.linked else retention_seconds
        return (self.finished or self.created) + seconds


def new_id() -> str:
    """Return a new random id."""
    return secrets.token_hex(16)


def to_json(job: Job) -> str:
    """Return the record as JSON."""
    return json.dumps({name: value for name, value in asdict(job).items() if name not in DOUBTS}, ensure_ascii=False)


def doubts_to_json(job: Job) -> str:
    """Return what quotes the translation as JSON; an empty string if there is nothing."""
    doubts = {name: getattr(job, name) for name in DOUBTS}
    return json.dumps(doubts, ensure_ascii=False) if any(doubts.values()) else ""


def with_doubts(job: Job, text: str) -> Job:
    """Return a job with what quotes its translation; raise ValueError."""
    values = json.loads(text)
    return replace(job, **{name: _tuples(values.get(name)) for name in DOUBTS})


def from_json(text: str) -> Job:
    """Return the record in some JSON; raise ValueError for anything else."""
    try:
        values = json.loads(text)
        return Job(**{each.name: _tuples(values[each.name]) for each in fields(Job) if each.name in values})
    except TypeError as error:
        raise ValueError("not the record of a job") from error


def _tuples(value: Any) -> Any:
    """Return a value of JSON with tuples for lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
