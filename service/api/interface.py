"""The HTTP side's interface of the engine, as narrow as possible, so that tests can use a fake engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Protocol

from service.bundle.repository import Change
from service.engine import (
    AttentionMap,
    AttentionOptions,
    ModelInfo,
    ModelState,
    QueueStatus,
    SentenceDetail,
    StreamEvent,
    Translation,
    TranslationOptions,
)


class TranslatorPort(Protocol):
    """One loaded model; see service.engine.translation.translator.Translator."""

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model."""

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of the model's queue."""

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""

    def translate(
        self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
    ) -> Awaitable[list[Translation]]:
        """Translate texts; cancellation of the awaiting task frees their rows. `deadline` is on time.monotonic."""

    def attention(
        self,
        text: str,
        target_text: str | None,
        options: AttentionOptions,
        *,
        deadline: float | None = None,
        most_weights: int | None = None,
    ) -> Awaitable[AttentionMap]:
        """Return the attention of one sentence and its own, or the given, translation; raise TooManyWeights."""

    def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> Awaitable[list[SentenceDetail]]:
        """Score given translations (source, target), many at once."""

    def stream(
        self, text: str, options: TranslationOptions, *, deadline: float | None = None
    ) -> AsyncIterator[StreamEvent]:
        """Translate greedily, token by token; if the iterator is closed, the rows are freed."""


class RegistryPort(Protocol):
    """All loaded models; see service.engine.registry.Registry."""

    @property
    def ready(self) -> bool:
        """Return whether the models have been started and one of them accepts requests now."""

    def states(self) -> list[ModelState]:
        """Return the state of every served model, and of the refused bundles."""

    def models(self) -> list[ModelInfo]:
        """Return the loaded models."""

    def resolve(self, source: str, target: str, model: str | None = None) -> TranslatorPort:
        """Return the model of a pair, by name or architecture if given.

        Raise UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """

    def failed_default(self, source: str, target: str) -> str | None:
        """Return the name of a pair's default if it has failed and another model translates in its place."""

    async def reload(self, name: str | None = None) -> list[Change]:
        """Serve the changes in the folder, or only the bundle of this name; raise BundleMissing."""

    async def unused(self) -> list[str]:
        """Return the names of the bundles in the folder that are neither served nor refused."""

    async def unload(self, name: str) -> None:
        """Unload a model; raise UnknownModel or LastModel."""
