"""Every error that a client can get: one body, and one table from the engine's errors to statuses.

The body is `{"error": "<what to do>", "code": "<stable word>", "request_id": "…"}`, with `"param"` if one field of the
request is wrong.
"""

from collections.abc import Mapping

from service import engine
from service.documents import errors as documents

# A kind of error that is not listed has the status of its parent.
STATUS: Mapping[type[engine.EngineError], int] = {
    engine.EngineError: 500,
    engine.InvalidInput: 400,
    engine.UnknownModel: 404,
    documents.FormatNotInstalled: 501,
    documents.DocumentTooLarge: 413,
    engine.Overloaded: 503,
    engine.NotReady: 503,
    engine.DeadlineExceeded: 504,
    # Only sent while the server stops: a disconnected client gets no answer.
    engine.Cancelled: 503,
    engine.NotEnoughMemory: 503,
    engine.LastModel: 409,
    engine.DeviceUnavailable: 503,
}

INTERNAL = "The server failed on this request. Try again; if it fails again, send this request_id to the operator."


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
        self.param = param  # the wrong field, if it is one field
        self.headers = dict(headers or {})


def invalid(message: str, code: str = "invalid_parameter", param: str | None = None) -> ApiError:
    """Return a 400 in the words of LibreTranslate, which its clients know."""
    return ApiError(f"Invalid request: {message}", code=code, param=param)


def status_of(kind: type[engine.EngineError]) -> int:
    """Return the status of a kind of error."""
    return next(STATUS[base] for base in kind.__mro__ if base in STATUS)


def status_of_code(code: str | None) -> int:
    """Return the status of the kind of error with this code; 500 for an unknown code."""
    kinds = [engine.EngineError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((status_of(kind) for kind in kinds if kind.code == code), 500)


def body_of(message: str, code: str, request_id: str, param: str | None = None) -> dict[str, str]:
    """Return the body of every error; `param` only if one field is wrong."""
    body = {"error": message, "code": code, "request_id": request_id}
    return body if param is None else {**body, "param": param}


def not_utf8(part: str, error: UnicodeDecodeError) -> ApiError:
    """Return the error for bytes that are not valid UTF-8."""
    return ApiError(f"The {part} is not valid UTF-8: see byte {error.start}.", code="invalid_text")
