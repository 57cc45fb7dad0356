"""Settings of documents and of their jobs."""

from __future__ import annotations

from pathlib import Path

from service.settings.connections import ConnectionSettings
from service.settings.fields import optional, setting


class DocumentSettings(ConnectionSettings):
    """Limits of documents, and where their jobs are kept."""

    documents: bool = setting(
        True,
        "Translate documents (`/translate_file`, `/jobs`); with false these routes answer 403",
        "true or false",
    )
    max_file_mb: int = setting(
        10,
        "Largest document, in MiB; a larger document gets 413",
        "a whole number from 1 to 1024",
        ge=1,
        le=1024,
    )
    max_unpacked_mb: int = setting(
        100,
        "Largest size of a packed document (docx, pptx, odt, epub) when it is unpacked, in MiB",
        "a whole number from 1 to 4096",
        ge=1,
        le=4096,
    )
    document_character_limit: int = setting(
        1_000_000, "Most characters of text in one document", "a whole number of at least 1", ge=1
    )
    document_segment_limit: int = setting(
        20_000,
        "Most segments in one document: paragraphs, cells, cues or entries",
        "a whole number of at least 1",
        ge=1,
    )
    jobs_dir: Path | None = optional(
        None,
        "Folder of jobs: documents and their translations, which only the server's user can read. Jobs in it survive a "
        "restart, and processes that share it share the jobs. Without it they are in a temporary folder that the "
        "server removes when it stops",
        "a folder",
        shown="a temporary folder",
    )
    jobs_limit: int = setting(
        1000,
        "Most jobs that are kept at one time, finished ones included; when there are more, a new one gets 503",
        "a whole number of at least 1",
        ge=1,
    )
    jobs_max_mb: int = setting(
        2048,
        "Most disk space of all jobs together, in MiB; when a document does not fit, it gets 503",
        "a whole number of at least 1",
        ge=1,
    )
    jobs_running: int = setting(
        2, "Jobs that one server process translates at one time", "a whole number from 1 to 64", ge=1, le=64
    )
    job_retention_seconds: float = setting(
        86_400.0,
        "Time after the end of a job in which its result can be fetched; then its files are deleted",
        "a number from 60 to 31536000",
        ge=60,
        le=31_536_000,
        allow_inf_nan=False,
    )
