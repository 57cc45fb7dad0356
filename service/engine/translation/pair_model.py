"""A loaded model as it translates one of its language pairs: the parts that its calls share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from service.bundle.limits import WRAP_TOKENS
from service.bundle.manifest import AlignmentHead, Manifest
from service.engine.attention.selection import alignment_head_in_result
from service.engine.errors import InvalidOption
from service.engine.events import EngineEvent, EventListener, StageDone, ignore_event
from service.engine.jobs import WeightSelection
from service.engine.languages.tags import canonical
from service.engine.model_info import ModelInfo
from service.engine.scheduling.interface import SentenceWorker
from service.engine.text.reader import Reader
from service.engine.text.tokenizer import Tokenizers, for_pair
from service.engine.thread_pools import TEXT_POOL
from service.engine.types import TranslationOptions
from service.engine.values.finder import ValueRules

Result = TypeVar("Result")

LONG_TEXT = 500  # characters; the longest on the event loop: it takes 10 ms if it is in capitals or full of values


@dataclass(frozen=True, slots=True)
class PairModel:
    """The manifest, tokenizers and worker of a model, for one source and one target language."""

    manifest: Manifest
    info: ModelInfo
    worker: SentenceWorker
    on_event: EventListener
    align: AlignmentHead  # as it stands in the scores, which hold no other head
    reader: Reader  # with its tokenizers; a call's options are added by `reader_for`
    rules: ValueRules  # how values are found and written, unless a call says otherwise
    warm: threading.Event = field(default_factory=threading.Event)  # shared by all pairs
    member: int = 0  # of an ensemble: whose attention is returned

    def with_languages(self, source_language: str, target_language: str) -> PairModel:
        """Return the model for another of its pairs; itself for a pair that it does not have."""
        info = in_languages(self.info, source_language, target_language)
        if info is self.info:
            return self
        return replace(
            self,
            info=info,
            reader=replace(
                self.reader,
                language=info.source_language,
                tokenizers=for_pair(self.tokenizers, self.manifest, info.source_language, info.target_language),
            ),
            rules=ValueRules(info.source_language, info.target_language),
        )

    def of_member(self, name: str | None) -> PairModel:
        """Return the pair with the attention of a member of an ensemble; None: its own. Raise InvalidOption."""
        names = [member.name for member in self.manifest.members]
        if name is None:
            return self
        if name not in names:
            accepted = f"its members are {', '.join(names)}" if names else "it is no ensemble; leave out member"
            raise InvalidOption(f"{self.name} has no member {name[:64]!r}: {accepted}.")
        attention = self.manifest.members[names.index(name)].attention
        return replace(
            self,
            manifest=replace(self.manifest, attention=attention),
            align=alignment_head_in_result(attention.align),
            member=names.index(name),
        )

    @property
    def name(self) -> str:
        """Return the bundle's name."""
        return self.info.name

    @property
    def tokenizers(self) -> Tokenizers:
        """Return the tokenizers of both sides."""
        return self.reader.tokenizers

    @property
    def wanted(self) -> WeightSelection:
        """Return the weights that every scoring returns: those of the aligning head."""
        align = self.manifest.attention.align
        return WeightSelection((align.layer, align.head), member=self.member)

    def reader_for(self, options: TranslationOptions, split: bool = True) -> Reader:
        """Return how texts are read: how they are cut, and which of their parts are values."""
        values = None if options.values == "off" else self.rules
        if options.values == "keep":
            values = replace(self.rules, localized=False)
        return replace(self.reader, split=split, context=options.context, values=values, glossary=options.glossary)

    def report(self, event: EngineEvent) -> None:
        """Report an event of a call; the warm-up, whose translation is cut off early, has none."""
        if self.warm.is_set():
            self.on_event(event)

    async def timed(self, stage: str, size: int, work: Callable[[], Result]) -> Result:
        """Do work on texts of `size` characters, times the weight of the options, much of it in a thread."""
        began = time.monotonic()
        result = await TEXT_POOL.run(work) if size > LONG_TEXT else work()
        self.on_event(StageDone(self.name, stage, began, time.monotonic()))
        return result


def pair_of_worker(
    manifest: Manifest,
    info: ModelInfo,
    tokenizers: Tokenizers,
    worker: SentenceWorker,
    on_event: EventListener = ignore_event,
) -> PairModel:
    """Return a loaded model for its first pair; longer sentences than the manifest says are wrapped."""
    limit = manifest.limits.source_tokens
    wrap_tokens = min(manifest.decoding.wrap_tokens or WRAP_TOKENS, limit)
    return PairModel(
        manifest=manifest,
        info=info,
        worker=worker,
        on_event=on_event,
        align=alignment_head_in_result(manifest.attention.align),
        reader=Reader(
            for_pair(tokenizers, manifest, info.source_language, info.target_language),
            info.source_language,
            wrap_tokens,
            limit,
        ),
        rules=ValueRules(info.source_language, info.target_language),
    )


def in_languages(info: ModelInfo, source_language: str, target_language: str) -> ModelInfo:
    """Return the description with another of its pairs; itself for a pair that it does not have."""
    source, target = own_tag(source_language, info.sources), own_tag(target_language, info.targets)
    unchanged = (source, target) == (info.source_language, info.target_language)
    if source is None or target is None or source == target or unchanged:
        return info
    return replace(info, source_language=source, target_language=target)


def own_tag(language: str, tags: tuple[str, ...]) -> str | None:
    """Return how a model itself writes a language tag; None if it does not have that language."""
    canonical_tag = canonical(language)
    return next((tag for tag in tags if canonical(tag) == canonical_tag), None)
