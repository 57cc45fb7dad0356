"""/jobs: documents that are translated in the background."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import JSONResponse, Response

from service.api.direct_route import ContextDep, DirectRoute, JobsDep, ServiceDep
from service.api.documents import (
    DocumentRequest,
    OfferedJobsDep,
    failure,
    file_response,
    find_own,
    job_of,
    submit,
)
from service.api.errors import ApiError
from service.api.openapi import errors_of
from service.api.rendering import timestamp
from service.api.schemas.common import Schema
from service.documents.format import translated_name
from service.documents.jobs.job import Job
from service.documents.jobs.runner import JobRunner

router = APIRouter(tags=["Documents"], route_class=DirectRoute)


class JobProgress(Schema):
    """The progress of a job."""

    segments: int = Field(description="Segments of the document: paragraphs, cells, cues; 0 until it has been read")
    segments_done: int = Field(description="Segments that are translated")


class JobError(Schema):
    """Why a job failed."""

    error: str = Field(description="What went wrong, and what to do")
    code: str = Field(description="A stable word for programs")


class DoubtfulSegment(Schema):
    """A segment that a person should check."""

    segment: int = Field(ge=1, description="Its number in the document, from 1")
    quality: float = Field(ge=0, le=1)
    translation: str = Field(description="The beginning of its translation, by which it can be found in the file")
    source: str = Field("", description="The beginning of the segment itself")


class JobQuality(Schema):
    """How far the translation can be relied on."""

    mean: float = Field(ge=0, le=1, description="Share of the document that is expected to be usable")
    doubtful: list[DoubtfulSegment] = Field(
        description="Segments with a quality below 0.3, the worst first, at most 100"
    )


class JobSchema(Schema):
    """A job."""

    id: str = Field(description="Random; needed for every further request about the job")
    state: Literal["queued", "running", "done", "failed"]
    format: str
    source: str
    target: str
    detected: str | None = Field(None, description="The language that was recognised; only for `source=auto`")
    created: str = Field(description="ISO 8601, UTC")
    expires: str = Field(description="When its files are deleted, if nothing changes until then")
    progress: JobProgress
    quality: Annotated[JobQuality | None, Field(description="Once the job is done, if the model gives a quality")] = (
        None
    )
    formality_note: str | None = Field(
        None, description="Once the job is done: how many segments do not have the formality that was asked for"
    )
    kept: list[str] | None = Field(
        None,
        description="Once the job is done: texts of cells that stay as they are, because a table, a formula, a list of "
        "allowed values or a filter finds them by their words; at most 100",
    )
    error: Annotated[JobError | None, Field(description="Only if it failed")] = None
    encoding: str | None = Field(None, description="What the document was read as, if it is not UTF-8")
    file: str | None = Field(None, description="Path of the translated document, once the job is done")
    file_name: str | None = Field(None, description="Name of the translated document, once the job is done")


def answer(job: Job, jobs: JobRunner, status: int = 200) -> JSONResponse:
    """Return a job for its owner as JSON, without the fields that it does not have."""
    quality = None
    if job.quality is not None:
        names = ("segment", "quality", "translation", "source")
        # A job of an earlier version has no source.
        doubtful = [dict(zip(names, segment, strict=False)) for segment in job.doubtful]
        quality = {"mean": job.quality, "doubtful": doubtful}
    content = {
        **{name: getattr(job, name) for name in ("id", "state", "format", "source", "target", "detected")},
        "created": timestamp(job.created),
        "expires": timestamp(job.expires(jobs.store.retention_seconds)),
        "progress": {"segments": job.segments, "segments_done": job.segments_done},
        "quality": quality,
        "formality_note": job.formality_note,
        "kept": list(job.kept) or None,
        "error": {"error": job.error or "", "code": job.error_code or ""} if job.state == "failed" else None,
        "encoding": job.encoding,
        "file": f"/jobs/{job.id}/file" if job.state == "done" else None,
        "file_name": translated_name(job.file_name, job.target) if job.state == "done" else None,
    }
    known = {name: value for name, value in content.items() if value is not None}
    return JSONResponse(known, status_code=status)


@router.post(
    "/jobs",
    status_code=202,
    response_model=JobSchema,
    responses={
        202: {"description": "The job is accepted"},
        **errors_of(404),
    },
)
async def create_job(
    jobs: OfferedJobsDep, fields: DocumentRequest, service: ServiceDep, context: ContextDep
) -> JSONResponse:
    """Translate a document in the background; its format is that of its name. `GET /jobs/{id}` says how far it is."""
    job = await submit(jobs, await job_of(fields, service, context), fields.file.content)
    response = answer(job, jobs, 202)
    response.headers["Location"] = f"/jobs/{job.id}"
    return response


@router.get("/jobs/{job_id}", response_model=JobSchema, responses=errors_of(503))
async def get_job(job_id: str, context: ContextDep, jobs: JobsDep) -> JSONResponse:
    """Return the state of a job; with API keys, only to the key that sent it."""
    return answer(await find_own(jobs, job_id, context), jobs)


@router.get(
    "/jobs/{job_id}/file",
    response_class=Response,
    responses={
        200: {
            "description": "The translated document",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        **errors_of(409, 413, 501, 503, 504),
    },
)
async def get_job_file(job_id: str, context: ContextDep, jobs: JobsDep) -> Response:
    """Return the translated document of a job; 409 while it is not done, and the error of a job that failed."""
    job = await find_own(jobs, job_id, context)
    if job.state == "failed":
        raise failure(job)
    if job.state != "done":
        raise ApiError(
            f"The job is {job.state}; ask GET /jobs/ID until its state is done.", status=409, code="job_not_done"
        )
    return await file_response(jobs, job)


@router.delete(
    "/jobs/{job_id}",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "The job and its files are deleted"}, **errors_of(503)},
)
async def delete_job(job_id: str, context: ContextDep, jobs: JobsDep) -> Response:
    """Cancel a job and free what it uses in the engine, or delete a finished one, with its files."""
    job = await find_own(jobs, job_id, context)
    await jobs.cancel(job.id)
    return Response(status_code=204)
