"""The real engine without a model: registry, choice and life of models are real, and texts become capitals."""

import asyncio
import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from service.api.languages import LanguageDetection
from service.api.state import Service
from service.bundle.repository import Change
from service.engine.errors import BundleMissing, EngineError
from service.engine.events import (
    EventListener,
    LoadChanged,
    RequestRejected,
    SentencesCancelled,
    ignore_event,
)
from service.engine.jobs import AttentionScores, FloatArray, SearchTrace, TracedHypothesis
from service.engine.loader import EngineSettings
from service.engine.model_info import ModelInfo, WorkerState
from service.engine.opening.open_models import OpenModels
from service.engine.registry import Registry
from service.engine.scheduling.admission import QueueStatus, WorkerStatus
from service.engine.search.options import check_quality
from service.engine.thread_pools import BundleLoader
from service.engine.translation.pair_model import PairModel
from service.engine.translation.served_model import Opening, ServedModel
from service.engine.translation.translated import with_quality
from service.engine.translation.translator import Translator
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    RecordedSearch,
    SentenceDetail,
    SentenceQuality,
    Token,
    Translation,
    TranslationOptions,
)
from service.metrics import Metrics
from service.settings import Settings

MODELS = ("bahdanau-en-fr", "transformer-en-de", "transformer-en-fr")
DETECTION = LanguageDetection()


def info_of(name: str) -> ModelInfo:
    """Return the description of a model such as `transformer-en-fr`, or `transformer-en-fr+de` with two targets."""
    architecture, *sides = name.split("-")
    sources, targets = (side.split("+") for side in sides)
    return ModelInfo(
        *(name, "1", architecture, sources[0], targets[0], f"sha256:{name}", "int8", "cpu", "auto"),
        *("CPUExecutionProvider", 256, 256, {"align": {"layer": 0}}, {"recipe": "none"}),
        source_languages=tuple(sources) if len(sources) > 1 else (),
        target_languages=tuple(targets) if len(targets) > 1 else (),
    )


def scored(text: str, target: str) -> SentenceDetail:
    return SentenceDetail(
        *(text, target, 0, 0, words_of(text), words_of(target), -0.5, (-0.25,) * len(words_of(target))),
        *(((0, 0),), "eos"),
        source_words=tuple(text.split()),
        target_words=tuple(target.split()),
        word_alignment=((0, 0),),
    )


def words_of(text: str) -> tuple[Token, ...]:
    words = tuple(
        Token(10 + index, f"▁{word}", word, text.index(word), text.index(word) + len(word))
        for index, word in enumerate(text.split())
    )
    return (*words, Token(2, "</s>", "", len(text), len(text), "</s>"))


@dataclass
class IdleWorker:
    """The worker of a model that nobody runs: its state and its queue are what a test says."""

    state: WorkerState = WorkerState.RUNNING
    queue_status: QueueStatus = field(default_factory=QueueStatus)
    heartbeat: float = field(default_factory=time.monotonic)

    @property
    def status(self) -> WorkerStatus:
        return WorkerStatus(self.state, self.state is WorkerState.RUNNING, self.heartbeat, self.queue_status)

    def check_room(self, deadline: float | None = None) -> None:
        """There always is."""

    def stop(self, drain: float = 0.0) -> None:
        self.state = WorkerState.STOPPED

    def retire(self) -> None:
        self.stop()


def opened(loaded: PairModel) -> ServedModel:
    """Return the real model of what is loaded, which is open."""
    model = ServedModel(loaded.info, Opening(Path(), lambda: loaded, BundleLoader(1.0)), OpenModels())
    model.load()
    return model


class DummyTranslator(Translator):
    """Takes `seconds` for each call, or fails with `error`; counts rows as the real one does."""

    def __init__(self, info: ModelInfo, on_event: EventListener = ignore_event, seconds: float = 0.0) -> None:
        self.worker, nothing = IdleWorker(heartbeat=math.inf), cast(Any, None)  # it never seems to hang
        loaded = PairModel(nothing, info, cast(Any, self.worker), ignore_event, nothing, nothing, nothing)
        loaded.warm.set()
        super().__init__(opened(loaded))
        self.on_event, self.seconds = on_event, seconds
        self.error: Exception | None = None
        self.say: Callable[[str], str] = str.upper  # its translation of a text
        self.quality_of: Callable[[str], float] | None = None  # the quality of a text's translation; None: it has none
        self.rows = 0
        self.most_weights: list[int | None] = []
        self.busy = asyncio.Event()
        self.calls: list[tuple[tuple[str, ...], object, float | None]] = []

    def for_pair(self, source_language: str, target_language: str) -> Self:
        pair = copy.copy(self)
        Translator.__init__(pair, self.model, (source_language, target_language))
        return self if pair.info is self.info else pair

    @property
    def info(self) -> ModelInfo:
        return super().info

    @info.setter
    def info(self, info: ModelInfo) -> None:
        self.model.info = info

    async def work(self, texts: Sequence[str], options: object, deadline: float | None, beam: int) -> None:
        self.calls.append((tuple(texts), options, deadline))
        rows, name = len(texts) * beam, self.info.name
        self.rows += rows
        self.busy.set()
        self.on_event(LoadChanged(name, self.rows, self.rows // beam, 0))
        try:
            await asyncio.sleep(self.seconds)
            if self.error is not None:
                raise self.error
        except asyncio.CancelledError:
            self.on_event(SentencesCancelled(name, len(texts)))
            raise
        except EngineError as error:
            self.on_event(RequestRejected(name, error.code))
            raise
        finally:
            self.rows -= rows
            self.on_event(LoadChanged(name, self.rows, self.rows // beam, 0))

    async def translate(
        self,
        texts: Sequence[str],
        options: TranslationOptions | None = None,
        *,
        deadline: float | None = None,
        split: bool = True,
    ) -> list[Translation]:
        options = options or TranslationOptions()
        check_quality(options, self.quality_of is not None, self.info.name)
        await self.work(texts, options, deadline, options.beam_size or 4)
        return [self.translation(text, options) for text in texts]

    def translation(self, text: str, options: TranslationOptions) -> Translation:
        target = self.say(text)
        more = (target, f"{target}!", f"{target}!", f"{target}?")[: options.alternatives + 1]
        detail = scored(text, target)
        qualities: tuple[SentenceQuality, ...] = ()
        if self.quality_of is not None:
            quality = self.quality_of(text)
            low = options.min_quality is not None and quality < options.min_quality
            kept = low and options.keeps_source
            target = text if kept else target
            qualities = (SentenceQuality(text, target, 0, quality, (), low, kept),)
            detail = with_quality(detail, qualities[0])
        details = (detail,) if options.details else ()
        return Translation(target, more if options.alternatives else (), details, qualities=qualities)

    async def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> list[SentenceDetail]:
        await self.work([source for source, _ in pairs], length_penalty, deadline, 1)
        return [scored(*pair) for pair in pairs]

    async def attention(
        self,
        text: str,
        target_text: str | None,
        options: AttentionOptions,
        *,
        deadline: float | None = None,
        most_weights: int | None = None,
    ) -> AttentionMap:
        await self.work([text], options, deadline, 1)
        self.most_weights.append(most_weights)
        target = target_text or self.say(text)
        source_tokens, target_tokens = words_of(text), words_of(target)
        shape = (len(target_tokens), len(source_tokens))
        weights = np.full(shape, 1 / shape[1], dtype=np.float32)
        return AttentionMap(
            kind=options.kind,
            layer=options.layer,
            head=options.head,
            axes=("target", "source"),
            weights=weights,
            source_text=text,
            target_text=target,
            source_tokens=source_tokens,
            target_tokens=target_tokens,
            score=-0.5,
            token_logprobs=(-0.25,) * shape[0],
            token_ranks=(1,) * shape[0],
            alignment=((0, 0),),
            digest=self.info.digest,
            model=self.info.name,
            scores=scores_of(weights) if options.stage == "scores" else None,
            quality=None if self.quality_of is None or target_text is not None else self.quality_of(text),
            search=search_for(target_tokens) if options.trace else None,
        )


def search_for(tokens: Sequence[Token]) -> RecordedSearch:
    """Return a search of two hypotheses that found these tokens: at each step another token was pruned."""
    nodes, best = [TracedHypothesis(-1, 1, 0.0, 0.0, "live", ((10, -0.25), (8, -1.5)))], [0]
    for number, token in enumerate(tokens):
        parent, last = best[-1], number == len(tokens) - 1
        total = nodes[parent].total
        likeliest = () if last else ((tokens[number + 1].id, -0.25), (8, -1.5))
        best.append(len(nodes))
        nodes.append(TracedHypothesis(parent, token.id, -0.25, total - 0.25, "finished" if last else "live", likeliest))
        nodes.append(TracedHypothesis(parent, 8, -1.5, total - 1.5, "pruned"))
    pieces = {1: "<s>", 8: "▁other"} | {token.id: token.piece for token in tokens}
    return RecordedSearch(SearchTrace(tuple(nodes), tuple(best)), pieces, 2, 1.0, shortlist=False)


def scores_of(weights: FloatArray) -> AttentionScores:
    """Return scores whose softmax is these weights: queries are their logarithms, and keys are unit vectors."""
    scores, keys = np.log(weights), np.eye(weights.shape[-1], dtype=np.float32)
    return AttentionScores(scores, "scaled_dot", "softmax", 0.5, 2 * scores, keys)


class DummyRegistry(Registry):
    """The real registry over two architectures from English; there is no folder behind it."""

    def __init__(
        self,
        on_event: EventListener = ignore_event,
        seconds: float = 0.0,
        names: Sequence[str] = MODELS,
    ) -> None:
        defaults = tuple(name for name in names if name.startswith("transformer"))
        super().__init__(Path(), EngineSettings(default_models=defaults), on_event)
        self._started = True
        self.folder: list[str] = []
        self.refused: Change | None = None  # what to say instead of having reloaded
        for name in names:
            self.add(self.translator(info_of(name), on_event, seconds))

    def translator(self, info: ModelInfo, on_event: EventListener, seconds: float) -> DummyTranslator:
        return DummyTranslator(info, on_event, seconds)

    def add(self, translator: Translator) -> None:
        self.folder.append(translator.name)
        self._put(translator.name, translator)

    @property
    def dummies(self) -> list[DummyTranslator]:
        return cast(list[DummyTranslator], list(self.translators))

    def __getitem__(self, name: str) -> DummyTranslator:
        return next(translator for translator in self.dummies if translator.name == name)

    async def reload(self, name: str | None = None) -> list[Change]:
        if name is not None and name not in self.folder:
            raise BundleMissing(f"there is no bundle named {name} in it.")
        return [
            self.refused or Change(translator.name, "replaced", f"sha256:{translator.name}")
            for translator in self.translators
            if name in (None, translator.name)
        ]

    async def unused(self) -> list[str]:
        return sorted(set(self.folder) - {translator.name for translator in self.translators})


def service_of(
    registry: DummyRegistry, settings: Settings | None = None, metrics: Metrics | None = None, **more: Any
) -> Service:
    """Return the service over a dummy engine; all services share the model that detects languages."""
    service = Service(settings or Settings(), registry, metrics or Metrics(), **more)
    service.detection = DETECTION
    return service
