"""GET /metrics for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from service.api.dependencies import ServiceDep
from service.metrics import CONTENT_TYPE

router = APIRouter(tags=["Operations"])


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Metrics in Prometheus' text format",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": "translucent_ready 1.0\n"}}}},
)
async def metrics(service: ServiceDep) -> Response:
    """Return all metrics; every name begins with translucent_, except those of the process and of Python."""
    service.metrics.set_ready(service.ready)
    service.metrics.show_states(service.registry.states())
    return Response(service.metrics.render(), headers={"Content-Type": CONTENT_TYPE})
