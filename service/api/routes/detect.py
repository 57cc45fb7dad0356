"""POST /detect: the language of a text; LibreTranslate-compatible."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse

from service.api.checks import check_batch, check_characters
from service.api.dependencies import ContextDep, ServiceDep, fields_of
from service.api.openapi import example, fields_anywhere
from service.api.schemas.detect import DetectionList, DetectRequest
from service.detection import average

router = APIRouter(tags=["Translation"])

EXAMPLES = {"text": {"summary": "A text", "value": {"q": "J'ai perdu mes clés."}}}


@router.post(
    "/detect",
    response_model=DetectionList,
    responses={200: example([{"confidence": 99.9, "language": "fr"}, {"confidence": 0.1, "language": "en"}])},
    openapi_extra=fields_anywhere(DetectRequest, EXAMPLES),
)
async def detect(
    fields: Annotated[DetectRequest, Depends(fields_of(DetectRequest))], service: ServiceDep, context: ContextDep
) -> JSONResponse:
    """Return the served languages that a text may be in, best first; the confidence is 0 if none was recognised.

    A list of texts gets one answer for all of them: the mean of their confidences, weighted by their lengths.
    """
    texts = fields.q if isinstance(fields.q, list) else [fields.q]
    check_batch(texts, service.settings)
    check_characters(texts, service.settings)
    context.count(texts)
    found = await context.deadline.wait_for(service.detect(texts))
    guesses = average(found, [len(text) for text in texts])
    return JSONResponse([{"confidence": guess.confidence, "language": guess.language} for guess in guesses])
