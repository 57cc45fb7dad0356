"""How the engine tells the outside what happens, without knowing who listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from service.engine.types import FinishReason


@dataclass(frozen=True, slots=True)
class FinishedSentence:
    """The figures of one translated sentence; token counts include </s>."""

    source_tokens: int
    target_tokens: int
    queue_seconds: float
    compute_seconds: float
    score: float
    finish_reason: FinishReason
    mean_logprob: float  # of its tokens, a natural logarithm
    repeats: bool  # four tokens in a row occur twice in it


@dataclass(frozen=True, slots=True)
class CallStage:
    """One stage of one call, between two moments of time.monotonic; `figures` are counts."""

    name: str  # tokenize, queue, encode, decode, force, detokenize, view, stream
    began: float
    ended: float
    figures: Mapping[str, int]


class Observer(Protocol):
    """Receives the engine's events; calls come from the engine threads, must be quick and must not raise.

    Every method does nothing by default, so a listener that inherits from this class overrides only what it cares
    about. `model` is a bundle's name, seconds are durations. No event carries text.
    """

    def sentences_queued(self, model: str, count: int) -> None:
        """`count` more sentences were accepted into the queue."""
        return

    def rows_changed(self, model: str, rows: int, sentences: int, queued: int) -> None:
        """The running batch now has so many rows and sentences, and so many sentences wait."""
        return

    def step(self, model: str, rows: int, seconds: float) -> None:
        """One decoder step over `rows` rows took so long."""
        return

    def sentence_finished(self, model: str, finished: FinishedSentence) -> None:
        """A sentence is translated."""
        return

    def cancelled(self, model: str, sentences: int, rows: int) -> None:
        """Callers left: so many sentences were dropped, which freed so many rows of the running batch."""
        return

    def rejected(self, model: str, reason: str) -> None:
        """A job was refused or ran out of time; `reason` is the code of the error it got."""
        return

    def failed(self, model: str) -> None:
        """A step of the model failed and its batch was lost."""
        return

    def stage(self, model: str, stage: str, seconds: float) -> None:
        """A named stage (tokenize, encode, force, detokenize, view) took so long."""
        return

    def attended(self, model: str, coverage: float) -> None:
        """The attention of a translated sentence was asked for, and so great a share of its source was looked at."""
        return

    def call_stage(self, model: str, stage: CallStage) -> None:
        """A call is through a stage, whose steps it may have shared with others; told in the caller's own task."""
        return


class NullObserver(Observer):
    """Listens to nothing; the default."""


NULL_OBSERVER: Observer = NullObserver()
