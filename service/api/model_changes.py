"""Changes the models of a running server, for a signal or a route; every change is logged and counted."""

from __future__ import annotations

import asyncio

from service.api.state import Service
from service.bundle.repository import Change
from service.engine import EngineError
from service.logs import get_logger

log = get_logger(__name__)


async def reload_models(service: Service, name: str | None = None) -> list[Change]:
    """Load the changes in the folder of models and the glossaries, or one bundle; every change is logged and counted.

    Raise BundleMissing. The load continues if the caller stops waiting.
    """
    return await asyncio.shield(asyncio.create_task(_reload(service, name)))


async def unload_model(service: Service, name: str) -> None:
    """Unload a model; raise UnknownModel or LastModel."""
    await service.registry.unload(name)
    service.metrics.model_changed("unloaded")
    service.metrics.show_models(service.registry.models())
    log.info("model unloaded", model=name)


async def _reload(service: Service, name: str | None) -> list[Change]:
    if name is None:
        await asyncio.to_thread(service.glossaries.reload)
    try:
        changes = await service.registry.reload(name)
    except EngineError as error:
        service.metrics.model_changed("refused")
        log.error("models not reloaded", reason=error.message, code=error.code)
        raise
    for change in changes:
        if change.outcome in ("added", "replaced"):
            log.info("model ready", model=change.name, digest=change.digest, outcome=change.outcome)
        elif change.outcome == "missing":
            log.warning("model is no longer in the folder; it is served until it is unloaded", model=change.name)
        elif change.error is not None:
            reason, code = change.error.message, change.error.code
            log.error("model refused", model=change.name, serving=change.digest or None, reason=reason, code=code)
        if change.outcome in ("added", "replaced", "refused"):
            service.metrics.model_changed(change.outcome)
    service.metrics.show_models(service.registry.models())
    log.info("models reloaded", **{each.name: each.outcome for each in changes})
    return changes
