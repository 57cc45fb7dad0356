"""GET /languages: the served languages and pairs."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.dependencies import ServiceDep
from service.api.language_names import language_name
from service.api.openapi import errors_of, example
from service.api.schemas.models import LanguageList
from service.engine import Languages

router = APIRouter(tags=["Models"])


@router.get(
    "/languages",
    operation_id="list_languages",
    summary="Languages and the targets of each",
    response_model=LanguageList,
    responses={
        200: example([{"code": "en", "name": "English", "targets": ["de", "en", "fr"]}]),
        **errors_of(500),
    },
)
async def languages(service: ServiceDep) -> JSONResponse:
    """List every language; `targets` of a language includes itself."""
    return JSONResponse(
        [
            {
                "code": code,
                "name": language_name(code),
                "targets": list(targets),
                **({"pivots": pivots} if (pivots := pivots_of(code, service.languages)) else {}),
            }
            for code, targets in service.languages.targets.items()
        ]
    )


def pivots_of(code: str, known: Languages) -> dict[str, str]:
    """Return the targets of a language that are translated in two legs, with the language between them."""
    pivoted = (target for target in known.targets[code] if (code, target) in known.pivoted)
    return dict.fromkeys(pivoted, known.pivot or "")
