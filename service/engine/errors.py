"""Everything the engine can refuse or fail with, in one tree that knows no HTTP.

EngineError
├── InvalidInput            the caller's fault: the same call will fail again
│   ├── EmptyInput          nothing to work on where something is needed
│   ├── InvalidText         text that is no text (lone surrogates, for instance)
│   ├── UnsupportedLanguage a language no model knows
│   ├── UnsupportedPair     two known languages that no model joins
│   ├── UnknownModel        no model of that name, or not for that pair
│   ├── TooManyWeights      more attention weights than one answer may have
│   ├── InputTooLong        more than the model or the limits take
│   └── InvalidOption       an option outside what is accepted
├── Overloaded              the queue is full: try again after `retry_after` seconds
├── NotReady                still loading, stopping, or its worker is dead
│   └── Interrupted         its engine process ended while it ran; the same call may be made again at once
├── DeadlineExceeded        not finished in the time the caller gave
├── Cancelled               the caller gave the job up
├── LastModel               the only model cannot be taken away
├── EngineFailure           our fault: a step of the model failed
├── BundleError             a model folder that cannot be served
│   ├── BundleMissing       the folder or a file of it is not there
│   ├── BundleCorrupt       a file is unreadable or has the wrong checksum
│   └── BundleIncompatible  well formed, but of a format or kind we do not read
└── DeviceUnavailable       the device asked for is not there

The root and the errors of bundles are those of `service.bundle`, where bundles are read.
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
    """There is nothing to work on."""

    code = "empty_input"


class InvalidText(InvalidInput):
    """The text holds something that is not a character, such as a lone surrogate."""

    code = "invalid_text"


class UnsupportedLanguage(InvalidInput):
    """No loaded model knows this language."""

    code = "unsupported_language"


class UnsupportedPair(InvalidInput):
    """Both languages are known, but no model translates from one to the other."""

    code = "unsupported_pair"


class UnknownModel(InvalidInput):
    """No loaded model has this name, or it does not serve the pair asked for."""

    code = "unknown_model"


class InputTooLong(InvalidInput):
    """The text is longer than the model or the configured limits allow."""

    code = "input_too_long"


class TooManyWeights(InvalidInput):
    """The attention asked for is more than one answer may hold."""

    code = "too_many_weights"


class InvalidOption(InvalidInput):
    """An option lies outside the values that are accepted."""

    code = "invalid_option"


class Overloaded(EngineError):
    """The queue is full; `retry_after` is a guess in seconds of when it may not be."""

    code = "overloaded"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotReady(EngineError):
    """The model is not serving: loading, stopping, or dead."""

    code = "not_ready"


class Interrupted(NotReady):
    """The process that did the work ended before it was done; another one takes its place."""

    code = "interrupted"

    @classmethod
    def of_a_process(cls, name: str) -> Interrupted:
        """Return the error for requests of a process that is gone."""
        return cls(f"The engine process of the model {name} ended and is being restarted; send the request again.")


class DeadlineExceeded(EngineError):
    """The caller's deadline passed before the work was done."""

    code = "deadline_exceeded"


class Cancelled(EngineError):
    """The caller gave the job up before it was done."""

    code = "cancelled"


class LastModel(EngineError):
    """The only model cannot be taken away: nothing would be served any more."""

    code = "last_model"


class EngineFailure(EngineError):
    """A step of the model failed; nothing the caller did."""

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
    """The device that was asked for cannot be used here."""

    code = "device_unavailable"
