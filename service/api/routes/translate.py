"""POST /translate: LibreTranslate-compatible, with fields of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.context import context_of
from service.api.errors import ApiError, invalid
from service.api.fields import count, flag, missing, number, optional_text, required_text, whole_number, wrong
from service.api.openapi import errors_of, query_parameters, request_body
from service.api.request_body import read_fields
from service.api.routes.languages import AUTO, check_languages, served_pair, shortened
from service.api.schemas.translate import TranslateForm, TranslateRequest, TranslateResponse
from service.api.state import service_of
from service.api.translation import Job, respond, run_job
from service.engine import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, Languages, TranslationOptions
from service.settings import Settings

router = APIRouter(tags=["Translation"])

EXAMPLES = {
    "text": {"summary": "One text", "value": {"q": "I lost.", "source": "en", "target": "fr"}},
    "list": {"summary": "A list", "value": {"q": ["Go.", "I'm home."], "source": "en", "target": "fr"}},
    "alternatives": {
        "summary": "With alternatives, of a named architecture",
        "value": {"q": "Go.", "source": "en", "target": "fr", "alternatives": 2, "model": "bahdanau"},
    },
    "html": {
        "summary": "A page, in whichever language it is",
        "value": {"q": "<p>I <b>lost</b>.</p>", "source": "auto", "target": "fr", "format": "html"},
    },
    "details": {
        "summary": "With tokens, scores and alignment, by greedy search",
        "value": {"q": "I lost.", "source": "en", "target": "fr", "details": True, "beam_size": 1},
    },
}
ANSWERS = {
    "text": {"value": {"translatedText": "J'ai perdu."}},
    "list": {"value": {"translatedText": ["Va.", "Je suis à la maison."]}},
    "alternatives": {"value": {"translatedText": "Va.", "alternatives": ["Va !", "Allez."]}},
}


@router.post(
    "/translate",
    summary="Translate a text or a list of texts",
    response_model=TranslateResponse,
    responses={
        200: {"content": {"application/json": {"examples": ANSWERS}}},
        **errors_of(400, 404, 408, 413, 415, 500, 503, 504),
    },
    openapi_extra={
        "requestBody": request_body(TranslateRequest, EXAMPLES, required=False),
        "parameters": query_parameters(TranslateForm, EXAMPLES["text"]["value"], required=False),  # type: ignore[arg-type]
    },
)
async def translate(request: Request) -> JSONResponse:
    """Translate; fields come from JSON, or from query string and form merged."""
    service = service_of(request)
    job = read_job(await read_fields(request), service.settings, Languages.of(service.registry.models()))
    context = context_of(request.scope)
    context.texts, context.characters = len(job.texts), sum(map(len, job.texts))
    return await respond(job, await run_job(request.app, job, context))


def read_job(fields: Mapping[str, Any], settings: Settings, known: Languages) -> Job:
    """Check the fields in the order that clients of this dialect expect; raises ApiError at the first that is wrong."""
    texts, is_list = read_texts(fields)
    source, target = required_text(fields, "source"), required_text(fields, "target")
    is_auto = source.lower() == AUTO
    alternatives = count(fields, "alternatives")
    check_batch(texts, settings)
    check_characters(texts, settings)
    check_languages(known, **({} if is_auto else {"source": source}), target=target)
    details = flag(fields, "details")
    html = _is_html(fields, details)
    if is_auto:
        source, target = AUTO, known.match(target) or target
    else:
        source, target = served_pair(source, target, known)
    options = TranslationOptions(
        **read_search(fields), alternatives=min(alternatives, MAX_BEAM_SIZE - 1), details=details
    )
    return Job(texts, is_list, source, target, optional_text(fields, "model"), options, html)


def read_search(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decoding options that were given, by their names in TranslationOptions."""
    given = {
        "beam_size": whole_number(fields, "beam_size", 1, MAX_BEAM_SIZE),
        "length_penalty": number(fields, "length_penalty", 0.0, MAX_LENGTH_PENALTY),
        "max_length": whole_number(fields, "max_length", 1, None),
    }
    return {name: value for name, value in given.items() if value is not None}


def read_texts(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Return the texts in `q`, and whether they were a list; raises ApiError."""
    given = fields.get("q")
    if given is None or given in ("", []):
        raise missing("q")
    if isinstance(given, str):
        return (given,), False
    if isinstance(given, list) and all(isinstance(text, str) for text in given):
        return tuple(given), True
    raise wrong("q", "must be a string or a list of strings")


def check_batch(texts: Sequence[str], settings: Settings) -> None:
    """Raise ApiError when a list has more texts than are allowed."""
    if len(texts) > settings.batch_limit:
        raise invalid(f"request ({len(texts)}) exceeds text limit ({settings.batch_limit})", "batch_limit")


def check_characters(texts: Iterable[str], settings: Settings) -> None:
    """Raise ApiError when one of the texts has more characters than are allowed; LibreTranslate counts so, too."""
    longest = max(map(len, texts), default=0)
    if longest > settings.character_limit:
        raise invalid(f"request ({longest}) exceeds text limit ({settings.character_limit})", "character_limit")


def _is_html(fields: Mapping[str, Any], details: bool) -> bool:
    wanted = (optional_text(fields, "format") or "text").lower()
    if wanted not in {"text", "html"}:
        raise ApiError(f"{shortened(wanted)} format is not supported", code="unsupported_format", param="format")
    if wanted == "html" and details:
        raise invalid("details are of plain text; send format text", "unsupported_format", "details")
    return wanted == "html"
