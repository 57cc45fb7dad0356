"""GET and POST /attention: the weights a translation was made with, as JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service.api.body import read_fields
from service.api.context import context_of
from service.api.documents import errors_of, query_parameters, request_body
from service.api.errors import ApiError, invalid
from service.api.fields import choice, optional_text, required_text
from service.api.languages import Languages
from service.api.render import render_attention
from service.api.schemas import AttentionRequest, AttentionResponse
from service.api.state import service_of
from service.api.translate import check_characters, check_languages, check_pair, read_search
from service.engine.types import AttentionOptions, Selector, TranslationOptions

router = APIRouter(tags=["Attention"])

FORMATS = ("json", "svg", "png", "html", "csv", "npz")
MEDIA_TYPES = ("application/json", "application/*", "*/*")
# A figure's address stays the same when its model changes, so a stored copy may be kept but must be asked about; the
# question costs next to nothing. It holds the text of a user: no store but that user's own may keep it.
CACHE_CONTROL = "private, max-age=0, must-revalidate"
# Beyond this, turning weights into JSON takes long enough to be noticed by other requests.
LARGE = 20_000

EXAMPLES: dict[str, Any] = {
    "own": {"summary": "Of the model's own translation", "value": {"text": "I lost.", "source": "en", "target": "fr"}},
    "forced": {
        "summary": "Of your translation",
        "value": {"text": "I lost.", "source": "en", "target": "fr", "target_text": "J'ai perdu.", "tokens": "word"},
    },
    "encoder": {
        "summary": "Every layer and head of the encoder",
        "value": {"text": "I lost.", "source": "en", "target": "fr", "kind": "encoder", "layer": "all", "head": "all"},
    },
}
ANSWER = {
    "model": "transformer-en-fr",
    "digest": "sha256:9f86d081884c7d65",
    "kind": "cross",
    "layer": "align",
    "head": "align",
    "source": {"text": "I", "tokens": [{"id": 300, "text": "I", "piece": "▁I", "start": 0, "end": 1}]},
    "target": {"text": "Je", "tokens": [{"id": 311, "text": "Je", "piece": "▁Je", "start": 0, "end": 2}]},
    "axes": ["target", "source"],
    "weights": [[1.0]],
    "score": -0.31,
    "token_logprobs": [-0.31],
    "token_ranks": [1],
    "alignment": [[0, 0]],
}
DOCUMENTED: dict[str, Any] = {
    "response_model": AttentionResponse,
    "responses": {
        200: {
            "content": {"application/json": {"example": ANSWER}},
            "headers": {"ETag": {"description": "Changes with the model", "schema": {"type": "string"}}},
        },
        **errors_of(400, 404, 406, 408, 413, 500, 503, 504),
    },
}


@dataclass(frozen=True, slots=True)
class Job:
    """A checked request."""

    text: str
    target_text: str | None
    source: str
    target: str
    model: str | None
    options: AttentionOptions


@router.get(
    "/attention",
    summary="Attention weights of a sentence and its translation",
    openapi_extra={"parameters": query_parameters(AttentionRequest, EXAMPLES["own"]["value"], required=True)},
    **{**DOCUMENTED, "responses": {**DOCUMENTED["responses"], 304: {"description": "Not changed: use your copy"}}},
)
async def get_attention(request: Request) -> Response:
    """The fields are in the query string, so that the address can be linked to; ETag makes asking again cheap."""
    return await _answer(request)


@router.post(
    "/attention",
    summary="The same for longer texts",
    openapi_extra={"requestBody": request_body(AttentionRequest, AttentionRequest, EXAMPLES, required=True)},
    **DOCUMENTED,
)
async def post_attention(request: Request) -> Response:
    """The fields are in the body."""
    return await _answer(request)


async def _answer(request: Request) -> Response:
    service = service_of(request)
    fields = await read_fields(request)
    _check_representation(fields, request.headers.get("accept", ""))
    job = read_job(fields, Languages.of(service.registry.models()))
    check_characters(len(job.text) + len(job.target_text or ""), service.settings)
    translator = service.registry.resolve(job.source, job.target, job.model)
    context = context_of(request.scope)
    context.model, context.texts, context.characters = translator.info.name, 1, len(job.text)
    headers = {"ETag": entity_tag(translator.info.digest, job), "Cache-Control": CACHE_CONTROL, "Vary": "Accept"}
    if request.method == "GET" and matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    found = await service.in_time(
        translator.attention(job.text, job.target_text, job.options, deadline=service.deadline())
    )
    if found.weights.size <= LARGE:
        return JSONResponse(render_attention(found), headers=headers)
    return await asyncio.to_thread(lambda: JSONResponse(render_attention(found), headers=headers))


def _check_representation(fields: Mapping[str, Any], accept: str) -> None:
    """Raise ApiError for a representation that there is not; `format` counts before the Accept header."""
    if fields.get("format") not in (None, ""):
        wanted = choice(fields, "format", FORMATS)
        if wanted != "json":
            raise invalid(f"format {wanted} is not available yet; json is", "unsupported_format")
        return
    wanted_types = [part.split(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    if wanted_types and not any(media_type in MEDIA_TYPES for media_type in wanted_types):
        raise ApiError(
            "Only application/json can be answered; leave the Accept header out or add application/json to it.",
            status=406,
            code="not_acceptable",
        )


def read_job(fields: Mapping[str, Any], known: Languages) -> Job:
    """Check the fields; raises ApiError at the first that is wrong."""
    text = required_text(fields, "text")
    source = required_text(fields, "source").lower()
    target = required_text(fields, "target").lower()
    check_languages(source, target, known)
    if source == target:
        raise ApiError("A text is not translated into its own language, so there is no attention to show; "
                       "give another target.", code="unsupported_pair")  # fmt: skip
    check_pair(source, target, known)
    kind = choice(fields, "kind", ("cross", "encoder", "decoder"))
    options = AttentionOptions(
        kind=cast(Any, kind),
        layer=_selector(fields, "layer", kind),
        head=_selector(fields, "head", kind),
        tokens=cast(Any, choice(fields, "tokens", ("subword", "word"))),
        specials=cast(Any, choice(fields, "specials", ("keep", "drop", "renormalise"))),
        translation=TranslationOptions(**read_search(fields)),
    )
    target_text = optional_text(fields, "target_text")
    return Job(text, target_text, source, target, optional_text(fields, "model"), options)


def _selector(fields: Mapping[str, Any], name: str, kind: str) -> Selector:
    value = fields.get(name)
    if value is None or value == "":
        return "align" if kind == "cross" else "mean"
    if isinstance(value, str):
        if value.isascii() and value.isdigit() and len(value) <= 4:
            return int(value)
        if value.lower() in ("align", "mean", "all"):
            return cast(Selector, value.lower())
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10_000:
        return value
    raise invalid(f"{name} must be align, mean, all or a whole number from 0")


def entity_tag(digest: str, job: Job) -> str:
    """A strong tag of the answer: it depends on the model's content and on every parameter, given or default."""
    anonymous = asdict(replace(job, model=None))
    serialised = json.dumps([digest, anonymous], sort_keys=True, ensure_ascii=True)
    return f'"{hashlib.sha256(serialised.encode("ascii")).hexdigest()[:32]}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Whether a client already has this answer."""
    if if_none_match is None:
        return False
    known = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return tag in known or "*" in known
