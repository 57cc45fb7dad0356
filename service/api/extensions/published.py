"""Adds published models for the operator's page: what `translucent models available` and `models get` do.

The command runs in a process of its own: it needs libraries that a server does not load, and it reads strangers' files.
"""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api import state
from service.api.direct_route import DirectRoute, ServiceDep
from service.api.errors import ApiError
from service.api.languages import language_name
from service.api.paths import ADMIN
from service.api.schemas.common import Fields
from service.api.state import Service
from service.engine import EngineError, pairs_of

COMMAND = (sys.executable, "-m", "translucent_mt", "models")
LONGEST = 60.0
"""Seconds for reading the lists."""

router = APIRouter(prefix=f"{ADMIN}published", route_class=DirectRoute, include_in_schema=False)

Language = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=35)]


class PublishedPair(Fields):
    """The pair whose best model is to be added."""

    source: Language
    target: Language


@dataclass(slots=True)
class Adding:
    """The one pair at a time that is being added, or was added last."""

    pair: tuple[str, str] = ("", "")
    task: asyncio.Task[None] | None = None
    failed: bool = False
    message: str = ""

    @property
    def is_running(self) -> bool:
        """Return whether a pair is being added now."""
        return self.task is not None and not self.task.done()

    def document(self) -> dict[str, Any]:
        """Return what the page shows: `state` is none, running, added or failed."""
        ended = "failed" if self.failed else "added"
        outcome = "none" if self.task is None else "running" if self.is_running else ended
        return {"source": self.pair[0], "target": self.pair[1], "state": outcome, "message": self.message}


@router.get("")
async def list_published(service: ServiceDep) -> JSONResponse:
    """List the published models of pairs that no model here translates, the best of each pair.

    The lists are read where `TRANSLUCENT_MODELS_INDEX` says.
    """
    try:
        code, said = await asyncio.wait_for(_run(service, "available", "--json"), LONGEST)
    except TimeoutError:
        code, said = 1, f"The lists of models could not be read within {LONGEST:.0f} seconds."
    if code:
        raise ApiError(said, status=503, code="no_published_models")
    served = {pair for info in service.registry.models() for pair in pairs_of(info)}
    models = [entry for entry in json.loads(said) if (entry["source"], entry["target"]) not in served]
    names = [{f"{side}_name": language_name(entry[side]) for side in ("source", "target")} for entry in models]
    return JSONResponse({"models": [entry | named for entry, named in zip(models, names, strict=True)]})


@router.post("", status_code=202)
async def add_published(service: ServiceDep, request: Request, fields: PublishedPair) -> JSONResponse:
    """Begin to download, check and add the best published model of a pair; it is served when `state` is `added`."""
    adding: Adding = request.app.state.adding
    if adding.is_running:
        raise ApiError(f"{' → '.join(adding.pair)} is being added; wait for it.", status=409, code="busy")
    adding.pair, adding.failed, adding.message = (fields.source, fields.target), False, ""
    adding.task = asyncio.create_task(_add(service, adding))
    return JSONResponse(adding.document(), status_code=202)


@router.get("/state")
async def adding_state(request: Request) -> JSONResponse:
    """Return what became of the last pair that was to be added."""
    return JSONResponse(request.app.state.adding.document())


async def _add(service: Service, adding: Adding) -> None:
    code, adding.message = await _run(
        service, "get", "--yes", "--models-dir", str(service.settings.models_dir), *adding.pair
    )
    adding.failed, adding.message = bool(code), adding.message.rpartition("\n")[2]
    if code:
        return
    try:
        changes = await state.reload_models(service)
    except EngineError as error:
        adding.failed, adding.message = True, error.message
        return
    refused = [change.error.message for change in changes if change.error is not None]
    if refused and not any(change.outcome in ("added", "replaced") for change in changes):
        adding.failed, adding.message = True, refused[0]


async def _run(service: Service, *arguments: str) -> tuple[int, str]:
    """Run a command of `translucent models`; return its exit code, and its answer or the sentence of its error."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, env=os.environ | {"TRANSLUCENT_MODELS_INDEX": service.settings.models_index},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        answer, errors = await process.communicate()
    finally:
        if process.returncode is None:  # nobody waits any longer
            process.kill()
    code = await process.wait()
    return code, (errors if code else answer).decode(errors="replace").strip()
