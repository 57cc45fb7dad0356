"""Turns errors into answers."""

import math
from collections.abc import Mapping

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service import engine
from service.api.context import context_of
from service.api.errors import INTERNAL, ApiError, body_of, status_of
from service.logs import describe_exception, get_logger

log = get_logger(__name__)

HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


def error_response(
    request: Request,
    status: int,
    message: str,
    code: str,
    headers: Mapping[str, str] | None = None,
    param: str | None = None,
) -> JSONResponse:
    """Answer with an error and remember its code for the access log and the metrics."""
    context = context_of(request.scope)
    context.error_code = code
    body = body_of(message, code, context.request_id, param)
    return JSONResponse(body, status_code=status, headers=headers)


async def handle_api_error(request: Request, error: ApiError) -> Response:
    """Return the answer to an ApiError."""
    return error_response(request, error.status, error.message, error.code, error.headers, error.param)


async def handle_engine_error(request: Request, error: engine.EngineError) -> Response:
    """Return the answer to an error of the engine; internal failures are logged and not described to the client."""
    status = status_of(type(error))
    headers = {}
    if status == 503:
        headers["Retry-After"] = str(max(1, math.ceil(getattr(error, "retry_after", 1.0))))
    if status == 500:
        request_id = context_of(request.scope).request_id
        log.error("engine error", code=error.code, request_id=request_id, **describe_exception(error))
    return error_response(request, status, INTERNAL if status == 500 else error.message, error.code, headers)


async def handle_http_error(request: Request, error: HTTPException) -> Response:
    """Return the answer to the framework's refusals: unknown routes and methods; OPTIONS asks for the methods."""
    code = HTTP_CODES.get(error.status_code, "http_error")
    message, headers = str(error.detail), dict(error.headers or {})
    if error.status_code == 404:
        message = "There is no such route; /docs lists all routes."
    elif error.status_code == 405:
        # The framework names the methods of one route, but several may share a path.
        template = getattr(request.scope.get("route"), "path", request.url.path)
        methods = request.app.state.methods.get(template) or [headers.get("Allow", "")]
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": ", ".join(("OPTIONS", *methods))})
        headers["Allow"] = allowed = ", ".join(methods)
        message = f"This address does not take {request.method[:16]}; it takes {allowed}."
    return error_response(request, error.status_code, message, code, headers)


def install_error_handlers(app: FastAPI) -> None:
    """Set the handler of every kind of error; the outermost middleware answers unhandled ones."""
    handlers: dict[type[Exception], object] = {
        ApiError: handle_api_error,
        engine.EngineError: handle_engine_error,
        HTTPException: handle_http_error,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)  # type: ignore[arg-type]
