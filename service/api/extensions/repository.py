"""Loads and unloads models over HTTP, by the model repository extension of the Open Inference Protocol.

Only requests with the operator's token get here: see service.api.middleware.access.
"""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api import state
from service.api.dependencies import ServiceDep
from service.api.errors import ApiError
from service.api.openapi import errors_of, example, json_body, v2_operation_id
from service.api.paths import ADMIN
from service.api.request_body import decode_json, read_body
from service.api.schemas.repository import Availability, Index, IndexRequest, LoadedModel, LoadRequest, UnloadedModel
from service.api.validation import parse
from service.engine import BundleMissing, ModelStateName

router = APIRouter(
    prefix=ADMIN.rstrip("/"), tags=["Open Inference Protocol"], generate_unique_id_function=v2_operation_id
)

DIGEST = "sha256:8d5f5e4e0d6a"
NOT_LOADED = "It is in the folder of models, but it is not loaded."
AVAILABILITY: dict[ModelStateName, Availability] = {
    "ready": "READY",
    "closed": "READY",
    "opening": "READY",
    "starting": "LOADING",
    "restarting": "LOADING",
    "stopping": "UNLOADING",
}  # every other state: UNAVAILABLE


@router.post(
    "/index",
    response_model=Index,
    responses={
        200: example(
            [
                {"name": "bahdanau-en-fr", "version": "", "state": "UNAVAILABLE", "reason": NOT_LOADED},
                {"name": "transformer-en-fr", "version": "1", "state": "READY", "reason": ""},
            ]
        ),
    },
    openapi_extra={"requestBody": json_body(IndexRequest, "Only models that are ready", {"ready": True})},
)
async def list_repository(request: Request, service: ServiceDep) -> JSONResponse:
    """List the models of the folder with their state and its reason.

    `{"ready": true}` lists only those that accept requests.
    """
    only_ready = parse(IndexRequest, await read_message(request)).ready
    entries = [
        entry(each.name, each.version, AVAILABILITY.get(each.state, "UNAVAILABLE"), each.reason)
        for each in service.registry.states()
    ]
    if not only_ready:
        entries += [entry(name, "", "UNAVAILABLE", NOT_LOADED) for name in await service.registry.unused()]
    listed = (each for each in entries if each["state"] == "READY" or not only_ready)
    return JSONResponse(sorted(listed, key=lambda each: each["name"]))


def entry(name: str, version: str, state: Availability, reason: str) -> dict[str, str]:
    """Return one line of the index."""
    return {"name": name, "version": version, "state": state, "reason": reason}


async def read_message(request: Request) -> dict[str, Any]:
    """Return the JSON of a request, whose body may be empty."""
    body = await read_body(request)
    return decode_json(body) if body.strip() else {}


@router.post(
    "/models/{model}/load",
    response_model=LoadedModel,
    responses={
        200: example({"name": "transformer-en-fr", "outcome": "replaced", "digest": DIGEST}),
        **errors_of(409),
    },
    openapi_extra={"requestBody": json_body(LoadRequest, "As sent by Triton's client", {})},
)
async def load_model(request: Request, model: str, service: ServiceDep) -> JSONResponse:
    """Load a new or changed bundle of the folder; answer when it has been checked, loaded and warmed up.

    Until then, and if the bundle is refused, the previous one continues to serve.
    """
    parse(LoadRequest, await read_message(request))
    try:
        changes = await state.reload_models(service, model)
    except BundleMissing as error:
        raise ApiError(error.message, status=404, code=error.code) from None
    for change in changes:
        if change.error is not None:
            raise ApiError(change.error.message, status=409, code=change.error.code)
    change = changes[0]
    return JSONResponse({"name": change.name, "outcome": change.outcome, "digest": change.digest})


@router.post(
    "/models/{model}/unload",
    response_model=UnloadedModel,
    responses={200: example({"name": "bahdanau-en-fr", "outcome": "unloaded"}), **errors_of(409)},
)
async def unload_model(model: str, service: ServiceDep) -> JSONResponse:
    """Unload a model, but not the last one; requests that began with it end with it."""
    await state.unload_model(service, model)
    return JSONResponse({"name": model, "outcome": "unloaded"})
