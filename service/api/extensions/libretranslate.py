"""Routes for LibreTranslate's own clients: settings, documents, and suggestions, which are not supported."""

import asyncio
from typing import Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service.api.checks import BATCH_LIMIT
from service.api.direct_route import ContextDep, DirectRoute, ServiceDep
from service.api.documents import (
    DocumentRequest,
    OfferedJobsDep,
    failure,
    file_response,
    find,
    job_of,
    submit,
    unknown_job,
)
from service.api.errors import ApiError
from service.api.languages import language_name
from service.api.openapi import errors_of
from service.api.schemas.common import Schema
from service.documents.format import supported_extensions, written_extension
from service.engine import DeadlineExceeded

router = APIRouter(tags=["Translation"], route_class=DirectRoute)

# The name is that of the compatible interface: milliseconds that a page waits after a key is pressed. A sentence takes
# 40 to 70 more, so that its translation is there within 300.
FRONTEND_TIMEOUT = 200


class LanguageChoice(Schema):
    """A language for display on a page."""

    code: str
    name: str


class TranslatedFile(Schema):
    """The answer to a translated document."""

    translatedFileUrl: str = Field(description="Address of the translated document, for a limited time")


class FrontendSettings(Schema):
    """Settings for a LibreTranslate page."""

    charLimit: int = Field(description="Most characters of a text")
    batchLimit: int = Field(description="Most texts in a list; an addition to LibreTranslate's fields")
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: dict[Literal["source", "target"], LanguageChoice]


@router.get("/frontend/settings", response_model=FrontendSettings)
async def get_frontend_settings(service: ServiceDep) -> JSONResponse:
    """Return the settings for a LibreTranslate page: limits, whether keys are needed, and the default languages."""
    languages = service.languages.targets
    targets = ["fr"] * ("fr" in languages) + [code for own_targets in languages.values() for code in own_targets]
    sources = {code for code, own_targets in languages.items() if len(own_targets) > 1}
    first = next((code for code in targets if code not in sources), next(iter(languages), ""))
    settings = service.settings
    return JSONResponse(
        {
            "charLimit": settings.character_limit,
            "batchLimit": BATCH_LIMIT,
            "frontendTimeout": FRONTEND_TIMEOUT,
            "apiKeys": settings.api_keys_file is not None,
            "keyRequired": settings.require_key,
            "suggestions": False,
            "filesTranslation": settings.max_file_mb > 0,
            "supportedFilesFormat": supported_extensions() if settings.max_file_mb else [],
            "language": {
                "source": {"code": "auto", "name": "Auto Detect"},
                "target": {"code": first, "name": language_name(first)},
            },
        }
    )


@router.post("/translate_file", response_model=TranslatedFile, responses=errors_of(404, 501))
async def translate_file(
    request: Request,
    jobs: OfferedJobsDep,
    fields: DocumentRequest,
    service: ServiceDep,
    context: ContextDep,
) -> JSONResponse:
    """Translate a document, wait for it and return its address; a large document is better sent to `/jobs`."""
    job = await job_of(fields, service, context, linked=True)
    await submit(jobs, job, fields.file.content)
    try:
        finished = await context.wait_for(jobs.wait(job.id))
    except DeadlineExceeded:
        await jobs.cancel(job.id)
        raise DeadlineExceeded(
            f"The document was not translated within {context.seconds:g} seconds; send it to POST /jobs, "
            "which translates it in the background."
        ) from None
    except BaseException:
        await asyncio.shield(jobs.cancel(job.id))
        raise
    if finished is None or finished.state == "failed":
        await jobs.cancel(job.id)
        raise failure(finished)
    name = f"{job.id}{written_extension(job.file_name).lower()}"
    return JSONResponse({"translatedFileUrl": str(request.url_for("download_file", name=name))})


@router.get("/download_file/{name}", include_in_schema=False)
async def download_file(name: str, jobs: OfferedJobsDep) -> Response:
    """Return a translated file; everyone who knows its address may fetch it."""
    job = await find(jobs, name.partition(".")[0])
    if job is None or not job.linked or job.state != "done":
        raise unknown_job()
    return await file_response(jobs, job)


@router.post("/suggest", status_code=403, responses=errors_of(403))
async def suggest() -> JSONResponse:
    """Refuse suggestions of better translations, which are not supported, in the words that clients know."""
    raise ApiError("Suggestions are disabled on this server.", status=403, code="not_offered")
