"""Changing models while the server runs: on SIGHUP, and by the routes of service.api.repository."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from service.api.ports import Service
from service.engine.errors import EngineError
from service.engine.folder import Change
from service.logs import get_logger

log = get_logger(__name__)

TERMINAL = "/dev/tty"


async def reload_models(service: Service, name: str | None = None) -> list[Change]:
    """Load what has changed in the folder of models, or one bundle; every change is logged and counted.

    Raises BundleMissing. Who stops waiting does not stop it.
    """
    return await asyncio.shield(asyncio.create_task(_reload(service, name)))


async def unload_model(service: Service, name: str) -> None:
    """Take a model away; raises UnknownModel or LastModel."""
    await service.registry.unload(name)
    service.metrics.model_changed("unloaded")
    service.metrics.show_models(service.registry.models())
    log.info("model unloaded", model=name)


async def _reload(service: Service, name: str | None) -> list[Change]:
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


class Hangup:
    """What to do on SIGHUP: reload, or stop when it means that the terminal the server was started from is gone."""

    def __init__(self, reload: Callable[[], Coroutine[Any, Any, object]], leave: Callable[[], None]) -> None:
        self._reload, self._leave = reload, leave
        self._had_terminal = _has_terminal()
        self._tasks: set[asyncio.Task[object]] = set()

    def __call__(self) -> None:
        """Handle the signal, on the event loop."""
        if self._had_terminal and not _has_terminal():
            self._leave()
            return
        task = asyncio.create_task(self._reload())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it has been logged


def _has_terminal() -> bool:
    try:
        os.close(os.open(TERMINAL, os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
