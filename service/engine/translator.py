"""The asynchronous interface of one model: texts in, translations and attention out.

A call waits for all of its sentences. Each sentence waits and runs by itself, in one batch with the sentences of all
other calls. If the awaiting task is cancelled, its sentences are cancelled and their rows are freed.
"""

from __future__ import annotations

import copy
import threading
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeVar

from service.bundle.alignment import alignment_weights
from service.bundle.manifest import Manifest
from service.engine.attention.attention_map import ScoredPair, build_map
from service.engine.attention.quality_signals import coverage
from service.engine.attention.selection import check_size, limit_for, relocated, select_weights
from service.engine.errors import EmptyInput, InputTooLong
from service.engine.events import (
    CallStage,
    CoverageMeasured,
    EventListener,
    QualityMeasured,
    StageDone,
    ValuesKept,
    ignore_event,
)
from service.engine.languages.tags import canonical
from service.engine.scheduling.admission import QueueStatus
from service.engine.scheduling.interface import SentenceWorker, run_scoring, run_sentences, sentence_stages, within
from service.engine.search.options import (
    check_quality,
    complete,
    normalised_score,
    over_vocabulary,
    penalty_of,
    search_options,
)
from service.engine.streaming import StreamSource, stream_segmented
from service.engine.text.segmented_text import (
    SegmentationOptions,
    SegmentedText,
    SegmentResult,
    assemble,
    segment_text,
    word_links,
)
from service.engine.text.sentence_quality import QualityOptions
from service.engine.text.tokenizer import Tokenizer, Tokenizers, for_target
from service.engine.text.value_keeper import Source, ValueKeeper, sources_of
from service.engine.thread_pools import TEXT_POOL, in_daemon_thread
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    ModelInfo,
    ModelStateName,
    ScoringRequest,
    ScoringResult,
    SentenceJob,
    SentenceResult,
    StreamEvent,
    Translation,
    TranslationOptions,
    ValueHandling,
    WeightSelection,
    WorkerState,
)
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.terms import Glossary

Result = TypeVar("Result")

LONG_TEXT = 2_000  # characters; a longer text is tokenised in a thread, so that the event loop keeps responding
STALLED_SECONDS = 30.0  # without a heartbeat of the worker, after which it counts as stalled
WARM_UP = "Hello, world."


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The score of a given translation, and the words that the model aligns (white space separates words)."""

    score: float
    token_logprobs: tuple[float, ...]
    word_alignment: tuple[tuple[int, int], ...]


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
        limit = manifest.limits.source_tokens
        self._info = info
        self._manifest = manifest
        self._align = relocated(manifest.attention.align)  # the scores hold no other head
        self._wanted = WeightSelection((manifest.attention.align.layer, manifest.attention.align.head))
        self._tokenizers = for_target(tokenizers, manifest, info.target_language)
        self._worker = worker
        self._warm = threading.Event()
        self._last_used: list[float] = []  # shared by the views of all pairs
        self._owner: Translator | None = None
        self._on_event = on_event
        self._segmentation = SegmentationOptions(manifest.source_language, min(wrap_tokens or limit, limit), limit)
        # A model that was replaced lives as long as a request that began with it holds this object.
        weakref.finalize(self, worker.retire).atexit = False

    def for_pair(self, source_language: str, target_language: str) -> Self:
        """Return the same model for one of its pairs: the source's rules cut texts, and the target is requested.

        All pairs share the worker, which lives as long as any of them is referenced.
        """
        source = _own_tag(source_language, self._info.sources)
        target = _own_tag(target_language, self._info.targets)
        unchanged = (source, target) == (self._info.source_language, self._info.target_language)
        if source is None or target is None or source == target or unchanged:
            return self
        view = copy.copy(self)
        view._owner = self  # the owner's worker retires when the owner is no longer referenced
        view._info = replace(self._info, source_language=source, target_language=target)
        view._segmentation = replace(self._segmentation, language=source)
        view._tokenizers = for_target(self._tokenizers, self._manifest, target)
        return view

    @property
    def name(self) -> str:
        """Return the bundle's name."""
        return self._info.name

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model."""
        return self._info

    @property
    def last_used(self) -> float | None:
        """Return the time of the last request, in seconds since 1970."""
        return self._last_used[0] if self._last_used else None

    @property
    def ready(self) -> bool:
        """Return whether it is warmed up and its worker is alive."""
        return (
            self._warm.is_set()
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
        own: dict[WorkerState, ModelStateName] = {
            WorkerState.DEAD: "failed",
            WorkerState.RESTARTING: "restarting",
            WorkerState.DRAINING: "stopping",
            WorkerState.STOPPED: "stopping",
        }
        if (state := own.get(self._worker.state)) is not None:
            return state
        if self.stalled:
            return "hanging"
        return "ready" if self.ready else "starting"

    async def start(self) -> None:
        """Start the worker and warm up every kind of run; raise EngineFailure if that fails.

        The scoring of a large model is left out: its graph takes memory that a server that only translates can save.
        """
        self._worker.start()
        details = not self._manifest.is_large
        for beam_size in (1, self._manifest.decoding.beam_size):
            await self.translate([WARM_UP], TranslationOptions(beam_size=beam_size, max_length=4, details=details))
        self._warm.set()

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
        options = complete(options or TranslationOptions(), self._manifest.decoding)
        check_quality(options, self._manifest.confidence is not None, self.name)
        self.check_room(deadline)  # before any work on the text: a refusal must cost next to nothing
        self._touch()
        size = sum(map(len, texts))
        segmentation = replace(self._segmentation_for(options), split=split)
        segmented_texts = await self._timed(
            "tokenize",
            size,
            lambda: [
                segment_text(text, self._tokenizers.source, segmentation, self._tokenizers.target) for text in texts
            ],
        )
        sources = [source for segmented in segmented_texts for source in sources_of(segmented)]
        outcomes = await within(deadline, self._outcomes(sources, options, deadline))
        if any(source.values is not None for source in sources):
            segmented_texts, outcomes = await within(
                deadline, self._with_values(segmented_texts, outcomes, options, deadline, segmentation)
            )
        return await self._timed("detokenize", size, lambda: self._assemble(segmented_texts, outcomes, options))

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
        options = replace(options, translation=complete(options.translation, self._manifest.decoding))
        limit = limit_for(options, self._manifest.attention, most_weights)
        wanted = replace(select_weights(options, self._manifest.attention, self.name), limit=limit)
        self.check_room(deadline)
        self._touch()
        if target_text is None:
            target_text = await self._translation_with_values(text, options.translation, deadline)
        texts = (text,) if target_text is None else (text, target_text)
        ids = await self._timed("tokenize", sum(map(len, texts)), lambda: self._encode_sides(*texts))

        if target_text is not None or options.kind == "encoder":  # other views are checked after the translation
            check_size(limit, len(ids[0]), 0 if target_text is None else len(ids[1]))

        if target_text is None:
            pair = await within(deadline, self._decoded_pair(text, ids[0], options.translation, deadline, wanted))
        else:
            asked = ScoringRequest(ids[0], ids[1], deadline, wanted)
            [scores] = await within(deadline, run_scoring(self._worker, [asked]))
            pair = self._given_pair(text, target_text, scores, options.translation)
        size = LONG_TEXT if "all" in (options.layer, options.head) else 0
        begin = self._tokenizers.target.begin_token()
        return await self._timed("view", size, lambda: build_map(pair, options, begin, self._align, self._info))

    async def _translation_with_values(
        self, text: str, options: TranslationOptions, deadline: float | None
    ) -> str | None:
        """Return the translation of a text with values, to be scored like a given one; None for other texts.

        The view is over the tokens of the text itself, while the search replaces values by stand-ins.
        """
        if not self._has_values(text, options):
            return None
        self._encode_sides(text)  # a text that is too long is refused before it is translated
        [own] = await self.translate([text], replace(options, alternatives=0), deadline=deadline, split=False)
        return own.text

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
            self._manifest.decoding,
        )
        self.check_room(deadline)
        self._touch()
        segmentation = self._segmentation_for(options)
        segmented = await self._timed(
            "tokenize",
            len(text),
            lambda: segment_text(text, self._tokenizers.source, segmentation, self._tokenizers.target),
        )
        jobs = self._jobs(sources_of(segmented), options, deadline)
        began = time.monotonic()

        async def settle(number: int) -> tuple[SegmentedText, list[SegmentResult]]:
            one = SegmentedText(text, (segmented.segments[number],), {0: segmented.valued[number]})
            found = await self._outcomes(sources_of(one), options, deadline)
            texts, results = await self._with_values([one], found, options, deadline, segmentation)
            return texts[0], results

        source = StreamSource(segmented, jobs, settle)
        async for event in stream_segmented(source, self._worker, self._tokenizers, self._wanted):
            yield event
        self._on_event(CallStage("stream", began, time.monotonic(), {"sentences": len(jobs)}, self.name))

    async def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> list[TargetScore]:
        """Score given translations (source, target) without splitting them; raise the errors of `attention`."""
        options = complete(TranslationOptions(length_penalty=length_penalty), self._manifest.decoding)
        self._touch()
        size = sum(len(text) for pair in pairs for text in pair)
        encoded = await self._timed("tokenize", size, lambda: [self._encode_sides(*pair) for pair in pairs])
        jobs = [ScoringRequest(source, target, deadline, self._wanted) for source, target in encoded]
        results = await within(deadline, run_scoring(self._worker, jobs))

        def scores() -> list[TargetScore]:
            scored = zip(pairs, results, strict=True)
            return [self._target_score(pair, result, penalty_of(options)) for pair, result in scored]

        return await self._timed("view", size, scores)

    def _touch(self) -> None:
        if self._warm.is_set():
            self._last_used[:] = [time.time()]

    def _segmentation_for(self, options: TranslationOptions) -> SegmentationOptions:
        """Return how texts are cut, and which of their parts are values."""
        return replace(self._segmentation, values=self._value_rules(options), glossary=options.glossary)

    def _value_rules(self, options: TranslationOptions) -> ValueRules | None:
        """Return how values are found and written; None: they are text as any other."""
        if options.values == "off":
            return None
        localized = options.values != "keep"
        return ValueRules(self._segmentation.language, self._info.target_language, localized)

    def _has_values(self, text: str, options: TranslationOptions) -> bool:
        rules, glossary = self._value_rules(options), options.glossary
        return (rules is not None and bool(find_values(text, rules))) or (
            glossary is not None and bool(glossary.find(text, self._segmentation.language))
        )

    async def _with_values(
        self,
        segmented_texts: list[SegmentedText],
        outcomes: list[SegmentResult],
        options: TranslationOptions,
        deadline: float | None,
        segmentation: SegmentationOptions,
    ) -> tuple[list[SegmentedText], list[SegmentResult]]:
        """Return texts and outcomes in which every value has its place."""
        keeper = ValueKeeper(self._tokenizers, segmentation, partial(self._outcomes, deadline=deadline))
        texts, results = await keeper.keep(segmented_texts, outcomes, options)
        for path, count in Counter(result.values for result in results).items():
            if path is not None:
                self._on_event(ValuesKept(self.name, path, count))
        return texts, results

    async def _outcomes(
        self, sources: Sequence[Source], options: TranslationOptions, deadline: float | None
    ) -> list[SegmentResult]:
        if not sources:
            return []
        results = await self._sentences(sources, options, deadline, self._wanted if options.details else None)
        outcomes: list[SegmentResult] = []
        for result in results:
            best, *others = result.hypotheses
            weights, logprobs = None, best.logprobs
            if result.scores is not None:
                best = over_vocabulary(best, result.scores, penalty_of(options))
                weights = alignment_weights(result.scores.cross_attention, self._align)
            outcomes.append(SegmentResult((best, *others), weights, logprobs=logprobs))
        return outcomes

    async def _sentences(
        self,
        sources: Sequence[Source],
        options: TranslationOptions,
        deadline: float | None,
        score: WeightSelection | None,
    ) -> list[SentenceResult]:
        """Return the translations of sentences, scored if weights are wanted."""
        began = time.monotonic()
        results = await run_sentences(self._worker, self._jobs(sources, options, deadline, score))
        for stage in sentence_stages(began, [source.ids for source in sources], results, self.name):
            self._on_event(stage)
        if self._warm.is_set():  # the translation of the warm-up is cut off early
            for result in results:
                if result.scores is not None:
                    weights = alignment_weights(result.scores.cross_attention, self._align)
                    self._on_event(CoverageMeasured(self.name, coverage(weights)))
        return results

    async def _decoded_pair(
        self,
        text: str,
        source: tuple[int, ...],
        options: TranslationOptions,
        deadline: float | None,
        wanted: WeightSelection,
    ) -> ScoredPair:
        [result] = await self._sentences([Source(source)], replace(options, alternatives=0), deadline, wanted)
        scores = result.scores
        assert scores is not None, "a worker answers with the requested scores"
        best = over_vocabulary(result.hypotheses[0], scores, penalty_of(options))
        target = self._tokenizers.target.locate(best.ids)
        return ScoredPair(
            text, target.text, self._tokenizers.source.tokens(text), target.tokens, scores, best.score, best.logprobs
        )

    def _given_pair(
        self, text: str, target_text: str, scores: ScoringResult, options: TranslationOptions
    ) -> ScoredPair:
        logprobs = tuple(float(value) for value in scores.logprobs)
        source, target = self._tokenizers.source.tokens(text), self._tokenizers.target.tokens(target_text)
        score = normalised_score(logprobs, penalty_of(options))
        return ScoredPair(text, target_text, source, target, scores, score, logprobs)

    def _target_score(self, pair: tuple[str, str], scores: ScoringResult, length_penalty: float) -> TargetScore:
        logprobs = tuple(float(value) for value in scores.logprobs)
        source = pair[0], self._tokenizers.source.tokens(pair[0]), 0
        target = pair[1], self._tokenizers.target.tokens(pair[1]), 0
        links = word_links(
            alignment_weights(scores.cross_attention, self._align), source, target, self._align.threshold
        )
        return TargetScore(normalised_score(logprobs, length_penalty), logprobs, links)

    def _jobs(
        self,
        sources: Sequence[Source],
        options: TranslationOptions,
        deadline: float | None,
        score: WeightSelection | None = None,
    ) -> list[SentenceJob]:
        limit = self._manifest.limits.target_tokens
        return [
            SentenceJob(ids, search_options(options, len(ids), limit), deadline, score=score, values=values)
            for ids, values in sources
        ]

    def _encode_sides(self, text: str, target_text: str | None = None) -> list[tuple[int, ...]]:
        limits = self._manifest.limits
        ids = [self._encode(text, self._tokenizers.source, "text", limits.source_tokens)]
        if target_text is not None:
            ids.append(self._encode(target_text, self._tokenizers.target, "target_text", limits.target_tokens))
        return ids

    def _encode(self, text: str, tokenizer: Tokenizer, name: str, limit: int) -> tuple[int, ...]:
        if tokenizer.exceeds(limit, text):
            raise InputTooLong(f"{name} has more than {limit} tokens, which is the most that {self.name} takes here.")
        ids = tokenizer.encode(text)
        if not tokenizer.holds_text(ids):
            raise EmptyInput(f"{name} is empty; send at least one character that is not white space.")
        if len(ids) > limit:
            raise InputTooLong(
                f"{name} has {len(ids)} tokens with its end token; {self.name} takes at most {limit} here."
            )
        return ids

    def _assemble(
        self, segmented_texts: Sequence[SegmentedText], outcomes: Sequence[SegmentResult], options: TranslationOptions
    ) -> list[Translation]:
        translations: list[Translation] = []
        first = 0
        quality = QualityOptions(self._manifest.confidence, options.min_quality, options.keep_source)
        threshold = self._align.threshold
        for segmented in segmented_texts:
            own = outcomes[first : first + len(segmented.segments)]
            first += len(own)
            translation = assemble(segmented, own, self._tokenizers, threshold, options.alternatives, quality)
            translations.append(translation)
        if self._warm.is_set():
            for each in (each for translation in translations for each in translation.qualities):
                if each.quality is not None:
                    self._on_event(QualityMeasured(self.name, each.quality))
        return translations

    async def _timed(self, stage: str, size: int, work: Callable[[], Result]) -> Result:
        """Do work on texts of `size` characters, long ones in a thread."""
        began = time.monotonic()
        result = await TEXT_POOL.run(work) if size >= LONG_TEXT else work()
        ended = time.monotonic()
        self._on_event(StageDone(self.name, stage, ended - began))
        self._on_event(CallStage(stage, began, ended, {}, self.name))
        return result


def _own_tag(language: str, tags: Sequence[str]) -> str | None:
    """Return how a model itself writes a language tag; None if it does not have that language."""
    wanted = canonical(language)
    return next((tag for tag in tags if canonical(tag) == wanted), None)
