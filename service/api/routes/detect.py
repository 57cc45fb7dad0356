"""POST /detect: the language of a text; LibreTranslate-compatible."""

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import JSONResponse

from service.answers.translation import DetectionSchema
from service.api.checks import check_texts
from service.api.direct_route import ContextDep, DirectRoute, ServiceDep
from service.api.schemas.common import ApiKey, Fields, Texts
from service.detection import average

router = APIRouter(tags=["Translation"], route_class=DirectRoute)


class DetectRequest(Fields):
    """A text whose language is to be recognised, or several in one language."""

    q: Texts = Field(description="The text, or a list of texts (in a form, q several times)")
    api_key: ApiKey = None


@router.post("/detect", response_model=list[DetectionSchema])
async def detect(fields: DetectRequest, service: ServiceDep, context: ContextDep) -> JSONResponse:
    """Return the served languages that a text may be in, best first; the confidence is 0 if none was recognised.

    A list of texts gets one answer for all of them: the mean of their confidences, weighted by their lengths.
    """
    texts = fields.q if isinstance(fields.q, list) else [fields.q]
    check_texts(texts, service.settings)
    context.count(texts)
    found = await context.wait_for(service.detect(texts))
    guesses = average(found, [len(text) for text in texts])
    return JSONResponse([{"confidence": guess.confidence, "language": guess.language} for guess in guesses])
