"""POST /translate: LibreTranslate-compatible, with additional fields."""

from fastapi import APIRouter
from starlette.responses import Response

from service.answers.translation import TranslateResponse
from service.api.checks import AUTO, check_languages, check_texts, served_pair, shortened
from service.api.direct_route import ContextDep, DirectRoute, ServiceDep
from service.api.errors import ApiError, invalid
from service.api.openapi import errors_of
from service.api.schemas.translate import FORMATS, TranslateRequest
from service.api.translation import respond, translate_texts
from service.engine import Languages, Pair
from service.settings import Settings

router = APIRouter(tags=["Translation"], route_class=DirectRoute)


@router.post("/translate", response_model=TranslateResponse, responses=errors_of(404))
async def translate(fields: TranslateRequest, service: ServiceDep, context: ContextDep) -> Response:
    """Translate a text or a list of texts; fields come from JSON, or from the query string and a form together."""
    pair = check_request(fields, service.settings, service.languages)
    context.count(fields.texts)
    return await respond(fields, await context.wait_for(translate_texts(fields, pair, service, context)))


def check_request(fields: TranslateRequest, settings: Settings, languages: Languages) -> Pair:
    """Return the pair to translate, with `auto` as it is; raise ApiError in the order that clients expect."""
    check_texts(fields.texts, settings)
    if fields.source.lower() == AUTO:
        check_languages(languages, target=fields.target)
        pair: Pair | None = AUTO, fields.target
    else:
        pair = languages.pair(fields.source, fields.target, direct=bool(fields.model))
        if pair is None:  # only then does each tag need a check
            check_languages(languages, source=fields.source, target=fields.target)
    if fields.format not in FORMATS:
        raise ApiError(f"{shortened(fields.format)} format is not supported", code="unsupported_format", param="format")
    if fields.format == "html" and fields.details:
        raise invalid("details are available for plain text only; send format text", "unsupported_format", "details")
    return pair or served_pair(fields.source, fields.target, languages, fields.model)
