"""Liveness and readiness: /health, /health/live, /health/ready; none of them depends on load."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.dependencies import ServiceDep
from service.api.errors import ApiError
from service.api.openapi import errors_of, example
from service.api.schemas.models import Health

router = APIRouter(tags=["Operations"])

OK = {"status": "ok"}


@router.get(
    "/health",
    operation_id="get_health",
    summary="Liveness, at LibreTranslate's path",
    response_model=Health,
    responses={200: example(OK)},
)
async def health() -> JSONResponse:
    """Report that the event loop answers."""
    return JSONResponse(OK)


@router.get(
    "/health/live", operation_id="get_liveness", summary="Liveness", response_model=Health, responses={200: example(OK)}
)
async def live() -> JSONResponse:
    """Report that the event loop answers."""
    return JSONResponse(OK)


@router.get(
    "/health/ready",
    operation_id="get_readiness",
    summary="Readiness: started, not stopping, and at least one model accepts requests",
    response_model=Health,
    responses={200: example({"status": "ready"}), **errors_of(503)},
)
async def ready(service: ServiceDep) -> JSONResponse:
    """Report whether new work should be sent here; `/v2/models/{model}/ready` reports it for one model."""
    if not service.ready:
        stopping = service.draining
        raise ApiError(
            "The server is stopping." if stopping else "The models are not ready; try again in a moment.",
            status=503,
            code="stopping" if stopping else "not_ready",
            headers={"Retry-After": "1"},
        )
    return JSONResponse({"status": "ready"})
