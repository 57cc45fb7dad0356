"""Loading and unloading models over HTTP, as the model repository extension of the Open Inference Protocol has it.

Only who has the operator's token gets here: see service.api.middleware.gate.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import Field, RootModel
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.documents import errors_of, example
from service.api.errors import ApiError
from service.api.middleware.access import ADMIN
from service.api.reloading import reload_models, unload_model
from service.api.schemas import Schema
from service.api.state import service_of
from service.engine.errors import BundleMissing

router = APIRouter(prefix=ADMIN.rstrip("/"), tags=["Open Inference Protocol"])

DIGEST = "sha256:8d5f5e4e0d6a"


class IndexEntry(Schema):
    """A model that is served."""

    name: str
    version: str
    state: Literal["READY"]
    reason: str = Field(description="Always empty")


class Index(RootModel[list[IndexEntry]]):
    """Every model that is served."""


class LoadedModel(Schema):
    """What became of a bundle."""

    name: str
    outcome: Literal["added", "replaced", "unchanged"]
    digest: str = Field(description="Of the bundle that new requests meet from now on")


class UnloadedModel(Schema):
    """A model that is served no more."""

    name: str
    outcome: Literal["unloaded"]


@router.post(
    "/index",
    summary="Models that are served",
    response_model=Index,
    responses={
        200: example([{"name": "transformer-en-fr", "version": "1", "state": "READY", "reason": ""}]),
        **errors_of(403),
    },
)
async def index(request: Request) -> JSONResponse:
    """List what new requests can meet."""
    infos = service_of(request).registry.models()
    return JSONResponse(
        [{"name": info.name, "version": info.version, "state": "READY", "reason": ""} for info in infos]
    )


@router.post(
    "/models/{model}/load",
    summary="Load a bundle that is new in the folder of models, or has changed in it",
    response_model=LoadedModel,
    responses={
        200: example({"name": "transformer-en-fr", "outcome": "replaced", "digest": DIGEST}),
        **errors_of(403, 404, 409),
    },
)
async def load(request: Request, model: str) -> JSONResponse:
    """Answer when the bundle has been checked, loaded and warmed up; until then, and if it is refused, the one before
    goes on serving.
    """
    try:
        changes = await reload_models(service_of(request), model)
    except BundleMissing as error:
        raise ApiError(error.message, status=404, code=error.code) from None
    for change in changes:
        if change.error is not None:
            raise ApiError(change.error.message, status=409, code=change.error.code)
    change = changes[0]
    return JSONResponse({"name": change.name, "outcome": change.outcome, "digest": change.digest})


@router.post(
    "/models/{model}/unload",
    summary="Serve a model no more",
    response_model=UnloadedModel,
    responses={
        200: example({"name": "bahdanau-en-fr", "outcome": "unloaded"}),
        **errors_of(403, 404, 409),
    },
)
async def unload(request: Request, model: str) -> JSONResponse:
    """Requests that began with it end with it; the last model stays."""
    await unload_model(service_of(request), model)
    return JSONResponse({"name": model, "outcome": "unloaded"})
