"""POST /translate/stream: the translation while it is written, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from service.api.context import context_of
from service.api.errors import INTERNAL, body_of, invalid, status_of
from service.api.fields import optional_text, own_text, whole_number
from service.api.openapi import REFERENCE, errors_of, request_body
from service.api.rendering import DIGITS, finite, render_side, render_token
from service.api.request_body import read_fields
from service.api.routes.languages import read_pair
from service.api.routes.translate import check_characters
from service.api.schemas.stream import event_schema
from service.api.schemas.translate import StreamRequest
from service.api.state import service_of
from service.engine import (
    EngineError,
    EngineFailure,
    Languages,
    ModelInfo,
    StreamedEnd,
    StreamedSentence,
    StreamedToken,
    StreamEvent,
)
from service.logs import describe_exception, get_logger

log = get_logger(__name__)
router = APIRouter(tags=["Translation"])

EXAMPLES = {"own": {"summary": "One sentence", "value": {"q": "I lost.", "source": "en", "target": "fr"}}}
EXAMPLE = """event: sentence
data: {"sentence":0,"gap":"","source":{"text":"I lost.","tokens":[{"id":329,"text":"I","piece":"▁I","start":0,"end":1}]}}

event: token
data: {"sentence":0,"text":"Perdu","token":{"id":9,"text":"Perdu","piece":"▁Perdu","start":0,"end":5},"logprob":-0.1,"attention":[1.0]}

event: done
data: {"translatedText":"Perdu","model":"transformer-en-fr","digest":"sha256:9f86d081884c7d65"}
"""  # noqa: E501
# Proxies that gather an answer before they send it on would take the point away.
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.post(
    "/translate/stream",
    summary="Translate one text greedily, token by token",
    response_class=StreamingResponse,
    openapi_extra={"requestBody": request_body(StreamRequest, EXAMPLES, required=True)},
    responses={
        200: {
            "description": "Events: `sentence` (one begins), `token` (with its log-probability and its row of the "
            "aligning head), and at the end exactly one `done` or `error`",
            "content": {"text/event-stream": {"itemSchema": event_schema(REFERENCE), "example": EXAMPLE}},
        },
        **errors_of(400, 404, 408, 413, 415, 500, 503, 504),
    },
)
async def stream(request: Request) -> Response:
    """What goes wrong before the first event is an ordinary error; later, an event `error` with the same body."""
    service = service_of(request)
    fields = await read_fields(request)
    text = own_text(fields, "q")
    if whole_number(fields, "beam_size", 1, 8) not in (None, 1):
        raise invalid("a stream is greedy; leave beam_size out, or use /translate", param="beam_size")
    check_characters([text], service.settings)
    source, target = read_pair(fields, Languages.of(service.registry.models()))
    if source == target:
        raise invalid("a text is not translated into its own language; give another target", "unsupported_pair")
    translator = service.registry.resolve(source, target, optional_text(fields, "model"))
    context = context_of(request.scope)
    context.model, context.texts, context.characters = translator.info.name, 1, len(text)
    deadline = service.deadline(context)
    found = translator.stream(text, whole_number(fields, "max_length", 1, None), deadline=deadline)
    first = await service.in_time(deadline, anext(found))
    return StreamingResponse(
        _lines(first, found, translator.info, request), media_type="text/event-stream", headers=HEADERS
    )


async def _lines(
    first: StreamEvent, found: AsyncIterator[StreamEvent], info: ModelInfo, request: Request
) -> AsyncIterator[bytes]:
    async with aclosing(found):  # type: ignore[type-var]
        try:
            yield _line(first, info)
            async for event in found:
                yield _line(event, info)
        except Exception as error:
            yield _failure(error, request)


def _failure(error: Exception, request: Request) -> bytes:
    context = context_of(request.scope)
    known = error if isinstance(error, EngineError) else EngineFailure(INTERNAL)
    context.error_code = known.code
    if status_of(known) == 500:
        log.error("stream failed", request_id=context.request_id, **describe_exception(error))
    message = INTERNAL if status_of(known) == 500 else known.message
    return _event("error", body_of(message, known.code, context.request_id))


def _line(event: StreamEvent, info: ModelInfo) -> bytes:
    if isinstance(event, StreamedSentence):
        content = {
            "sentence": event.number,
            "gap": event.gap,
            "source": render_side(event.source_text, event.source_tokens),
        }
        return _event("sentence", content)
    if isinstance(event, StreamedToken):
        content = {
            "sentence": event.sentence,
            "text": event.text,
            "token": render_token(event.token),
            "logprob": finite(event.logprob),
            "attention": np.round(event.attention.astype(np.float64), DIGITS).tolist(),
        }
        return _event("token", content)
    assert isinstance(event, StreamedEnd)
    return _event("done", {"translatedText": event.text, "model": info.name, "digest": info.digest})


def _event(name: str, content: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
