"""POST /detect: in which language a text is written; LibreTranslate-compatible."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.autodetect import detect_all
from service.api.body import read_fields
from service.api.context import context_of
from service.api.documents import errors_of, example, query_parameters, request_body
from service.api.fields import required_text
from service.api.schemas import DetectionList, DetectRequest
from service.api.state import service_of
from service.api.translate import check_characters

router = APIRouter(tags=["Translation"])

EXAMPLES = {"text": {"summary": "A text", "value": {"q": "J'ai perdu mes clés."}}}


@router.post(
    "/detect",
    summary="Recognise the language of a text",
    response_model=DetectionList,
    responses={
        200: example([{"confidence": 99.9, "language": "fr"}, {"confidence": 0.1, "language": "en"}]),
        **errors_of(400, 408, 413, 500, 503, 504),
    },
    openapi_extra={
        "requestBody": request_body(DetectRequest, EXAMPLES, required=False),
        "parameters": query_parameters(DetectRequest, EXAMPLES["text"]["value"], required=False),  # type: ignore[arg-type]
    },
)
async def detect(request: Request) -> JSONResponse:
    """Give the served languages that a text may be in, best first; confidence 0 where nothing was recognised."""
    text = required_text(await read_fields(request), "q")
    service = service_of(request)
    check_characters(len(text), service.settings)
    deadline = service.deadline(context_of(request.scope))
    [guesses] = await service.in_time(deadline, detect_all(request.app, [text]))
    return JSONResponse([{"confidence": guess.confidence, "language": guess.language} for guess in guesses])
