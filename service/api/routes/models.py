"""GET /models: the loaded models, their devices and their origin."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.dependencies import ServiceDep
from service.api.interface import RegistryPort
from service.api.openapi import errors_of
from service.api.schemas.models import ModelList
from service.engine import ModelInfo, ModelState, pairs_of

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
    states = {state.name: state for state in registry.states()}
    found = [describe(info, registry, states[info.name]) for info in registry.models()]
    processes = service.settings.engine_processes
    # Undecided where the models run in this process, whatever the setting says: under Ray, for example.
    return JSONResponse({"models": found, "engine_processes": 0 if processes == "auto" else processes})


def describe(info: ModelInfo, registry: RegistryPort, state: ModelState) -> dict[str, Any]:
    """Return a model as JSON."""
    pairs = [
        {
            "source": source,
            "target": target,
            "default": not info.gallery and _default(registry, source, target) == info.name,
        }
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
        "gallery": info.gallery,
        "state": state.state,
        "last_used": None if state.last_used is None else timestamp(state.last_used),
        "digest": info.digest,
        "precision": info.precision,
        "device": info.device,
        "device_wanted": info.device_wanted,
        "provider": info.provider,
        "limits": {"source_tokens": info.source_tokens, "target_tokens": info.target_tokens},
        "attention": dict(info.attention),
        "confidence": None if info.confidence is None else dict(info.confidence),
        "card": dict(info.card),
    }


def _default(registry: RegistryPort, source: str, target: str) -> str:
    return registry.resolve(source, target).info.name


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as in RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
