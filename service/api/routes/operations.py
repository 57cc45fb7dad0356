"""/health, /health/live, /health/ready and /metrics; none of the first three depends on load."""

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from service.api.direct_route import ServiceDep
from service.api.errors import ApiError
from service.api.openapi import errors_of, example
from service.metrics import CONTENT_TYPE

router = APIRouter(tags=["Operations"])

OK = {"status": "ok"}


@router.get("/health", name="get_health", response_model=dict[str, str], responses={200: example(OK)})
@router.get("/health/live", response_model=dict[str, str], responses={200: example(OK)})
async def get_liveness() -> JSONResponse:
    """Report that the event loop answers; `/health` is LibreTranslate's path."""
    return JSONResponse(OK)


@router.get(
    "/health/ready", response_model=dict[str, str], responses={200: example({"status": "ready"}), **errors_of(503)}
)
async def get_readiness(service: ServiceDep) -> JSONResponse:
    """Report whether new work should be sent here: started, not stopping, and at least one model accepts requests.

    `/v2/models/{model}/ready` reports it for one model.
    """
    if not service.ready:
        stopping = service.draining
        raise ApiError(
            "The server is stopping." if stopping else "The models are not ready; try again in a moment.",
            status=503,
            code="stopping" if stopping else "not_ready",
            headers={"Retry-After": "1"},
        )
    return JSONResponse({"status": "ready"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": "translucent_ready 1.0\n"}}}},
)
async def get_metrics(service: ServiceDep) -> Response:
    """Return all metrics in Prometheus' text format.

    Every name begins with translucent_, except those of the process and of Python.
    """
    service.metrics.show("ready", service.ready)
    service.metrics.show_states(service.registry.states())
    return Response(service.metrics.render(), headers={"Content-Type": CONTENT_TYPE})
