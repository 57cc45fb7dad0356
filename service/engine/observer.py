"""How the engine tells the outside what happens, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Receives the engine's events; calls come from the engine threads and must be quick and never raise. Every method
    does nothing by default, so a listener that inherits from this class overrides only what it cares about.

    `model` is a bundle's name, seconds are durations. No event carries text.
    """

    def sentences_queued(self, model: str, count: int) -> None:
        """`count` more sentences were accepted into the queue."""
        return None

    def rows_changed(self, model: str, rows: int, sentences: int, queued: int) -> None:
        """The running batch now has so many rows and sentences, and so many sentences wait."""
        return None

    def step(self, model: str, rows: int, seconds: float) -> None:
        """One decoder step over `rows` rows took so long."""
        return None

    def sentence_finished(
        self,
        model: str,
        *,
        source_tokens: int,
        target_tokens: int,
        queue_seconds: float,
        compute_seconds: float,
        score: float,
        finish_reason: str,
    ) -> None:
        """A sentence is translated; token counts include </s>."""
        return None

    def cancelled(self, model: str, sentences: int, rows: int) -> None:
        """Callers left: so many sentences were dropped, which freed so many rows of the running batch."""
        return None

    def rejected(self, model: str, reason: str) -> None:
        """A job was refused or ran out of time; `reason` is the code of the error it got."""
        return None

    def failed(self, model: str) -> None:
        """A step of the model failed and its batch was lost."""
        return None

    def stage(self, model: str, stage: str, seconds: float) -> None:
        """A named stage (segment, tokenize, queue, encode, decode, force, detokenize) took so long."""
        return None


class NullObserver(Observer):
    """Listens to nothing; the default."""


NULL_OBSERVER: Observer = NullObserver()
