"""Shared by the routes of documents: reading the form, finding a job, and sending a file."""

import hmac
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends
from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticKnownError
from starlette.requests import Request
from starlette.responses import Response

from service.api.checks import AUTO, check_languages, served_pair
from service.api.context import RequestContext
from service.api.errors import ApiError, invalid, status_of, status_of_code
from service.api.request_body import UploadedFile
from service.api.schemas.common import ApiKey, Decoding, Glossary, Text
from service.api.state import Service
from service.documents.encodings import name_of_encoding
from service.documents.format import (
    check_file_size,
    format_named,
    format_of,
    limits_of,
    translated_name,
    written_extension,
)
from service.documents.jobs.files import in_files
from service.documents.jobs.job import Job, new_id
from service.documents.jobs.runner import NO_ROOM, JobRunner, JobsUnavailable
from service.documents.jobs.store import StoreFull
from service.engine import DocumentFields, TextTranslator
from service.engine import Glossary as LoadedGlossary
from service.logs import describe_exception, get_logger

log = get_logger(__name__)

MOST_NAME = 200  # characters of a file name that are kept


def uploaded(value: object) -> UploadedFile:
    """Return a file; raise pydantic's error for a missing field if it is anything else."""
    if not isinstance(value, UploadedFile):
        raise PydanticKnownError("missing")
    return value


class DocumentRequest(Decoding, DocumentFields):
    """A document, and how to translate it."""

    file: Annotated[
        Any, BeforeValidator(uploaded), WithJsonSchema({"type": "string", "format": "binary"})
    ] = Field(description="The document; its name says its format")  # fmt: skip
    source: Text = Field(description="Language of the document, such as `en`, or `auto`")
    target: Text = Field(description="Target language, such as `fr` or `pt-BR`")
    glossary: Glossary = None
    columns: str | None = Field(
        None, description="csv only: columns to translate, by name or number from 1, separated by commas; default: all"
    )
    header: bool = Field(False, description="csv only: translate the first row, too; it has the names of the columns")
    metadata: bool = Field(
        True,
        description="Translate what describes a page beside its text: alt, title, placeholder and description of html, "
        "title of epub, title and description of md",
    )
    api_key: ApiKey = None


SENT = DocumentRequest.model_fields.keys() & Job.__dataclass_fields__.keys() - {"source", "target", "columns"}  # as is


class ServiceEngine:
    """The models of the service, for jobs."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def legs(self, source: str, target: str, model: str | None) -> Sequence[TextTranslator]:
        """Return the models of a pair, one after the other; none if both are one language."""
        languages = self._service.languages
        pair = languages.pair(source, target, direct=bool(model)) or (source, target)
        if pair[0] == pair[1]:
            return ()
        return self._service.legs(*pair, model)

    async def glossary(self, job: Job) -> LoadedGlossary | None:
        """Return the glossary of a job whose source language is known; raise InvalidGlossary."""
        if job.glossary is None:
            return None
        source = job.detected or job.source
        pair = self._service.languages.pair(source, job.target, direct=bool(job.model)) or (source, job.target)
        return await self._service.glossary(job.glossary, pair, self._service.legs(*pair, job.model))

    async def detect(self, text: str) -> str | None:
        """Return the language of a text among those that are served, or None."""
        [guesses] = await self._service.detect([text])
        return guesses[0].language if guesses and guesses[0].confidence else None


async def jobs_if_offered(request: Request) -> JobRunner:
    """Return the jobs; raise ApiError if the operator has switched documents off, in LibreTranslate's words."""
    if not request.app.state.service.settings.max_file_mb:
        raise ApiError("Files translation are disabled on this server.", status=403, code="not_offered")
    jobs: JobRunner = request.app.state.jobs
    return jobs


OfferedJobsDep = Annotated[JobRunner, Depends(jobs_if_offered)]


async def job_of(request: DocumentRequest, service: Service, context: RequestContext, *, linked: bool = False) -> Job:
    """Return the job that a form asks for, checked in LibreTranslate's order; raise ApiError."""
    file: UploadedFile = request.file
    if not file.name or not file.content:
        raise invalid("empty file", "missing_parameter", "file")
    form = format_of(file.name)
    languages = service.languages
    auto = request.source.lower() == AUTO
    check_languages(languages, **({} if auto else {"source": request.source}), target=request.target)
    source, target = (AUTO, languages.match(request.target) or request.target) if auto else ("", "")
    if not auto:
        source, target = served_pair(request.source, request.target, languages, request.model)
        if source != target:
            service.legs(source, target, request.model)
    check_file_size(len(file.content), limits_of(service.settings))
    context.texts, context.model = 1, request.model if request.model and not auto else None
    job = Job(
        id=new_id(),
        format=form.name,
        file_name=PurePath(file.name.replace("\\", "/")).name[-MOST_NAME:],
        source=source,
        target=target,
        created=0.0,
        columns=tuple(name.strip() for name in (request.columns or "").split(",") if name.strip()),
        **request.model_dump(include=SENT),
        owner=context.key_hash,
        linked=linked,
    )
    if source not in (AUTO, target):  # otherwise it is checked once the language is known
        await ServiceEngine(service).glossary(job)
    return job


async def submit(jobs: JobRunner, job: Job, content: bytes) -> Job:
    """Keep a job and run it soon; raise ApiError (503) if there is no room for it."""
    try:
        encoding = await in_files(lambda: name_of_encoding(content))
        return await jobs.submit(replace(job, encoding=encoding), content)
    except StoreFull:
        raise ApiError(
            "The server keeps as many documents as it may; delete finished jobs, or try again later.",
            status=503,
            code="jobs_full",
            headers={"Retry-After": "30"},
        ) from None
    except OSError as error:
        log.error("jobs cannot be written; see TRANSLUCENT_JOBS_DIR", **describe_exception(error))
        raise ApiError(
            NO_ROOM,
            status=status_of(JobsUnavailable),
            code=JobsUnavailable.code,
            headers={"Retry-After": "30"},
        ) from None


async def find(jobs: JobRunner, job_id: str) -> Job | None:
    """Return a job, or None if there is none of this id."""
    return await in_files(lambda: jobs.store.get(job_id))


async def find_own(jobs: JobRunner, job_id: str, context: RequestContext) -> Job:
    """Return a job of the caller; raise ApiError (404), also for a job that was sent with another API key."""
    job = await find(jobs, job_id)
    if job is None or (job.owner is not None and not hmac.compare_digest(job.owner, context.key_hash or "")):
        raise unknown_job()
    return job


def unknown_job() -> ApiError:
    """Return the error for a job that does not exist, has expired, or belongs to another key."""
    return ApiError(
        "There is no such job: it may have expired, been deleted, or been sent with another API key.",
        status=404,
        code="unknown_job",
    )


def failure(job: Job | None) -> ApiError:
    """Return the error of a job that failed."""
    if job is None:
        return unknown_job()
    return ApiError(str(job.error), status=status_of_code(job.error_code), code=str(job.error_code))


async def file_response(jobs: JobRunner, job: Job) -> Response:
    """Return the translated document, named after the original and the language."""
    try:
        content = await in_files(lambda: jobs.store.read_output(job))
    except OSError:
        raise unknown_job() from None
    name = translated_name(job.file_name, job.target)
    plain = f"document.{job.target}{written_extension(job.file_name)}".encode("ascii", "ignore").decode()
    headers = {"Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type=format_named(job.format).media_type, headers=headers)
