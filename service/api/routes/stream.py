"""POST /translate/stream: the translation token by token, as server-sent events."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, NamedTuple

import numpy as np
from fastapi import APIRouter
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from service.api.checks import check_characters, named_pair
from service.api.context import RequestContext
from service.api.direct_route import ContextDep, DirectRoute, ServiceDep
from service.api.errors import INTERNAL, body_of, invalid, status_of
from service.api.openapi import REFERENCE, errors_of
from service.api.rendering import DIGITS, finite, render_pivot, render_side, render_token
from service.api.schemas.stream import StreamRequest, event_schema
from service.engine import (
    EngineError,
    EngineFailure,
    ModelInfo,
    StreamedEnd,
    StreamedPivot,
    StreamedSentence,
    StreamedToken,
    StreamEvent,
    TranslationOptions,
    stream_in_legs,
)
from service.logs import describe_exception, get_logger

log = get_logger(__name__)
router = APIRouter(tags=["Translation"], route_class=DirectRoute)

EXAMPLE = """event: sentence
data: {"sentence":0,"gap":"","source":{"text":"I lost.","tokens":[{"id":329,"text":"I","piece":"▁I","start":0,"end":1}]}}

event: token
data: {"sentence":0,"text":"Perdu","token":{"id":9,"text":"Perdu","piece":"▁Perdu","start":0,"end":5},"logprob":-0.1,"attention":[1.0]}

event: done
data: {"translatedText":"Perdu","model":"transformer-en-fr","digest":"sha256:9f86d081884c7d65","qualities":[0.62]}
"""  # noqa: E501
LegEvent = StreamedPivot | StreamEvent
# Prevents buffering in proxies, which would defeat the purpose of a stream.
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class _Ending(NamedTuple):
    """What the last event says beside the translation."""

    info: ModelInfo
    warnings: list[dict[str, Any]]


@router.post(
    "/translate/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Events: `pivot` (only if the text is translated in two legs: the text between them), "
            "`sentence` (one begins), `token` (with its log-probability and its row of the alignment head), and at the "
            "end exactly one `done` or `error`",
            "content": {"text/event-stream": {"itemSchema": event_schema(REFERENCE), "example": EXAMPLE}},
        },
        **errors_of(404),
    },
)
async def translate_stream(fields: StreamRequest, service: ServiceDep, context: ContextDep) -> Response:
    """Translate one text greedily, token by token.

    A failure before the first event is an ordinary error, a later one an event `error`; both have the same body.
    """
    if fields.beam_size != 1:
        raise invalid("a stream is greedy; leave out beam_size, or use /translate", param="beam_size")
    if fields.formality != "default":
        raise invalid("a stream has no other sentences to choose from; send formality to /translate", param="formality")
    check_characters([fields.q], service.settings)
    source, target = named_pair(fields.source, fields.target, service.languages, fields.model)
    if source == target:
        raise invalid("a text is not translated into its own language; give another target", "unsupported_pair")
    legs = service.legs(source, target, fields.model)
    context.count([fields.q])
    context.record_legs([leg.info for leg in legs])
    options = TranslationOptions(
        max_length=fields.max_length,
        values=fields.values or service.settings.values,
        glossary=service.glossary(fields.glossary, (source, target), legs),
    )
    found = stream_in_legs(legs, fields.q, options, deadline=context.deadline.at)
    first = await context.deadline.wait_for(anext(found))
    ending = _Ending(legs[-1].info, service.failure_warnings((source, target), fields.model))
    lines = _lines(first, found, ending, context)
    return StreamingResponse(lines, media_type="text/event-stream", headers=HEADERS)


async def _lines(
    first: LegEvent, found: AsyncIterator[LegEvent], ending: _Ending, context: RequestContext
) -> AsyncIterator[bytes]:
    async with aclosing(found):  # type: ignore[type-var]
        try:
            yield _line(first, ending)
            async for event in found:
                yield _line(event, ending, context.pivot)
        except Exception as error:
            yield _failure(error, context)


def _failure(error: Exception, context: RequestContext) -> bytes:
    known = error if isinstance(error, EngineError) else EngineFailure(INTERNAL)
    context.error_code = known.code
    failed = status_of(type(known)) == 500
    if failed:
        log.error("stream failed", request_id=context.request_id, **describe_exception(error))
    message = INTERNAL if failed else known.message
    return _event("error", body_of(message, known.code, context.request_id))


def _line(event: LegEvent, ending: _Ending, pivot: str | None = None) -> bytes:
    if isinstance(event, StreamedPivot):
        return _event("pivot", render_pivot(event.pivot))
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
    qualities = [None if each is None else finite(each) for each in event.qualities]
    info = ending.info
    content = {"translatedText": event.text, "model": info.name, "digest": info.digest, "qualities": qualities}
    if pivot is not None:
        content["pivot"] = pivot
    if ending.warnings:
        content["warnings"] = ending.warnings
    return _event("done", content)


def _event(name: str, content: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), to_json(content))
