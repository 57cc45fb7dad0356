"""Routes for LibreTranslate's own clients: settings, and two functions that are not supported."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.dependencies import ServiceDep
from service.api.errors import ApiError
from service.api.language_names import language_name
from service.api.openapi import errors_of, example
from service.api.schemas.libretranslate import FrontendSettings

router = APIRouter(tags=["Translation"])

# The name is that of the compatible interface: milliseconds that a page waits after a key is pressed.
FRONTEND_TIMEOUT = 500

SETTINGS = {
    "charLimit": 100000,
    "batchLimit": 128,
    "frontendTimeout": FRONTEND_TIMEOUT,
    "apiKeys": False,
    "keyRequired": False,
    "suggestions": False,
    "filesTranslation": False,
    "supportedFilesFormat": [],
    "language": {"source": {"code": "auto", "name": "Auto Detect"}, "target": {"code": "fr", "name": "French"}},
}


@router.get(
    "/frontend/settings",
    operation_id="get_frontend_settings",
    summary="Settings for a LibreTranslate page",
    response_model=FrontendSettings,
    responses={200: example(SETTINGS), **errors_of(500)},
)
async def settings(service: ServiceDep) -> JSONResponse:
    """Return the limits, whether keys are needed, and the default languages."""
    known = service.languages.targets
    targets = ["fr"] * ("fr" in known) + [code for own_targets in known.values() for code in own_targets]
    sources = {code for code, own_targets in known.items() if len(own_targets) > 1}
    first = next((code for code in targets if code not in sources), next(iter(known), ""))
    given: dict[str, Any] = {
        **SETTINGS,
        "charLimit": service.settings.character_limit,
        "batchLimit": service.settings.batch_limit,
        "apiKeys": service.settings.api_keys_file is not None,
        "keyRequired": service.settings.require_key,
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": first, "name": language_name(first)},
        },
    }
    return JSONResponse(given)


@router.post(
    "/translate_file",
    operation_id="translate_file",
    summary="Not supported: translation of files",
    status_code=403,
    responses=errors_of(403),
)
async def translate_file() -> JSONResponse:
    """Refuse, in the words that clients of this dialect know."""
    raise ApiError("Files translation are disabled on this server.", status=403, code="not_offered")


@router.get("/download_file/{name}", include_in_schema=False)
async def download_file(name: str) -> JSONResponse:
    """Refuse, in the words and with the status that clients of this dialect know."""
    raise ApiError("Files translation are disabled on this server.", code="not_offered")


@router.post(
    "/suggest",
    operation_id="suggest",
    summary="Not supported: suggestions of better translations",
    status_code=403,
    responses=errors_of(403),
)
async def suggest() -> JSONResponse:
    """Refuse, in the words that clients of this dialect know."""
    raise ApiError("Suggestions are disabled on this server.", status=403, code="not_offered")
