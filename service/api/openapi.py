"""Adds to the OpenAPI document: request bodies in three encodings, query parameters, examples, errors."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import JSONResponse

from service import __version__
from service.api.paths import ADMIN, DIALECT, is_public
from service.api.request_body import MEDIA_TYPE_FORM, MEDIA_TYPE_MULTIPART
from service.api.schemas.attention import AttentionRequest
from service.api.schemas.common import ErrorBody
from service.api.schemas.detect import DetectRequest
from service.api.schemas.documents import DocumentRequest
from service.api.schemas.embed import EmbedRequest
from service.api.schemas.inference import InferenceRequest
from service.api.schemas.repository import IndexRequest, LoadRequest
from service.api.schemas.stream import EVENTS, StreamRequest
from service.api.schemas.translate import TranslateRequest

REFERENCE = "#/components/schemas/{model}"
FORMS: tuple[type[BaseModel], ...] = (TranslateRequest, StreamRequest, DetectRequest, AttentionRequest, EmbedRequest)
DEFINED: tuple[type[BaseModel], ...] = (*FORMS, InferenceRequest, IndexRequest, LoadRequest, *EVENTS.values())

TAGS = {
    "Translation": "Translation and language detection, compatible with LibreTranslate.",
    "Documents": "Translation of documents in the background.",
    "Attention": "Attention weights of a translation, as data and as pictures.",
    "Embeddings": "Sentence embeddings.",
    "Models": "Served languages and glossaries, and models with their model cards.",
    "Open Inference Protocol": "For clients of KServe and Triton.",
    "Operations": "Health probes and metrics.",
}

ERRORS: dict[int, tuple[str, str, str]] = {
    400: ("The request is invalid", "Invalid request: missing q parameter", "missing_parameter"),
    401: ("An API key is missing (if the operator requires one)",
          "Please contact the server operator to get an API key", "key_required"),
    403: ("The API key is invalid (if the operator uses API keys)", "Invalid API key", "invalid_key"),
    404: ("No such model", "No model is called nope; GET /models lists them.", "unknown_model"),
    405: ("The method is not supported", "This address does not take POST; it takes GET.", "method_not_allowed"),
    406: ("The requested media type is not available", "Only application/json is available.", "not_acceptable"),
    408: ("The body arrived too slowly", "The body did not arrive within 30 seconds; send less, or send it faster.",
          "body_timeout"),
    409: ("The model has changed", "The model has changed since this address was made; leave out digest to use the "
          "current model.", "model_changed"),
    413: ("The body is too large", "The body is larger than 1048576 bytes; split the text into several requests.",
          "body_too_large"),
    414: ("The URL is too large",
          "The query string is larger than 32768 bytes; send the text in the body of a POST request.", "url_too_long"),
    415: ("The body is compressed", "The body is compressed; send it as it is, without Content-Encoding.",
          "unsupported_encoding"),
    429: ("More requests than the operator allows one client",
          "Slowdown: 300 requests in 1 minute are allowed; try again in 12 s.", "rate_limit"),
    500: ("The server failed", "The server failed on this request.", "engine_failure"),
    501: ("A format of documents is not installed",
          "This server cannot read docx, because lxml is not installed; the operator can install the extra: "
          "pip install 'translucent-mt[documents]'.", "format_not_installed"),
    503: ("The server is full, or not ready", "The queue is full; try again in a moment.", "overloaded"),
    504: ("The request took too long",
          "The request was not finished within 120 seconds; send less text, or try again later.", "deadline_exceeded"),
}  # fmt: skip

REQUEST_ID = {
    "X-Request-ID": {"description": "Id of the request, also in the server's log", "schema": {"type": "string"}}
}
RETRY_AFTER = {"headers": {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}}}}
HEADERS: dict[int, dict[str, Any]] = {
    401: {"headers": {"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}}},
    429: RETRY_AFTER,
    503: RETRY_AFTER,
}
SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key, if the operator requires one"},
    "admin": {"type": "http", "scheme": "bearer", "description": "The operator's TRANSLUCENT_ADMIN_TOKEN"},
}
DESCRIPTION = """Neural machine translation that shows its attention.

`/translate`, `/detect`, `/languages`, `/frontend/settings` and `/health` are compatible with LibreTranslate. `/v2`
implements the Open Inference Protocol. Further fields and routes are our own.
Every error has the body `{"error", "code", "request_id"}`, and every answer has the header `X-Request-ID`.
"""


def example(value: Any) -> dict[str, Any]:
    """Return the example of a JSON answer."""
    return {"content": {"application/json": {"example": value}}}


def errors_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the errors a route can answer with, apart from those that `describe` adds."""
    documented: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        description, message, code = ERRORS[status]
        answer = example({"error": message, "code": code, "request_id": "4f6c1d0a2b"})
        answer["content"]["application/json"]["schema"] = {"$ref": REFERENCE.format(model=ErrorBody.__name__)}
        documented[str(status)] = {"description": description, **answer, **HEADERS.get(status, {})}
    return documented


def v2_operation_id(route: APIRoute) -> str:
    """Return the operation id of a route of the Open Inference Protocol; the other ids are names of functions."""
    return f"v2_{route.name}"


def describe(path: str, operation: dict[str, Any]) -> None:
    """Add to an operation what follows from its path and body: access, errors, and the header of every answer.

    Its summary is the first line of the docstring.
    """
    summary, _, operation["description"] = operation["description"].partition("\n\n")
    operation["summary"] = summary.removesuffix(".")
    statuses = {500}
    if "{" in path:
        statuses.add(404)
    if "requestBody" in operation:
        statuses |= {400, 408, 413, 415, 503, 504}
    if not is_public(path):
        operation["security"] = [{"admin": []}] if path.startswith(ADMIN) else [{}, {"key": []}]
        statuses |= {400, 403, 429} if path in DIALECT or path.startswith(ADMIN) else {400, 401, 403, 429}
    responses = {**errors_of(*statuses), **operation["responses"]}
    responses.pop("422", None)  # the framework's own, which is never sent
    for response in responses.values():
        response["headers"] = {**response.get("headers", {}), **REQUEST_ID}
    operation["responses"] = dict(sorted(responses.items()))


def form_name(model: type[BaseModel]) -> str:
    """Return the name of the schema of a request's form."""
    return model.__name__.replace("Request", "Form")


def form_field(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field in a form or a query string, where it is one text, and left out instead of null."""
    rest = {name: value for name, value in schema.items() if name != "anyOf" and value is not None}
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") not in ("null", "array", "object")]
    return {**rest, **(choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})}


def form_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a form."""
    schema = model.model_json_schema(ref_template=REFERENCE)
    properties = {name: form_field(field) for name, field in schema["properties"].items()}
    return {**schema, "title": form_name(model), "properties": properties}


def body_in_any_form(model: type[BaseModel], examples: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return a body in JSON, urlencoded or multipart; it is not required if the query string may replace it."""
    reference = {"$ref": REFERENCE.format(model=model.__name__)}
    form_reference = {"$ref": REFERENCE.format(model=form_name(model))}
    first = next(iter(examples.values()))["value"]
    return {
        "required": required,
        "content": {
            "application/json": {"schema": reference, "examples": examples},
            MEDIA_TYPE_FORM: {"schema": form_reference, "example": first},
            MEDIA_TYPE_MULTIPART: {"schema": form_reference, "example": first},
        },
    }


def document_form() -> dict[str, Any]:
    """Return the documentation of a form with a document."""
    schema = form_schema(DocumentRequest)
    file = {"type": "string", "format": "binary", "description": "The document; its name says its format"}
    form = {
        "type": "object",
        "properties": {"file": file, **schema["properties"]},
        "required": ["file", *schema["required"]],
    }
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE_MULTIPART: {"schema": form}}}}


def fields_anywhere(model: type[BaseModel], examples: dict[str, Any]) -> dict[str, Any]:
    """Return the documentation of a route whose fields may be in the query string or in the body."""
    first = next(iter(examples.values()))["value"]
    return {
        "requestBody": body_in_any_form(model, examples, required=False),
        "parameters": query_parameters(model, first, required=False),
    }


def json_body(model: type[BaseModel], summary: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a body in JSON that may be left out, with one example."""
    reference = {"$ref": REFERENCE.format(model=model.__name__)}
    content = {"schema": reference, "examples": {"one": {"summary": summary, "value": value}}}
    return {"required": False, "content": {"application/json": content}}


def query_parameters(model: type[BaseModel], examples: dict[str, Any], *, required: bool) -> list[dict[str, Any]]:
    """Return the fields of a model as query parameters; none is required if they may be in the body instead."""
    schema = model.model_json_schema()
    needed = set(schema.get("required", ())) if required else set()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in needed,
            "schema": {key: value for key, value in form_field(field).items() if key != "description"},
            **({"description": field["description"]} if "description" in field else {}),
            **({"example": examples[name]} if name in examples else {}),
        }
        for name, field in schema["properties"].items()
    ]


def install_openapi(app: FastAPI) -> None:
    """Make app.openapi() add the schemas that only request bodies refer to."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title="Translucent",
                version=__version__,
                description=DESCRIPTION,
                license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
                tags=[{"name": name, "description": text} for name, text in TAGS.items()],
                routes=app.routes,
            )
            _, definitions = models_json_schema([(model, "validation") for model in DEFINED], ref_template=REFERENCE)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas.update(definitions.get("$defs", {}))
            schemas.update({form_name(model): form_schema(model) for model in FORMS})
            document["components"]["securitySchemes"] = SECURITY
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    describe(path, operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

    @app.get("/spec", include_in_schema=False)  # where LibreTranslate has its own
    @app.get("/openapi.json", include_in_schema=False)
    async def document() -> JSONResponse:
        return JSONResponse(app.openapi())
