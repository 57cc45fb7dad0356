"""POST /detect: in which language a text is written; LibreTranslate-compatible."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.autodetect import detect_all
from service.api.context import context_of
from service.api.openapi import errors_of, example, query_parameters, request_body
from service.api.request_body import read_fields
from service.api.routes.translate import check_batch, check_characters, read_texts
from service.api.schemas.translate import DetectForm, DetectionList, DetectRequest
from service.api.state import service_of
from service.detection import average

router = APIRouter(tags=["Translation"])

EXAMPLES = {"text": {"summary": "A text", "value": {"q": "J'ai perdu mes clés."}}}


@router.post(
    "/detect",
    summary="Recognise the language of a text, or of several together",
    response_model=DetectionList,
    responses={
        200: example([{"confidence": 99.9, "language": "fr"}, {"confidence": 0.1, "language": "en"}]),
        **errors_of(400, 408, 413, 415, 500, 503, 504),
    },
    openapi_extra={
        "requestBody": request_body(DetectRequest, EXAMPLES, required=False),
        "parameters": query_parameters(DetectForm, EXAMPLES["text"]["value"], required=False),  # type: ignore[arg-type]
    },
)
async def detect(request: Request) -> JSONResponse:
    """Give the served languages that a text may be in, best first; confidence 0 where nothing was recognised.

    A list of texts gets one answer for all of them: the mean of their confidences, by their lengths.
    """
    texts, _ = read_texts(await read_fields(request))
    service = service_of(request)
    check_batch(texts, service.settings)
    check_characters(texts, service.settings)
    context = context_of(request.scope)
    context.texts, context.characters = len(texts), sum(map(len, texts))
    found = await service.in_time(service.deadline(context), detect_all(request.app, texts))
    guesses = average(found, [len(text) for text in texts])
    return JSONResponse([{"confidence": guess.confidence, "language": guess.language} for guess in guesses])
