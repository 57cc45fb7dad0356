"""An engine without weights that plugs into the real application: it upper-cases, slowly if asked to."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from service.api.state import Service
from service.bundle.repository import Change
from service.engine.errors import BundleMissing, EngineError, LastModel, UnknownModel, UnsupportedPair
from service.engine.events import (
    EventListener,
    LoadChanged,
    RequestRejected,
    SentencesCancelled,
    ignore_event,
)
from service.engine.jobs import AttentionScores, FloatArray, SearchTrace, TracedHypothesis
from service.engine.model_info import ModelInfo, ModelState, ModelStateName
from service.engine.registry import STATE_REASONS
from service.engine.scheduling.admission import QueueStatus
from service.engine.search.options import check_quality
from service.engine.translation.translated import with_quality
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    Search,
    SentenceDetail,
    SentenceQuality,
    Token,
    Translation,
    TranslationOptions,
)
from service.metrics import Metrics
from service.settings import Settings

if TYPE_CHECKING:
    from service.engine import Registry

MODELS = ("transformer-en-fr", "bahdanau-en-fr", "transformer-en-de")


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
class DummyTranslator:
    """Takes `seconds` for each call, or fails with `error`; counts rows as the real one does."""

    info: ModelInfo
    on_event: EventListener = ignore_event
    seconds: float = 0.0
    error: Exception | None = None
    say: Callable[[str], str] = str.upper  # its translation of a text
    quality_of: Callable[[str], float] | None = None  # the quality of a text's translation; None: it gives none
    queue_status: QueueStatus = field(default_factory=QueueStatus)
    rows: int = 0
    most_weights: list[int | None] = field(default_factory=list)
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[tuple[tuple[str, ...], object, float | None]] = field(default_factory=list)

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

    def check_room(self, deadline: float | None = None) -> None:
        """There always is."""

    def keep(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def translate(
        self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
    ) -> list[Translation]:
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


def search_for(tokens: Sequence[Token]) -> Search:
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
    return Search(SearchTrace(tuple(nodes), tuple(best)), pieces, 2, 1.0, shortlist=False)


def scores_of(weights: FloatArray) -> AttentionScores:
    """Return scores whose softmax is these weights: queries are their logarithms, and keys are unit vectors."""
    scores, keys = np.log(weights), np.eye(weights.shape[-1], dtype=np.float32)
    return AttentionScores(scores, "scaled_dot", "softmax", 0.5, 2 * scores, keys)


class DummyRegistry:
    """Two architectures from English, started and stopped like the real one."""

    def __init__(
        self,
        on_event: EventListener = ignore_event,
        seconds: float = 0.0,
        names: Sequence[str] = MODELS,
    ) -> None:
        self.translators = {name: DummyTranslator(info_of(name), on_event, seconds) for name in names}
        self.ready = True
        self.states_of: dict[str, ModelStateName] = {}
        self.unloaded: dict[str, DummyTranslator] = {}
        self.dead = self.stalled = False
        self.refused: Change | None = None  # what to say instead of having reloaded

    def __getitem__(self, name: str) -> DummyTranslator:
        return self.translators[name]

    def states(self) -> list[ModelState]:
        """Ready as a whole, but for those in `states_of`."""
        default: ModelStateName = "ready" if self.ready else "starting"
        return [
            ModelState(name, translator.info.version, state := self.states_of.get(name, default), STATE_REASONS[state])
            for name, translator in self.translators.items()
        ]

    def models(self) -> list[ModelInfo]:
        return [translator.info for translator in self.translators.values()]

    def default_name(self, source: str, target: str) -> str | None:
        return self.resolve(source, target).info.name

    def default_reason(self, source: str, target: str) -> str:
        return "as the only model"

    def resolve(self, source: str, target: str, model: str | None = None) -> DummyTranslator:
        pair = [t for t in self.translators.values() if (source, target) in t.info.pairs]
        if not pair:
            raise UnsupportedPair("no such pair")
        if model is None and self.failed_default(source, target) is not None:
            return pair[1]
        for translator in pair:
            if model in (None, translator.info.name, translator.info.architecture):
                return translator
        raise UnknownModel("No such model for this pair; GET /models lists them.")

    def failed_default(self, source: str, target: str) -> str | None:
        pair = [name for name, translator in self.translators.items() if (source, target) in translator.info.pairs]
        return pair[0] if len(pair) > 1 and self.states_of.get(pair[0]) == "failed" else None

    async def start(self) -> None:
        self.ready = True

    async def stop(self, drain: float) -> None:
        self.ready = False

    async def reload(self, name: str | None = None) -> list[Change]:
        if name is not None and name not in self.translators:
            raise BundleMissing(f"there is no bundle named {name} in it.")
        return [
            self.refused or Change(each, "replaced", f"sha256:{each}")
            for each in self.translators
            if name in (None, each)
        ]

    async def unused(self) -> list[str]:
        return list(self.unloaded)

    async def unload(self, name: str) -> None:
        if name not in self.translators:
            raise UnknownModel("No such model.")
        if len(self.translators) == 1:
            raise LastModel("It is the only one.")
        self.unloaded[name] = self.translators.pop(name)


def service_of(
    registry: DummyRegistry, settings: Settings | None = None, metrics: Metrics | None = None, **more: Any
) -> Service:
    """Return the service over a dummy engine."""
    return Service(settings or Settings(), cast("Registry", registry), metrics or Metrics(), **more)
