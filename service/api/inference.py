"""The Open Inference Protocol, version 2, which KServe's and Triton's clients speak: metadata, readiness, inference."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service import __version__
from service.api.body import decode_json
from service.api.context import context_of
from service.api.documents import REFERENCE, errors_of, example
from service.api.inference_schemas import (
    InferenceRequest,
    InferenceResponse,
    ModelMetadata,
    ModelNames,
    ModelReady,
    ServerLive,
    ServerMetadata,
    ServerReady,
)
from service.api.state import service_of
from service.api.tensors import Inference, infer_with, read_inference
from service.engine.errors import UnknownModel
from service.engine.types import ModelInfo

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])

TEXT = {"name": "text", "datatype": "BYTES", "shape": [-1]}
TARGET_TEXT = {"name": "target_text", "datatype": "BYTES", "shape": [-1]}
OUTPUTS = [
    {"name": "translation", "datatype": "BYTES", "shape": [-1]},
    {"name": "score", "datatype": "FP32", "shape": [-1]},
    {"name": "attention", "datatype": "FP32", "shape": [-1, -1]},
]
METADATA = {
    "name": "transformer-en-fr",
    "versions": ["1"],
    "platform": "onnx_onnxv1",
    "inputs": [TEXT, TARGET_TEXT],
    "outputs": OUTPUTS,
    "properties": {"source": "en", "target": "fr", "architecture": "transformer", "digest": "sha256:…"},
}
READY = {"name": "transformer-en-fr", "ready": True}
REQUEST = {
    "id": "42",
    "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["I lost."]}],
    "parameters": {"beam_size": 4},
    "outputs": [{"name": "translation"}],
}
RESPONSE = {
    "model_name": "transformer-en-fr",
    "model_version": "1",
    "id": "42",
    "outputs": [{"name": "translation", "shape": [1], "datatype": "BYTES", "data": ["J'ai perdu."]}],
}


@router.get("/health/live", summary="Liveness", response_model=ServerLive, responses={200: example({"live": True})})
async def live() -> JSONResponse:
    """The event loop answers."""
    return JSONResponse({"live": True})


@router.get(
    "/health/ready",
    summary="Readiness",
    response_model=ServerReady,
    responses={
        200: example({"ready": True}),
        503: {"description": "Not ready", "model": ServerReady, **example({"ready": False})},
    },
)
async def ready(request: Request) -> JSONResponse:
    """Models loaded and warmed up, engine alive, not stopping."""
    is_ready = service_of(request).ready
    return JSONResponse({"ready": is_ready}, status_code=200 if is_ready else 503)


SERVER = {"name": "translucent", "version": __version__, "extensions": list[str]()}


@router.get("/", include_in_schema=False)
@router.get("", summary="The server", response_model=ServerMetadata, responses={200: example(SERVER)})
async def server() -> JSONResponse:
    """Name and version of the server."""
    return JSONResponse(SERVER)


@router.get(
    "/models",
    summary="Names of the models",
    response_model=ModelNames,
    responses={200: example({"models": ["transformer-en-fr"]})},
)
async def names(request: Request) -> JSONResponse:
    """List what is loaded."""
    return JSONResponse({"models": [info.name for info in service_of(request).registry.models()]})


@router.get("/models/{model}/versions/{version}", include_in_schema=False)
@router.get(
    "/models/{model}",
    summary="What a model takes and gives",
    response_model=ModelMetadata,
    responses={200: example(METADATA), **errors_of(404)},
)
async def metadata(request: Request, model: str, version: str | None = None) -> JSONResponse:
    """Describe a model; `/models/{model}/versions/{version}` is the same."""
    info = find(request, model, version)
    properties = {
        "source": info.source_language,
        "target": info.target_language,
        "architecture": info.architecture,
        "digest": info.digest,
    }
    return JSONResponse({**METADATA, "name": info.name, "versions": [info.version], "properties": properties})


@router.get("/models/{model}/versions/{version}/ready", include_in_schema=False)
@router.get(
    "/models/{model}/ready",
    summary="Readiness of a model",
    response_model=ModelReady,
    responses={
        200: example(READY),
        503: {
            "description": "Not ready",
            "model": ModelReady,
            **example({"name": "transformer-en-fr", "ready": False}),
        },
        **errors_of(404),
    },
)
async def model_ready(request: Request, model: str, version: str | None = None) -> JSONResponse:
    """Whether a model can be asked now."""
    info = find(request, model, version)
    is_ready = service_of(request).ready
    return JSONResponse({"name": info.name, "ready": is_ready}, status_code=200 if is_ready else 503)


@router.post("/models/{model}/versions/{version}/infer", include_in_schema=False)
@router.post(
    "/models/{model}/infer",
    summary="Translate, or score given translations",
    response_model=InferenceResponse,
    responses={200: example(RESPONSE), **errors_of(400, 404, 408, 413, 500, 503, 504)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": REFERENCE.format(model=InferenceRequest.__name__)},
                    "examples": {"text": {"summary": "A text", "value": REQUEST}},
                }
            },
        }
    },
)
async def infer(request: Request, model: str, version: str | None = None) -> JSONResponse:
    """Translate the texts of the input `text`; with `target_text` they are scored as they are (forced decoding)."""
    service = service_of(request)
    info = find(request, model, version)
    inference = read_inference(decode_json(await request.body()), service.settings)
    context = context_of(request.scope)
    context.model, context.texts, context.characters = info.name, len(inference.texts), sum(map(len, inference.texts))
    translator = service.registry.resolve(info.source_language, info.target_language, info.name)
    deadline = service.deadline(context)
    outputs = await service.in_time(deadline, infer_with(translator, inference, deadline))
    return JSONResponse(answer(info, inference, outputs))


def answer(info: ModelInfo, inference: Inference, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer's JSON; `id` only where the client gave one."""
    own = {"model_name": info.name, "model_version": info.version}
    return {**own, **({} if inference.id is None else {"id": inference.id}), "outputs": outputs}


def find(request: Request, name: str, version: str | None) -> ModelInfo:
    """The loaded model of a name and, if given, a version; raises UnknownModel."""
    for info in service_of(request).registry.models():
        if info.name == name and version in {None, info.version}:
            return info
    raise UnknownModel("There is no such model, or not of that version; GET /v2/models lists the names.")
