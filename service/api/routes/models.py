"""GET /models: the loaded models, their devices and their origin."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.dependencies import ServiceDep
from service.api.interface import RegistryPort
from service.api.openapi import errors_of
from service.api.schemas.models import ModelList
from service.engine import ModelInfo, pairs_of

router = APIRouter(tags=["Models"])


@router.get(
    "/models",
    operation_id="list_models",
    summary="Loaded models, with their digests, devices, limits and model cards",
    response_model=ModelList,
    responses=errors_of(500),
)
async def models(service: ServiceDep) -> JSONResponse:
    """List every loaded model."""
    registry = service.registry
    return JSONResponse({"models": [describe(info, registry) for info in registry.models()]})


def describe(info: ModelInfo, registry: RegistryPort) -> dict[str, Any]:
    """Return a model as JSON."""
    pairs = [
        {"source": source, "target": target, "default": registry.resolve(source, target).info.name == info.name}
        for source, target in pairs_of(info)
    ]
    return {
        "name": info.name,
        "version": info.version,
        "architecture": info.architecture,
        "source": info.source_language,
        "sources": list(info.sources),
        "target": info.target_language,
        "targets": list(info.targets),
        "pairs": pairs,
        "default": any(pair["default"] for pair in pairs),
        "digest": info.digest,
        "precision": info.precision,
        "device": info.device,
        "device_wanted": info.device_wanted,
        "provider": info.provider,
        "limits": {"source_tokens": info.source_tokens, "target_tokens": info.target_tokens},
        "attention": dict(info.attention),
        "card": dict(info.card),
    }
