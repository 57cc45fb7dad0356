"""The Open Inference Protocol, version 2, for clients of KServe and Triton: metadata, readiness, inference."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service import __version__
from service.api.binary_tensors import JSON_LENGTH_HEADER, MEDIA_TYPE, split_body
from service.api.dependencies import ContextDep, ServiceDep
from service.api.extensions.tensors import infer_with, pair_of, read_inference, render
from service.api.openapi import REFERENCE, errors_of, example
from service.api.request_body import decode_json, read_body
from service.api.schemas.inference_request import InferenceRequest
from service.api.schemas.open_inference import (
    InferenceResponse,
    ModelConfiguration,
    ModelMetadata,
    ModelNames,
    ModelReady,
    ServerLive,
    ServerMetadata,
    ServerReady,
)
from service.api.thread_pools import REPRESENTATIONS
from service.engine import ModelInfo, UnknownModel

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])

TEXT = {"name": "text", "datatype": "BYTES", "shape": [-1]}
TARGET_TEXT = {"name": "target_text", "datatype": "BYTES", "shape": [-1]}
OUTPUTS = [
    {"name": "translation", "datatype": "BYTES", "shape": [-1]},
    {"name": "score", "datatype": "FP32", "shape": [-1]},
]
QUALITY = {"name": "quality", "datatype": "FP32", "shape": [-1]}
ATTENTION = {"name": "attention", "datatype": "FP32", "shape": [-1, -1]}
# The metadata list the required inputs and the default outputs; optional ones are among the properties.
OPTIONAL = {"optional_inputs": "target_text", "optional_outputs": "quality, attention"}
LANGUAGE_PARAMETERS = "source, target"
METADATA = {
    "name": "transformer-en-fr",
    "versions": ["1"],
    "platform": "onnx_onnxv1",
    "inputs": [TEXT],
    "outputs": OUTPUTS,
    "properties": {"source": "en", "target": "fr", "architecture": "transformer", "digest": "sha256:…", **OPTIONAL},
}
TYPES = {"BYTES": "TYPE_STRING", "FP32": "TYPE_FP32"}
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


async def get_model(request: Request, model: str, service: ServiceDep) -> ModelInfo:
    """Return the loaded model of a name and, if the path has one, a version; raise UnknownModel."""
    version = request.path_params.get("version")
    for info in service.registry.models():
        if info.name == model and version in {None, info.version}:
            return info
    raise UnknownModel("There is no such model or version; GET /v2/models lists the models.")


ModelDep = Annotated[ModelInfo, Depends(get_model)]


@router.get(
    "/health/live",
    operation_id="v2_get_liveness",
    summary="Liveness",
    response_model=ServerLive,
    responses={200: example({"live": True})},
)
async def live() -> JSONResponse:
    """Report that the event loop answers."""
    return JSONResponse({"live": True})


@router.get(
    "/health/ready",
    operation_id="v2_get_readiness",
    summary="Readiness",
    response_model=ServerReady,
    responses={
        200: example({"ready": True}),
        503: {"description": "Not ready", "model": ServerReady, **example({"ready": False})},
    },
)
async def ready(service: ServiceDep) -> JSONResponse:
    """Report whether the models are loaded and warmed up, the engine is alive, and the server is not stopping."""
    is_ready = service.ready
    return JSONResponse({"ready": is_ready}, status_code=200 if is_ready else 503)


EXTENSIONS = ["binary_tensor_data", "model_configuration", "parameters"]
SERVER = {"name": "translucent", "version": __version__, "extensions": [*EXTENSIONS, "model_repository"]}


@router.get("/", include_in_schema=False)
@router.get(
    "",
    operation_id="v2_get_server",
    summary="The server",
    response_model=ServerMetadata,
    responses={200: example(SERVER)},
)
async def server(service: ServiceDep) -> JSONResponse:
    """Return name, version and extensions; `model_repository` only if the operator has enabled it."""
    extensions = [*EXTENSIONS, "model_repository"] if service.settings.admin_token else EXTENSIONS
    return JSONResponse({**SERVER, "extensions": extensions})


@router.get(
    "/models",
    operation_id="v2_list_models",
    summary="Names of the models",
    response_model=ModelNames,
    responses={200: example({"models": ["transformer-en-fr"]})},
)
async def names(service: ServiceDep) -> JSONResponse:
    """List the loaded models."""
    return JSONResponse({"models": [info.name for info in service.registry.models()]})


@router.get("/models/{model}/versions/{version}", include_in_schema=False)
@router.get(
    "/models/{model}",
    operation_id="v2_get_model",
    summary="Inputs and outputs of a model",
    response_model=ModelMetadata,
    responses={200: example(METADATA), **errors_of(404)},
)
async def metadata(info: ModelDep) -> JSONResponse:
    """Describe a model; `/models/{model}/versions/{version}` is the same."""
    properties = {
        "source": ", ".join(info.sources),
        "target": ", ".join(info.targets),
        "architecture": info.architecture,
        "digest": info.digest,
        **OPTIONAL,
    }
    if len(info.pairs) > 1:
        properties["parameters"] = LANGUAGE_PARAMETERS
    return JSONResponse({**METADATA, "name": info.name, "versions": [info.version], "properties": properties})


def configuration(name: str) -> dict[str, Any]:
    """Return a model in the form of Triton's configuration; the first axis is the texts, so there is no batch axis."""

    def tensor(given: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": given["name"], "data_type": TYPES[given["datatype"]], "dims": given["shape"], **more}

    return {
        "name": name,
        "platform": METADATA["platform"],
        "backend": "onnxruntime",
        "max_batch_size": 0,
        "input": [tensor(TEXT), tensor(TARGET_TEXT, optional=True)],
        "output": [tensor(output) for output in (*OUTPUTS, QUALITY, ATTENTION)],
        "model_transaction_policy": {"decoupled": False},
    }


@router.get("/models/{model}/versions/{version}/config", include_in_schema=False)
@router.get(
    "/models/{model}/config",
    operation_id="v2_get_model_configuration",
    summary="Configuration of a model, in Triton's format",
    response_model=ModelConfiguration,
    responses={200: example(configuration("transformer-en-fr")), **errors_of(404)},
)
async def config(info: ModelDep) -> JSONResponse:
    """Return the model's configuration, which some clients request first; it includes the optional tensors."""
    return JSONResponse(configuration(info.name))


@router.get("/models/{model}/versions/{version}/ready", include_in_schema=False)
@router.get(
    "/models/{model}/ready",
    operation_id="v2_get_model_readiness",
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
async def model_ready(info: ModelDep, service: ServiceDep) -> JSONResponse:
    """Report whether this model accepts requests now, independent of the others."""
    is_ready = service.model_ready(info.name)
    return JSONResponse({"name": info.name, "ready": is_ready}, status_code=200 if is_ready else 503)


@router.post("/models/{model}/versions/{version}/infer", include_in_schema=False)
@router.post(
    "/models/{model}/infer",
    operation_id="v2_infer",
    summary="Translate, or score given translations",
    response_model=InferenceResponse,
    responses={
        200: {
            "content": {
                "application/json": {"example": RESPONSE},
                MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            },
            "headers": {
                JSON_LENGTH_HEADER: {
                    "description": "Length of the JSON, if outputs were requested as bytes",
                    "schema": {"type": "integer"},
                }
            },
        },
        **errors_of(400, 404, 408, 413, 415, 500, 503, 504),
    },
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
async def infer(request: Request, info: ModelDep, service: ServiceDep, context: ContextDep) -> Response:
    """Translate the texts of the input `text`; with `target_text` they are scored as they are (forced decoding).

    Tensors may be bytes after the JSON (binary tensor data extension), which is what Triton's clients send and want.
    """
    body, data = split_body(await read_body(request), request.headers.get(JSON_LENGTH_HEADER))
    inference = read_inference(decode_json(body), data, service.settings)
    context.count(inference.texts, info.name)
    pair = pair_of(inference, info)
    translator = service.registry.resolve(*pair, info.name)
    glossary = service.glossary(inference.glossary, pair, [translator])
    inference = replace(inference, options=replace(inference.options, glossary=glossary))
    tensors = await context.deadline.wait_for(infer_with(translator, inference, context.deadline.at))
    head = {"model_name": info.name, "model_version": info.version}
    if inference.id is not None:
        head["id"] = inference.id
    rendered = partial(render, head, tensors, inference.binary)
    large = "attention" in inference.outputs  # tens of thousands of numbers, too many to write on the event loop
    answer, json_length = await context.deadline.wait_for(REPRESENTATIONS.run(rendered)) if large else rendered()
    if json_length is None:
        return Response(answer, media_type="application/json")
    return Response(answer, media_type=MEDIA_TYPE, headers={JSON_LENGTH_HEADER: str(json_length)})
