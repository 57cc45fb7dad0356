"""Every error a client can meet: one body, one table from the engine's errors to statuses.

The body is `{"error": "<what to do>", "code": "<stable word>", "request_id": "…"}`, with `"param"` where one field
of the request is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service import engine
from service.api.context import context_of
from service.logs import describe_exception, get_logger

log = get_logger(__name__)

STATUS: Mapping[type[engine.EngineError], int] = {
    engine.EngineError: 500,
    engine.InvalidInput: 400,
    engine.EmptyInput: 400,
    engine.InvalidText: 400,
    engine.UnsupportedLanguage: 400,
    engine.UnsupportedPair: 400,
    engine.UnknownModel: 404,
    engine.InputTooLong: 400,
    engine.TooManyWeights: 400,
    engine.InvalidOption: 400,
    engine.Overloaded: 503,
    engine.NotReady: 503,
    engine.Interrupted: 503,
    engine.DeadlineExceeded: 504,
    # A client that leaves gets no answer at all, so whoever reads this one meets a server that is stopping.
    engine.Cancelled: 503,
    engine.LastModel: 409,
    engine.EngineFailure: 500,
    engine.BundleError: 500,
    engine.BundleMissing: 500,
    engine.BundleCorrupt: 500,
    engine.BundleIncompatible: 500,
    engine.DeviceUnavailable: 503,
}

INTERNAL = (
    "The server failed on this request, which is not your fault. Try again, and if it happens again "
    "give the operator this request_id."
)
RETRY_AFTER_SECONDS = 1.0

HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large", 400: "invalid_request"}


class ApiError(Exception):
    """A refusal by the HTTP side itself; `message` must not quote more of the request than a short value."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "invalid_request",
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.param = param  # the field that is wrong, where it is one
        self.headers = dict(headers or {})


def invalid(message: str, code: str = "invalid_parameter", param: str | None = None) -> ApiError:
    """Return a 400 in the wording that clients of this dialect know."""
    return ApiError(f"Invalid request: {message}", code=code, param=param)


def status_of(error: engine.EngineError) -> int:
    """Return the status of an engine error: that of its class, or of the nearest ancestor in the table."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def body_of(message: str, code: str, request_id: str, param: str | None = None) -> dict[str, str]:
    """Return the one error body; `param` only where one field is wrong."""
    body = {"error": message, "code": code, "request_id": request_id}
    return body if param is None else {**body, "param": param}


def error_response(
    request: Request, status: int, message: str, code: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Answer with an error and remember its code for the access log and the metrics."""
    context = context_of(request.scope)
    context.error_code = code
    return JSONResponse(body_of(message, code, context.request_id), status_code=status, headers=dict(headers or {}))


async def handle_api_error(request: Request, error: ApiError) -> Response:
    """Return a refusal of our own."""
    context = context_of(request.scope)
    context.error_code = error.code
    body = body_of(error.message, error.code, context.request_id, error.param)
    return JSONResponse(body, status_code=error.status, headers=error.headers)


async def handle_engine_error(request: Request, error: engine.EngineError) -> Response:
    """Return an error of the engine; what is our fault is logged and not told."""
    status = status_of(error)
    headers = {}
    if status == 503:
        seconds = error.retry_after if isinstance(error, engine.Overloaded) else RETRY_AFTER_SECONDS
        headers["Retry-After"] = str(max(1, math.ceil(seconds)))
    if status == 500:
        log.error(
            "engine error",
            code=error.code,
            request_id=context_of(request.scope).request_id,
            **describe_exception(error),
        )
        return error_response(request, status, INTERNAL, error.code, headers)
    return error_response(request, status, error.message, error.code, headers)


async def handle_http_error(request: Request, error: HTTPException) -> Response:
    """Return what the framework refuses: unknown routes and methods."""
    code = HTTP_CODES.get(error.status_code, "http_error")
    message, headers = str(error.detail), dict(error.headers or {})
    if error.status_code == 404:
        message = "There is nothing at this address; /docs lists every route."
    elif error.status_code == 405:
        # The framework names the methods of one route, but two may share a path.
        allowed = ", ".join(request.app.state.methods.get(request.url.path, ()) or [headers.get("Allow", "")])
        headers["Allow"] = allowed
        message = f"This address does not take {request.method[:16]}; it takes {allowed}."
    return error_response(request, error.status_code, message, code, headers)


async def handle_validation_error(request: Request, error: RequestValidationError) -> Response:
    """Return what the framework's own validation refuses: 400, because 422 breaks the clients of this dialect."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first.get("loc", ()) if part not in {"body", "query", "path"})
    message = f"Invalid request: {where or 'the request'}: {first.get('msg', 'is not valid')}"
    return error_response(request, 400, message, "invalid_parameter")


Handler = Callable[[Request, Exception], Awaitable[Response]]


def install_error_handlers(app: FastAPI) -> None:
    """Give every kind of error its handler; what is unhandled is answered by the outermost middleware."""
    handlers: dict[type[Exception], object] = {
        ApiError: handle_api_error,
        engine.EngineError: handle_engine_error,
        HTTPException: handle_http_error,
        RequestValidationError: handle_validation_error,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)  # type: ignore[arg-type]
