"""The asynchronous interface of one model: texts in, translations and attention out.

A call waits for all of its sentences. Each sentence waits and runs by itself, in one batch with the sentences of all
other calls. If the awaiting task is cancelled, its sentences are cancelled and their rows are freed.
"""

import copy
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from service.bundle.manifest import Manifest
from service.engine.attention.attention_map import build_map, join_maps
from service.engine.attention.selection import at_each_step, check_size, limit_for, relocated, select_weights
from service.engine.events import EventListener, ignore_event
from service.engine.model_info import ModelInfo, ModelStateName, WorkerState
from service.engine.scheduling.admission import QueueStatus
from service.engine.scheduling.interface import SentenceWorker, within
from service.engine.search.options import check_quality, complete
from service.engine.text.reader import SegmentationOptions
from service.engine.text.tokenizer import Tokenizers, for_target
from service.engine.thread_pools import in_daemon_thread
from service.engine.translation.forcing import Forcing
from service.engine.translation.loaded_pair import LONG_TEXT, LoadedPair
from service.engine.translation.sentence_runs import SentenceRuns
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    SentenceDetail,
    TargetPath,
    Translation,
    TranslationOptions,
)

STALLED_SECONDS = 30.0  # without a heartbeat of the worker, after which it counts as stalled
SHORT_TEXT = 400  # characters; to cut them into sentences takes 0.1 ms, or 2 ms if they are full of values
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
        limit = manifest.limits.source_tokens
        self._pair = LoadedPair(
            manifest=manifest,
            info=info,
            tokenizers=for_target(tokenizers, manifest, info.target_language),
            worker=worker,
            on_event=on_event,
            align=relocated(manifest.attention.align),
            segmentation=SegmentationOptions(manifest.source_language, min(wrap_tokens or limit, limit), limit),
        )
        self._worker = worker
        self._last_used: list[float] = []  # shared by the views of all pairs
        self._owner: Translator | None = None
        # A model that was replaced lives as long as a request that began with it holds this object.
        weakref.finalize(self, worker.retire).atexit = False

    def for_pair(self, source_language: str, target_language: str) -> Self:
        """Return the same model for one of its pairs; all share the worker, which lives as long as any of them."""
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
        return self.state == "ready"

    @property
    def stalled(self) -> bool:
        """Return whether its worker has had no heartbeat for too long, so that a run seems to hang."""
        status = self._worker.status
        return status.alive and time.monotonic() - status.heartbeat >= STALLED_SECONDS

    @property
    def dead(self) -> bool:
        """Return whether its worker has failed permanently."""
        return self._worker.status.state is WorkerState.DEAD

    @property
    def state(self) -> ModelStateName:
        """Return the state for callers."""
        status = self._worker.status
        if status.state in STATES:
            return STATES[status.state]
        if self.stalled:
            return "hanging"
        return "ready" if self._pair.warm.is_set() and status.alive else "starting"

    async def start(self) -> None:
        """Warm up translation; raise EngineFailure if that fails.

        Scoring is left out: its graph takes memory that a server that only translates can save.
        """
        for beam_size in (1, self._pair.manifest.decoding.beam_size):
            await self.translate([WARM_UP], TranslationOptions(beam_size=beam_size, max_length=4))
        self._pair.warm.set()

    async def stop(self, drain: float) -> None:
        """Stop the worker and free the model; running requests may finish within `drain` seconds."""
        await in_daemon_thread(lambda: self._worker.stop(drain), "stopping")

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of its queue."""
        return self._worker.status.queue

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
        size = sum(map(len, texts))
        if size > SHORT_TEXT:  # the cache may know all sentences of a short one, whose answer needs no place
            self.check_room(deadline)
        self._touch()
        split &= options.target_prefix is None
        runs = SentenceRuns(self._pair, options, deadline, self._pair.wanted if options.details else None, split=split)
        results = await runs.translate(await runs.segment(texts))
        work = size * options.weight
        return await within(deadline, self._pair.timed("detokenize", work, lambda: runs.assemble(texts, results)))

    async def attention(
        self,
        text: str,
        target_text: str | None,
        options: AttentionOptions,
        *,
        deadline: float | None = None,
        most_weights: int | None = None,
    ) -> AttentionMap:
        """Return the attention of a text and its own translation: that of `translate`, sentence by sentence.

        Or that of one sentence and a given translation, a text or the tokens of a path to it. A text without a sentence
        is its own translation. Raise EmptyInput, InputTooLong, TooManyWeights, and the errors of `translate`.
        """
        pair = self._pair.of_member(options.member)
        search = complete(options.translation, pair.manifest.decoding)
        if options.trace:
            options = at_each_step(options, pair.manifest.attention)
        limit = limit_for(options, pair.manifest.attention, most_weights, self.name)
        selected = select_weights(options, pair.manifest.attention, self.name)
        wanted = replace(selected, limit=limit, member=pair.member)
        self._admit(deadline)
        forcing = Forcing(pair, search, deadline, wanted)
        ids = await pair.timed("tokenize", len(text), lambda: forcing.check_side(text))
        if options.kind == "encoder":  # other views are checked after the translation
            check_size(limit, len(ids), 0)
        path: TargetPath = "ids" if options.target_ids else "search" if target_text is None else "canonical"
        found: Translation | None = None
        trace = None
        if path == "search":
            runs = SentenceRuns(pair, search, deadline, wanted, options.trace)
            [own] = results = await runs.translate(await runs.segment([text]))
            [found] = await pair.timed("detokenize", len(text) * search.weight, lambda: runs.assemble([text], results))
            trace = runs.search_of(own) if options.trace else None
        if found is None or not found.sentences:  # nothing is translated: the text is scored as its own translation
            path = "canonical" if path == "search" else path
            given = await pair.timed("tokenize", len(text), lambda: forcing.given(text, target_text, options))
            [detail] = await forcing.score([given])
            found = Translation(detail.target_text, sentences=(detail,))
        check_size(limit, *_tokens(found.sentences))
        size = LONG_TEXT + 1 if "all" in (options.layer, options.head) else 0
        shown = await pair.timed("view", size, lambda: _maps(pair, text, found, options))
        if options.kind == "occlusion":
            every = zip(shown, found.sentences, strict=True)
            shown = [await forcing.occluded(one, detail, options) for one, detail in every]
        joined = join_maps(shown, forcing.score_of(found.sentences), found.quality)
        return replace(joined, search=trace, path=path)

    async def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> list[SentenceDetail]:
        """Score given translations (source, target) without splitting them; raise the errors of `attention`."""
        self._touch()
        pair = self._pair
        options = complete(TranslationOptions(length_penalty=length_penalty), pair.manifest.decoding)
        forcing = Forcing(pair, options, deadline, pair.wanted)
        size = sum(len(text) for texts in pairs for text in texts)
        given = await pair.timed("tokenize", size, lambda: [forcing.of_text(*texts) for texts in pairs])
        return await forcing.score(given)

    def _admit(self, deadline: float | None) -> None:
        """Raise Overloaded or NotReady before any work on the text: a refusal must cost next to nothing."""
        self.check_room(deadline)
        self._touch()

    def _touch(self) -> None:
        if self._pair.warm.is_set():
            self._last_used[:] = [time.time()]


def _maps(pair: LoadedPair, text: str, found: Translation, options: AttentionOptions) -> list[AttentionMap]:
    """Return the map of each sentence."""
    texts, begin, members = (text, found.text), pair.tokenizers.target.begin_token(), pair.info.members
    shown = [build_map(texts, detail, options, begin, pair.align, pair.info) for detail in found.sentences]
    if not members:
        return shown
    return [replace(each, model=members[pair.member].name, ensemble=pair.name) for each in shown]


def _tokens(sentences: Sequence[SentenceDetail]) -> tuple[int, int]:
    return sum(len(each.source_tokens) for each in sentences), sum(len(each.target_tokens) for each in sentences)
