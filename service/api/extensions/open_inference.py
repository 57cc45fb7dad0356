"""The Open Inference Protocol, version 2, for clients of KServe and Triton: metadata, readiness, inference."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service import __version__
from service.api.checks import check_texts
from service.api.direct_route import ContextDep, DirectRoute, ServiceDep
from service.api.extensions.tensors import infer_with, pair_of, render
from service.api.openapi import example, v2_operation_id
from service.api.rendering import REPRESENTATIONS
from service.api.request_body import JSON_LENGTH_HEADER
from service.api.schemas.inference import InferenceRequest, InferenceResponse
from service.engine import ModelInfo, TranslationOptions, UnknownModel, kept

router = APIRouter(
    prefix="/v2",
    tags=["Open Inference Protocol"],
    generate_unique_id_function=v2_operation_id,
    route_class=DirectRoute,
)
MODEL, VERSION = "/models/{model}", "/models/{model}/versions/{version}"  # which is the same

MEDIA_TYPE = "application/octet-stream"
TEXT = {"name": "text", "datatype": "BYTES", "shape": [-1]}
TARGET_TEXT = {"name": "target_text", "datatype": "BYTES", "shape": [-1]}
OUTPUTS = [
    {"name": "translation", "datatype": "BYTES", "shape": [-1]},
    {"name": "score", "datatype": "FP32", "shape": [-1]},
]
ATTENTION = {"name": "attention", "datatype": "FP32", "shape": [-1, -1]}
# The metadata list the required inputs and the default outputs; optional ones are among the properties.
OPTIONAL = {"optional_inputs": "target_text", "optional_outputs": "attention"}
METADATA = {
    "name": "transformer-en-fr",
    "versions": ["1"],
    "platform": "onnx_onnxv1",
    "inputs": [TEXT],
    "outputs": OUTPUTS,
    "properties": {"source": "en", "target": "fr", "architecture": "transformer", "digest": "sha256:…", **OPTIONAL},
}
TYPES = {"BYTES": "TYPE_STRING", "FP32": "TYPE_FP32"}
EXTENSIONS = ["binary_tensor_data", "model_configuration", "parameters"]
SERVER = {"name": "translucent", "version": __version__, "extensions": [*EXTENSIONS, "model_repository"]}


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
        "output": [tensor(output) for output in (*OUTPUTS, ATTENTION)],
        "model_transaction_policy": {"decoupled": False},
    }


def readiness(responses: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of both answers about readiness."""
    not_ready = {"description": "Not ready", "model": dict[str, str | bool], **example({**responses, "ready": False})}
    return {200: example({**responses, "ready": True}), 503: not_ready}


async def named_model(request: Request, model: str, service: ServiceDep) -> ModelInfo:
    """Return the loaded model of a name and, if the path has one, a version; raise UnknownModel."""
    version = request.path_params.get("version")
    for info in service.registry.models():
        if info.name == model and version in {None, info.version}:
            return info
    raise UnknownModel("There is no such model or version; GET /v2/models lists the models.")


ModelDep = Annotated[ModelInfo, Depends(named_model)]


@router.get("/health/live", response_model=dict[str, bool], responses={200: example({"live": True})})
async def get_liveness() -> JSONResponse:
    """Report that the event loop answers."""
    return JSONResponse({"live": True})


@router.get("/health/ready", response_model=dict[str, bool], responses=readiness({}))
async def get_readiness(service: ServiceDep) -> JSONResponse:
    """Report whether the models are loaded and warmed up, the engine is alive, and the server is not stopping."""
    is_ready = service.ready
    return JSONResponse({"ready": is_ready}, status_code=200 if is_ready else 503)


@router.get("/", include_in_schema=False)
@router.get("", response_model=dict[str, str | list[str]], responses={200: example(SERVER)})
async def get_server(service: ServiceDep) -> JSONResponse:
    """Return name, version and extensions; `model_repository` only if the operator has enabled it."""
    extensions = [*EXTENSIONS, "model_repository"] if service.settings.admin_token else EXTENSIONS
    return JSONResponse({**SERVER, "extensions": extensions})


@router.get("/models", response_model=dict[str, list[str]], responses={200: example({"models": ["transformer-en-fr"]})})
async def list_models(service: ServiceDep) -> JSONResponse:
    """List the names of the loaded models."""
    return JSONResponse({"models": [info.name for info in service.registry.models()]})


@router.get(VERSION, include_in_schema=False)
@router.get(MODEL, response_model=dict[str, Any], responses={200: example(METADATA)})
async def get_model(info: ModelDep) -> JSONResponse:
    """Describe the inputs and outputs of a model; `/models/{model}/versions/{version}` is the same."""
    properties = {
        "source": ", ".join(info.sources),
        "target": ", ".join(info.targets),
        "architecture": info.architecture,
        "digest": info.digest,
        **OPTIONAL,
    }
    if len(info.pairs) > 1:
        properties["parameters"] = "source, target"
    return JSONResponse({**METADATA, "name": info.name, "versions": [info.version], "properties": properties})


@router.get(VERSION + "/config", include_in_schema=False)
@router.get(
    MODEL + "/config", response_model=dict[str, Any], responses={200: example(configuration("transformer-en-fr"))}
)
async def get_model_configuration(info: ModelDep) -> JSONResponse:
    """Return the configuration of a model in Triton's format, which some clients request first.

    It includes the optional tensors.
    """
    return JSONResponse(configuration(info.name))


@router.get(VERSION + "/ready", include_in_schema=False)
@router.get(MODEL + "/ready", response_model=dict[str, str | bool], responses=readiness({"name": "transformer-en-fr"}))
async def get_model_readiness(info: ModelDep, service: ServiceDep) -> JSONResponse:
    """Report whether this model accepts requests now, independent of the others."""
    is_ready = service.model_ready(info.name)
    return JSONResponse({"name": info.name, "ready": is_ready}, status_code=200 if is_ready else 503)


@router.post(VERSION + "/infer", include_in_schema=False)
@router.post(
    MODEL + "/infer",
    response_model=InferenceResponse,
    responses={
        200: {
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "headers": {
                JSON_LENGTH_HEADER: {
                    "description": "Length of the JSON, if outputs were requested as bytes",
                    "schema": {"type": "integer"},
                }
            },
        },
    },
)
async def infer(info: ModelDep, request: InferenceRequest, service: ServiceDep, context: ContextDep) -> Response:
    """Translate the texts of the input `text`, or with `target_text` score the given translations (forced decoding).

    Tensors may be bytes after the JSON (binary tensor data extension), which is what Triton's clients send and want.
    """
    for tensor in request.inputs:
        check_texts(tensor.data, service.settings)
    context.count(request.texts, info.name)
    fields = request.parameters
    pair = pair_of(fields, info)
    translator = service.registry.resolve(*pair, info.name)
    with kept([translator]):
        glossary = await context.wait_for(service.glossary(fields.glossary, pair, [translator]))
        options = TranslationOptions.of(fields, glossary=glossary)
        tensors = await context.wait_for(infer_with(translator, request, options, context.deadline))
    head = {"model_name": info.name, "model_version": info.version}
    if request.id is not None:
        head["id"] = request.id
    rendered = partial(render, head, tensors, request.binary)
    large = "attention" in tensors  # tens of thousands of numbers, too many to write on the event loop
    answer, json_length = await context.wait_for(REPRESENTATIONS.run(rendered)) if large else rendered()
    if json_length is None:
        return Response(answer, media_type="application/json")
    return Response(answer, media_type=MEDIA_TYPE, headers={JSON_LENGTH_HEADER: str(json_length)})
