"""Adds to the OpenAPI document: request bodies in three encodings, query parameters, examples, errors."""

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from service import __version__
from service.api.paths import ADMIN, DIALECT, UPLOADS, is_public
from service.api.request_body import MEDIA_TYPE_FORM, MEDIA_TYPE_MULTIPART
from service.api.schemas.common import ErrorBody

REFERENCE = "#/components/schemas/{model}"

TAGS = {
    "Translation": "Translation and language detection, compatible with LibreTranslate.",
    "Documents": "Translation of documents in the background.",
    "Attention": "Attention weights of a translation, as data and as pictures.",
    "Models": "Served languages and glossaries, and models with their model cards.",
    "Open Inference Protocol": "For clients of KServe and Triton.",
    "Operations": "Health probes and metrics.",
}

# What the document shows: an example of each error, and requests and answers of the routes.
SHOWN: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
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
        description, message, code = SHOWN["errors"][str(status)]
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
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = form_field(parameter["schema"])
        if "description" in parameter["schema"]:
            parameter["description"] = parameter["schema"].pop("description")
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


def show(path: str, operation: dict[str, Any]) -> None:
    """Add the examples of a path to an operation."""
    shown = SHOWN["paths"].get(path, {})
    if "requests" in shown and "requestBody" in operation:
        operation["requestBody"]["content"]["application/json"]["examples"] = shown["requests"]
    answers = [response for status, response in operation["responses"].items() if status.startswith("2")]
    if "answer" in shown and "application/json" in answers[0].get("content", ()):
        answers[0]["content"]["application/json"] |= shown["answer"]


def form_field(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field in a form or a query string, where it is one text, and left out instead of null."""
    rest = {name: value for name, value in schema.items() if name != "anyOf" and value is not None}
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") not in ("null", "array", "object")]
    return {**rest, **(choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})}


def in_every_encoding(path: str, operations: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Add to the operations of a path the forms of their JSON body, and their fields as query parameters.

    A body is not required if the query string may replace it.
    """
    operations.get("get", {}).pop("requestBody", None)  # of a function that answers POST, too
    body = operations.get("post", {}).get("requestBody")
    if body is None or path.startswith("/v2/"):
        return
    described = body["content"]["application/json"]
    name = described["schema"]["$ref"].rpartition("/")[2]
    model, form = schemas[name], name.replace("Request", "Form")
    properties = {name: form_field(field) for name, field in model["properties"].items()}
    schemas[form] = {**model, "title": form, "properties": properties}
    reference = {"schema": {"$ref": REFERENCE.format(model=form)}}
    if path in UPLOADS:
        body["content"] = {MEDIA_TYPE_MULTIPART: reference}
        return
    example = next(iter(described["examples"].values()))["value"]
    body["content"] |= {kind: {**reference, "example": example} for kind in (MEDIA_TYPE_FORM, MEDIA_TYPE_MULTIPART)}
    body["required"] = False
    for method, operation in operations.items():
        needed = model["required"] if method == "get" else ()
        operation["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": name in needed,
                "schema": field,
                **({"example": example[name]} if name in example else {}),
            }
            for name, field in properties.items()
        ]


def install_openapi(app: FastAPI) -> None:
    """Make app.openapi() add what the framework does not know."""

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
            schemas = document["components"]["schemas"]
            schemas[ErrorBody.__name__] = ErrorBody.model_json_schema()
            document["components"]["securitySchemes"] = SECURITY
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    show(path, operation)
                in_every_encoding(path, operations, schemas)
                for operation in operations.values():
                    describe(path, operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

    @app.get("/spec", include_in_schema=False)  # where LibreTranslate has its own
    @app.get("/openapi.json", include_in_schema=False)
    async def document() -> JSONResponse:
        return JSONResponse(app.openapi())
