"""The errors of the engine, in one tree without HTTP.

The roots and the errors of bundles are defined in `service.bundle`, where bundles are read.
The message is a sentence a person can act on.
"""

from __future__ import annotations

from typing import TypeVar

from service.bundle.errors import BundleCorrupt as BundleCorrupt
from service.bundle.errors import BundleError as BundleError
from service.bundle.errors import BundleIncompatible as BundleIncompatible
from service.bundle.errors import BundleMissing as BundleMissing
from service.bundle.errors import EngineError as EngineError
from service.bundle.errors import InvalidInput as InvalidInput

AnyError = TypeVar("AnyError", bound=EngineError)


def without_frames(error: AnyError) -> AnyError:
    """Return an error that is kept, without tracebacks and causes: their frames would keep a model in memory."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


class EmptyInput(InvalidInput):
    """A required text is empty."""


class InvalidText(InvalidInput):
    """The text contains a code point that is not a character, such as a lone surrogate."""


class UnsupportedLanguage(InvalidInput):
    """No loaded model knows this language."""


class UnsupportedPair(InvalidInput):
    """Both languages are known, but no model translates from one to the other."""


class UnknownModel(InvalidInput):
    """No loaded model has this name, or the model does not serve the requested pair."""


class InputTooLong(InvalidInput):
    """The text is longer than the model or the configured limits allow."""


class TooManyWeights(InvalidInput):
    """The request is for more attention weights than one answer may hold."""


class InvalidOption(InvalidInput):
    """An option is outside the accepted values."""


class Overloaded(EngineError):
    """The queue is full; `retry_after` estimates the seconds until it has room."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotReady(EngineError):
    """The model is not serving: loading, stopping, or dead."""


class Interrupted(NotReady):
    """The engine process ended before the work was done; a new one replaces it."""

    @classmethod
    def of_a_process(cls, name: str) -> Interrupted:
        """Return the error for requests of a process that has ended."""
        return cls(f"The engine process of the model {name} ended and is being restarted; send the request again.")


class ModelNotOpened(NotReady):
    """A closed model could not be opened; `retry_after` is the time until the next attempt."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DeadlineExceeded(EngineError):
    """The caller's deadline passed before the work was done."""


class Cancelled(EngineError):
    """The caller cancelled the request before it was done."""


class NotEnoughMemory(EngineError):
    """A model does not fit below the memory limit, even if no other one is open."""


class LastModel(EngineError):
    """The only model cannot be unloaded, because no model would be left to serve."""


class EngineFailure(EngineError):
    """A run of the model failed; the caller is not the cause."""

    @classmethod
    def of_a_run(cls) -> EngineFailure:
        """Return the error for requests in a run that failed."""
        return cls("The translation failed inside the engine; the request is not the cause.")

    @classmethod
    def of_a_model(cls, name: str) -> EngineFailure:
        """Return the error for requests to a model that has failed for good."""
        return cls(f"The model {name} has failed and accepts no requests.")


class DeviceUnavailable(EngineError):
    """The requested device cannot be used here."""
