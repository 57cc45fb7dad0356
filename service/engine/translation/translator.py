"""The asynchronous interface of one model: texts in, translations and attention out.

A call waits for all of its sentences. Each sentence waits and runs by itself, in one batch with the sentences of all
other calls. If the awaiting task is cancelled, its sentences are cancelled and their rows are freed.
"""

from __future__ import annotations

import copy
import time
import weakref
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Self

from service.bundle.manifest import Manifest
from service.engine.attention.attention_map import build_map
from service.engine.attention.selection import at_each_step, check_size, limit_for, select_weights
from service.engine.errors import InputTooLong
from service.engine.events import CallStage, EventListener, ignore_event
from service.engine.scheduling.admission import QueueStatus
from service.engine.scheduling.interface import SentenceWorker, within
from service.engine.search.options import check_quality, complete
from service.engine.text.segmented_text import SegmentedText, SegmentResult
from service.engine.text.sentence_quality import QualityOptions
from service.engine.text.tokenizer import Tokenizers
from service.engine.text.value_keeper import sources_of
from service.engine.thread_pools import in_daemon_thread
from service.engine.translation.loaded_pair import LONG_TEXT, LoadedPair
from service.engine.translation.pair_scoring import PairScoring
from service.engine.translation.pair_scoring import TargetScore as TargetScore
from service.engine.translation.sentence_runs import SentenceRuns
from service.engine.translation.streaming import StreamSource, stream_segmented
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    ModelInfo,
    ModelStateName,
    StreamEvent,
    Translation,
    TranslationOptions,
    ValueHandling,
    WeightSelection,
    WorkerState,
)
from service.engine.values.terms import Glossary

STALLED_SECONDS = 30.0  # without a heartbeat of the worker, after which it counts as stalled
WARM_UP = "Hello, world."
STATES: dict[WorkerState, ModelStateName] = {
    WorkerState.DEAD: "failed",
    WorkerState.RESTARTING: "restarting",
    WorkerState.DRAINING: "stopping",
    WorkerState.STOPPED: "stopping",
}


class Translator:
    """A loaded model, its tokenizer and its worker; the worker ends when the translator is no longer referenced."""

    def __init__(
        self,
        manifest: Manifest,
        info: ModelInfo,
        tokenizers: Tokenizers,
        worker: SentenceWorker,
        on_event: EventListener = ignore_event,
        wrap_tokens: int | None = None,
    ) -> None:
        """Combine the parts; sentences of more than `wrap_tokens` are wrapped (None: by the model's own limit)."""
        self._pair = LoadedPair.of(manifest, info, tokenizers, worker, on_event, wrap_tokens)
        self._worker = worker
        self._last_used: list[float] = []  # shared by the views of all pairs
        self._owner: Translator | None = None
        # A model that was replaced lives as long as a request that began with it holds this object.
        weakref.finalize(self, worker.retire).atexit = False

    def for_pair(self, source_language: str, target_language: str) -> Self:
        """Return the same model for one of its pairs: the source's rules cut texts, and the target is requested.

        All pairs share the worker, which lives as long as any of them is referenced.
        """
        pair = self._pair.with_languages(source_language, target_language)
        if pair is self._pair:
            return self
        view = copy.copy(self)
        view._owner = self  # the owner's worker retires when the owner is no longer referenced
        view._pair = pair
        return view

    @property
    def name(self) -> str:
        """Return the bundle's name."""
        return self._pair.name

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model."""
        return self._pair.info

    @property
    def last_used(self) -> float | None:
        """Return the time of the last request, in seconds since 1970."""
        return self._last_used[0] if self._last_used else None

    @property
    def ready(self) -> bool:
        """Return whether it is warmed up and its worker is alive."""
        return (
            self._pair.warm.is_set()
            and self._worker.state is WorkerState.RUNNING
            and self._worker.alive
            and not self.stalled
        )

    @property
    def stalled(self) -> bool:
        """Return whether its worker has had no heartbeat for too long, so that a run seems to hang."""
        return self._worker.alive and time.monotonic() - self._worker.heartbeat >= STALLED_SECONDS

    @property
    def dead(self) -> bool:
        """Return whether its worker has failed permanently."""
        return self._worker.state is WorkerState.DEAD

    @property
    def state(self) -> ModelStateName:
        """Return the state for callers."""
        state = self._worker.state
        if state in STATES:
            return STATES[state]
        if self.stalled:
            return "hanging"
        working = self._pair.warm.is_set() and state is WorkerState.RUNNING and self._worker.alive
        return "ready" if working else "starting"

    async def start(self) -> None:
        """Start the worker and warm up every kind of run; raise EngineFailure if that fails.

        The scoring of a large model is left out: its graph takes memory that a server that only translates can save.
        """
        self._worker.start()
        details = not self._pair.manifest.is_large
        for beam_size in (1, self._pair.manifest.decoding.beam_size):
            await self.translate([WARM_UP], TranslationOptions(beam_size=beam_size, max_length=4, details=details))
        self._pair.warm.set()

    async def stop(self, drain: float) -> None:
        """Stop the worker; running requests may finish within `drain` seconds."""
        await in_daemon_thread(lambda: self._worker.stop(drain), "stopping")

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of its queue."""
        return self._worker.queue_status

    def retire(self) -> None:
        """Do nothing: a replaced model ends when no request holds it any more."""

    def close(self) -> None:
        """Stop at once and free the model's memory; this blocks."""
        self._worker.close()

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""
        self._worker.check_room(deadline)

    async def translate(
        self,
        texts: Sequence[str],
        options: TranslationOptions | None = None,
        *,
        deadline: float | None = None,
        split: bool = True,
    ) -> list[Translation]:
        """Translate texts, each cut into sentences unless `split` is false; `deadline` is a time of time.monotonic.

        A text with nothing to translate is returned unchanged. Raise InvalidText, InvalidOption, Overloaded, NotReady,
        DeadlineExceeded or EngineFailure.
        """
        options = complete(options or TranslationOptions(), self._pair.manifest.decoding)
        check_quality(options, self._pair.manifest.confidence is not None, self.name)
        self.check_room(deadline)  # before any work on the text: a refusal must cost next to nothing
        self._touch()
        size = sum(map(len, texts))
        pair, runs = self._pair, SentenceRuns(self._pair)
        segmentation = pair.segmentation_for(options, split)
        segmented_texts = await pair.timed("tokenize", size, lambda: runs.segment(texts, segmentation))
        sources = [source for segmented in segmented_texts for source in sources_of(segmented)]
        outcomes = await within(deadline, runs.outcomes(sources, options, deadline))
        if any(source.values is not None for source in sources):
            segmented_texts, outcomes = await within(
                deadline, runs.with_values(segmented_texts, outcomes, options, deadline, segmentation)
            )
        return await pair.timed("detokenize", size, lambda: runs.assemble(segmented_texts, outcomes, options))

    async def attention(
        self,
        text: str,
        target_text: str | None,
        options: AttentionOptions,
        *,
        deadline: float | None = None,
        most_weights: int | None = None,
    ) -> AttentionMap:
        """Return the attention of one sentence and its own translation, or of the given one; texts are never split.

        Raise EmptyInput, InputTooLong, TooManyWeights, and the errors of `translate`.
        """
        pair, scoring = self._pair, PairScoring(self._pair)
        options = replace(options, translation=complete(options.translation, pair.manifest.decoding))
        if options.trace:
            options = at_each_step(options, pair.manifest.attention)
        limit = limit_for(options, pair.manifest.attention, most_weights)
        wanted = replace(select_weights(options, pair.manifest.attention, self.name), limit=limit)
        self.check_room(deadline)
        self._touch()
        if options.trace:
            return await self._searched(text, options, wanted, deadline)
        own = None
        if target_text is None:
            own = await self._translation_with_values(text, options.translation, deadline)
            target_text = None if own is None else own.text
        texts = (text,) if target_text is None else (text, target_text)
        ids = await pair.timed("tokenize", sum(map(len, texts)), lambda: scoring.encode_sides(*texts))

        if target_text is not None or options.kind == "encoder":  # other views are checked after the translation
            check_size(limit, len(ids[0]), 0 if target_text is None else len(ids[1]))

        if target_text is None:
            scored = await within(deadline, scoring.decoded(text, ids[0], options.translation, deadline, wanted))
        else:
            scored = await scoring.given((text, target_text), ids, options.translation, deadline, wanted)
            scored = replace(scored, quality=None if own is None else own.quality)
        size = LONG_TEXT if "all" in (options.layer, options.head) else 0
        begin = pair.tokenizers.target.begin_token()
        found = await pair.timed("view", size, lambda: build_map(scored, options, begin, pair.align, pair.info))
        if options.kind == "occlusion":
            return await scoring.occluded(found, scored, ids[0], options, deadline)
        return found

    async def _searched(
        self, text: str, options: AttentionOptions, wanted: WeightSelection, deadline: float | None
    ) -> AttentionMap:
        """Return the attention of one sentence and its own translation, with the search that found it.

        The tokens are those that the search read and wrote, where values and short strings have stand-ins.
        """
        pair, scoring, runs = self._pair, PairScoring(self._pair), SentenceRuns(self._pair)
        scoring.encode_sides(text)
        segmentation = replace(pair.segmentation_for(options.translation), split=False)
        [segmented] = await pair.timed("tokenize", len(text), lambda: runs.segment([text], segmentation))
        if len(segmented.segments) != 1:
            raise InputTooLong(f"The text has more tokens than {self.name} takes at once; send a shorter sentence.")
        scored, search = await within(deadline, scoring.searched(segmented, options.translation, deadline, wanted))
        begin = pair.tokenizers.target.begin_token()
        found = await pair.timed("view", LONG_TEXT, lambda: build_map(scored, options, begin, pair.align, pair.info))
        return replace(found, search=search)

    async def _translation_with_values(
        self, text: str, options: TranslationOptions, deadline: float | None
    ) -> Translation | None:
        """Return the translation of a text with values or of a short string; None for other texts.

        It is scored like a given one: the view is over the tokens of the text itself, while the search reads another.
        """
        if not self._is_checked(text, options):
            return None
        PairScoring(self._pair).encode_sides(text)  # a text that is too long is refused before it is translated
        [own] = await self.translate([text], replace(options, alternatives=0), deadline=deadline, split=False)
        return own

    async def stream(
        self,
        text: str,
        max_length: int | None = None,
        *,
        deadline: float | None = None,
        values: ValueHandling = "localize",
        glossary: Glossary | None = None,
    ) -> AsyncIterator[StreamEvent]:
        """Translate greedily and yield every chosen token with its attention at once; raise the errors of `translate`.

        If the iterator is closed, the rows are freed.
        """
        options = complete(
            TranslationOptions(beam_size=1, max_length=max_length, values=values, glossary=glossary),
            self._pair.manifest.decoding,
        )
        self.check_room(deadline)
        self._touch()
        pair, runs = self._pair, SentenceRuns(self._pair)
        segmentation = pair.segmentation_for(options)
        [segmented] = await pair.timed("tokenize", len(text), lambda: runs.segment([text], segmentation))
        jobs = runs.jobs(sources_of(segmented), options, deadline)
        began = time.monotonic()

        async def settle(number: int) -> tuple[SegmentedText, list[SegmentResult]]:
            one = segmented.only(number)
            found = await runs.outcomes(sources_of(one), options, deadline)
            texts, results = await runs.with_values([one], found, options, deadline, segmentation)
            return texts[0], results

        source = StreamSource(segmented, jobs, settle, QualityOptions(pair.manifest.confidence))
        async for event in stream_segmented(source, pair.worker, pair.tokenizers, pair.wanted):
            yield event
        pair.on_event(CallStage("stream", began, time.monotonic(), {"sentences": len(jobs)}, self.name))

    async def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> list[TargetScore]:
        """Score given translations (source, target) without splitting them; raise the errors of `attention`."""
        self._touch()
        return await PairScoring(self._pair).score_batch(pairs, length_penalty, deadline)

    def _touch(self) -> None:
        if self._pair.warm.is_set():
            self._last_used[:] = [time.time()]

    def _is_checked(self, text: str, options: TranslationOptions) -> bool:
        """Return whether the translation of a text, as one sentence, may not be what the search finds."""
        if self._pair.tokenizers.source.exceeds(self._pair.manifest.limits.source_tokens, text):
            return False  # it is refused
        segmentation = replace(self._pair.segmentation_for(options), split=False)
        [segmented] = SentenceRuns(self._pair).segment([text], segmentation)
        return any(map(segmented.is_checked, range(len(segmented.segments))))
