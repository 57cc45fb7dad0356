"""Every error that a client can get: one body, and one table from the engine's errors to statuses.

The body is `{"error": "<what to do>", "code": "<stable word>", "request_id": "…"}`, with `"param"` if one field of the
request is wrong.
"""

from collections.abc import Mapping

from service import engine
from service.documents import errors as documents
from service.glossaries import checks as glossaries

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
    glossaries.InvalidGlossary: 400,
    glossaries.UnknownGlossary: 400,
    documents.DocumentError: 400,
    documents.UnsupportedDocument: 400,
    documents.FormatNotInstalled: 501,
    documents.BrokenDocument: 400,
    documents.UnsafeDocument: 400,
    documents.DocumentEncoding: 400,
    documents.DocumentTooLarge: 413,
    engine.Overloaded: 503,
    engine.NotReady: 503,
    engine.Interrupted: 503,
    engine.ModelNotOpened: 503,
    engine.DeadlineExceeded: 504,
    # Only sent while the server stops: a disconnected client gets no answer.
    engine.Cancelled: 503,
    engine.NotEnoughMemory: 503,
    engine.LastModel: 409,
    engine.EngineFailure: 500,
    engine.BundleError: 500,
    engine.BundleMissing: 500,
    engine.BundleCorrupt: 500,
    engine.BundleIncompatible: 500,
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


def status_of(error: engine.EngineError) -> int:
    """Return the status of an engine error: that of its class, or of the nearest ancestor in the table."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def status_of_code(code: str | None) -> int:
    """Return the status of the engine error with this code, as `status_of` does; 500 for an unknown code."""
    return next((status for kind, status in STATUS.items() if kind.code == code), 500)


def body_of(message: str, code: str, request_id: str, param: str | None = None) -> dict[str, str]:
    """Return the body of every error; `param` only if one field is wrong."""
    body = {"error": message, "code": code, "request_id": request_id}
    return body if param is None else {**body, "param": param}


def not_utf8(part: str, error: UnicodeDecodeError) -> ApiError:
    """Return the error for bytes that are not valid UTF-8."""
    return ApiError(f"The {part} is not valid UTF-8: see byte {error.start}.", code="invalid_text")
