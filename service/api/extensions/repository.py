"""Loads and unloads models over HTTP, by the model repository extension of the Open Inference Protocol.

Only requests with the operator's token get here: see service.api.middleware.access.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BeforeValidator, Field
from starlette.responses import JSONResponse

from service.api import state
from service.api.direct_route import DirectRoute, ServiceDep
from service.api.errors import ApiError
from service.api.openapi import errors_of, v2_operation_id
from service.api.paths import ADMIN
from service.api.schemas.common import Fields, Schema, refused
from service.engine import BundleMissing, ModelStateName

router = APIRouter(
    prefix=ADMIN.rstrip("/"),
    tags=["Open Inference Protocol"],
    generate_unique_id_function=v2_operation_id,
    route_class=DirectRoute,
)

Availability = Literal["READY", "LOADING", "UNLOADING", "UNAVAILABLE"]


def no_parameters(value: object) -> None:
    """Return None; raise pydantic's error if parameters are given."""
    if isinstance(value, dict) and value:
        raise refused(
            "a model is loaded as it is in the folder; a configuration or files in the request are not accepted",
            "parameters",
        )


class IndexRequest(Fields):
    """The models of the repository to list."""

    ready: bool = Field(False, description="Only models that accept requests now")


class LoadRequest(Fields):
    """A request to load a model; the body may be left out."""

    parameters: Annotated[Annotated[dict[str, Any], Field(max_length=0)] | None, BeforeValidator(no_parameters)] = (
        Field(None, description="A model is loaded as it is in the folder; a configuration or files are not accepted")
    )


class IndexEntry(Schema):
    """A model of the folder."""

    name: str
    version: str = Field(description="Empty if it is not loaded")
    state: Availability
    reason: str = Field(description="Why it is not ready; empty if it is ready")


class Outcome(Schema):
    """What became of a bundle."""

    name: str
    outcome: Literal["added", "replaced", "unchanged", "unloaded"]
    digest: str | None = Field(
        None, description="Digest of the bundle that new requests use from now on, if one is loaded"
    )


NOT_LOADED = "It is in the folder of models, but it is not loaded."
AVAILABILITY: dict[ModelStateName, Availability] = {
    "ready": "READY",
    "closed": "READY",
    "opening": "READY",
    "starting": "LOADING",
    "restarting": "LOADING",
    "stopping": "UNLOADING",
}  # every other state: UNAVAILABLE


@router.post("/index", response_model=list[IndexEntry])
async def list_repository(
    service: ServiceDep,
    fields: IndexRequest = IndexRequest(),  # noqa: B008
) -> JSONResponse:
    """List the models of the folder with their state and its reason.

    `{"ready": true}` lists only those that accept requests.
    """
    entries = [
        entry(state.name, state.version, AVAILABILITY.get(state.state, "UNAVAILABLE"), state.reason)
        for state in service.registry.states()
    ]
    if not fields.ready:
        entries += [entry(name, "", "UNAVAILABLE", NOT_LOADED) for name in await service.registry.unused()]
    listed = (entry for entry in entries if entry["state"] == "READY" or not fields.ready)
    return JSONResponse(sorted(listed, key=lambda entry: entry["name"]))


def entry(name: str, version: str, state: Availability, reason: str) -> dict[str, str]:
    """Return one line of the index."""
    return {"name": name, "version": version, "state": state, "reason": reason}


@router.post("/models/{model}/load", response_model=Outcome, responses=errors_of(409))
async def load_model(
    model: str,
    service: ServiceDep,
    _fields: LoadRequest = LoadRequest(),  # noqa: B008
) -> JSONResponse:
    """Load a new or changed bundle of the folder; answer when it has been checked, loaded and warmed up.

    Until then, and if the bundle is refused, the previous one continues to serve.
    """
    try:
        changes = await state.reload_models(service, model)
    except BundleMissing as error:
        raise ApiError(error.message, status=404, code=error.code) from None
    for change in changes:
        if change.error is not None:
            raise ApiError(change.error.message, status=409, code=change.error.code)
    change = changes[0]
    return JSONResponse({"name": change.name, "outcome": change.outcome, "digest": change.digest})


@router.post("/models/{model}/unload", response_model=Outcome, responses=errors_of(409))
async def unload_model(model: str, service: ServiceDep) -> JSONResponse:
    """Unload a model, but not the last one; requests that began with it end with it."""
    await state.unload_model(service, model)
    return JSONResponse({"name": model, "outcome": "unloaded"})
