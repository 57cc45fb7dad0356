"""The errors of the engine, in one tree without HTTP.

The root and the errors of bundles are defined in `service.bundle`, where bundles are read.
Every class has a stable `code`, a word that clients may match on; the message is a sentence a person can act on.
"""

from __future__ import annotations

from service.bundle.errors import BundleCorrupt as BundleCorrupt
from service.bundle.errors import BundleError as BundleError
from service.bundle.errors import BundleIncompatible as BundleIncompatible
from service.bundle.errors import BundleMissing as BundleMissing
from service.bundle.errors import EngineError as EngineError


class InvalidInput(EngineError):
    """The request itself is wrong; repeating it will not help."""

    code = "invalid_input"


class EmptyInput(InvalidInput):
    """A required text is empty."""

    code = "empty_input"


class InvalidText(InvalidInput):
    """The text contains a code point that is not a character, such as a lone surrogate."""

    code = "invalid_text"


class UnsupportedLanguage(InvalidInput):
    """No loaded model knows this language."""

    code = "unsupported_language"


class UnsupportedPair(InvalidInput):
    """Both languages are known, but no model translates from one to the other."""

    code = "unsupported_pair"


class UnknownModel(InvalidInput):
    """No loaded model has this name, or the model does not serve the requested pair."""

    code = "unknown_model"


class InputTooLong(InvalidInput):
    """The text is longer than the model or the configured limits allow."""

    code = "input_too_long"


class TooManyWeights(InvalidInput):
    """The request is for more attention weights than one answer may hold."""

    code = "too_many_weights"


class InvalidOption(InvalidInput):
    """An option is outside the accepted values."""

    code = "invalid_option"


class Overloaded(EngineError):
    """The queue is full; `retry_after` estimates the seconds until it has room."""

    code = "overloaded"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotReady(EngineError):
    """The model is not serving: loading, stopping, or dead."""

    code = "not_ready"


class Interrupted(NotReady):
    """The engine process ended before the work was done; a new one replaces it."""

    code = "interrupted"

    @classmethod
    def of_a_process(cls, name: str) -> Interrupted:
        """Return the error for requests of a process that has ended."""
        return cls(f"The engine process of the model {name} ended and is being restarted; send the request again.")


class ModelNotOpened(NotReady):
    """A closed model could not be opened; `retry_after` is the time until the next attempt."""

    code = "model_not_opened"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @classmethod
    def of(cls, name: str, retry_after: float) -> ModelNotOpened:
        """Return the error for requests to a model whose last opening failed."""
        return cls(
            f"The model {name} could not be opened; its operator finds the reason in the log. Try again later.",
            retry_after,
        )


class DeadlineExceeded(EngineError):
    """The caller's deadline passed before the work was done."""

    code = "deadline_exceeded"


class Cancelled(EngineError):
    """The caller cancelled the request before it was done."""

    code = "cancelled"


class NotEnoughMemory(EngineError):
    """A model does not fit below the memory limit, even if no other one is open."""

    code = "not_enough_memory"


class LastModel(EngineError):
    """The only model cannot be unloaded, because no model would be left to serve."""

    code = "last_model"


class EngineFailure(EngineError):
    """A run of the model failed; the caller is not the cause."""

    code = "engine_failure"

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

    code = "device_unavailable"
