"""The asynchronous interface of one model: texts in, translations and attention out.

A call waits for all of its sentences. Each sentence waits and runs by itself, in one batch with the sentences of all
other calls. If the awaiting task is cancelled, its sentences are cancelled and their rows are freed.
"""

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Self

from service.engine.attention.attention_map import build_map, join_maps
from service.engine.attention.selection import check_size, limit_for, select_weights, with_explicit_head
from service.engine.languages.tags import Pair
from service.engine.model_info import ModelInfo, ModelStateName
from service.engine.scheduling.admission import QueueStatus
from service.engine.search.options import check_quality, complete
from service.engine.translation.given_translation import GivenTranslations
from service.engine.translation.pair_model import LONG_TEXT, PairModel, in_languages
from service.engine.translation.sentence_runs import SentenceRuns
from service.engine.translation.served_model import ServedModel
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    SentenceDetail,
    TargetPath,
    Translation,
    TranslationOptions,
)

SHORT_TEXT = 400  # characters; to cut them into sentences takes 0.1 ms, or 2 ms if they are full of values


class Translator:
    """A served model as it translates one of its pairs; each call opens the model if it is closed."""

    failed_default: str | None = None  # the model that it stands in for

    def __init__(self, model: ServedModel, pair: Pair | None = None) -> None:
        """Set the model, and the pair as the model writes it (None: its first pair)."""
        self.model = model
        self._pair = pair or (model.info.source_language, model.info.target_language)
        self._infos = model.info, in_languages(model.info, *self._pair)  # of the model, and of this pair

    def for_pair(self, source_language: str, target_language: str) -> "Translator":
        """Return the same model for one of its pairs."""
        info = in_languages(self.model.info, source_language, target_language)
        pair = info.source_language, info.target_language
        return self if pair == self._pair else Translator(self.model, pair)

    def standing_in(self, failed: str) -> Self:
        """Return the same model, which says that it translates in the place of a default that has failed."""
        translator = copy.copy(self)
        translator.failed_default = failed
        return translator

    @property
    def name(self) -> str:
        """Return the bundle's name."""
        return self.model.name

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model, with this pair."""
        if self._infos[0] is not self.model.info:
            self._infos = self.model.info, in_languages(self.model.info, *self._pair)
        return self._infos[1]

    @property
    def state(self) -> ModelStateName:
        """Return the state of the model."""
        return self.model.serving_state

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of the model's queue."""
        return self.model.queue_status

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""
        self.model.check_room(deadline)

    def keep(self) -> AbstractContextManager[None]:
        """Return a context inside which the model serves this translator, even if it is replaced or unloaded."""
        return self.model.keep()

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
        async with self.model.use(self._pair, deadline) as pair:
            options = complete(options or TranslationOptions(), pair.manifest.decoding)
            check_quality(options, pair.manifest.confidence is not None, self.name)
            size = sum(map(len, texts))
            if size > SHORT_TEXT:  # the cache may know all sentences of a short one, whose answer needs no place
                self.check_room(deadline)
            split &= options.target_prefix is None
            runs = SentenceRuns(pair, options, deadline, pair.wanted if options.details else None, split=split)
            results = await runs.translate(await runs.segment(texts))
            work = size * options.weight
            return await pair.timed("detokenize", work, lambda: runs.assemble(texts, results))

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
        async with self.model.use(self._pair, deadline) as loaded:
            pair = loaded.of_member(options.member)
            search = complete(options.translation, pair.manifest.decoding)
            if options.trace:
                options = with_explicit_head(options, pair.manifest.attention)
            limit = limit_for(options, pair.manifest.attention, most_weights, self.name)
            selected = select_weights(options, pair.manifest.attention, self.name)
            selection = replace(selected, limit=limit, member=pair.member)
            self.check_room(deadline)  # before any work on the text: a refusal must cost next to nothing
            forcing = GivenTranslations(pair, search, deadline, selection)
            ids = await pair.timed("tokenize", len(text), lambda: forcing.check_side(text))
            if options.kind == "encoder":  # other views are checked after the translation
                check_size(limit, len(ids), 0)
            path: TargetPath = "ids" if options.target_ids else "search" if target_text is None else "canonical"
            translation: Translation | None = None
            trace = None
            if path == "search":
                runs = SentenceRuns(pair, search, deadline, selection, options.trace)
                [result] = results = await runs.translate(await runs.segment([text]))
                [translation] = await pair.timed(
                    "detokenize", len(text) * search.weight, lambda: runs.assemble([text], results)
                )
                trace = runs.search_of(result) if options.trace else None
            if (
                translation is None or not translation.sentences
            ):  # nothing is translated: the text is scored as its own translation
                path = "canonical" if path == "search" else path
                given = await pair.timed("tokenize", len(text), lambda: forcing.given(text, target_text, options))
                [detail] = await forcing.score([given])
                translation = Translation(detail.target_text, sentences=(detail,))
            check_size(limit, *_tokens(translation.sentences))
            size = LONG_TEXT + 1 if "all" in (options.layer, options.head) else 0
            shown = await pair.timed("view", size, lambda: _maps(pair, text, translation, options))
            if options.kind == "occlusion":
                every = zip(shown, translation.sentences, strict=True)
                shown = [await forcing.occluded(one, detail, options) for one, detail in every]
            joined = join_maps(shown, forcing.score_of(translation.sentences), translation.quality)
            return replace(joined, search=trace, path=path)

    async def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None = None, *, deadline: float | None = None
    ) -> list[SentenceDetail]:
        """Score given translations (source, target) without splitting them; raise the errors of `attention`."""
        async with self.model.use(self._pair, deadline) as pair:
            options = complete(TranslationOptions(length_penalty=length_penalty), pair.manifest.decoding)
            forcing = GivenTranslations(pair, options, deadline, pair.wanted)
            size = sum(len(text) for texts in pairs for text in texts)
            given = await pair.timed("tokenize", size, lambda: [forcing.of_text(*texts) for texts in pairs])
            return await forcing.score(given)


def _maps(pair: PairModel, text: str, translation: Translation, options: AttentionOptions) -> list[AttentionMap]:
    """Return the map of each sentence."""
    texts, begin, members = (text, translation.text), pair.tokenizers.target.begin_token(), pair.info.members
    shown = [build_map(texts, detail, options, begin, pair.align, pair.info) for detail in translation.sentences]
    if not members:
        return shown
    return [replace(attention, model=members[pair.member].name, ensemble=pair.name) for attention in shown]


def _tokens(sentences: Sequence[SentenceDetail]) -> tuple[int, int]:
    return sum(len(sentence.source_tokens) for sentence in sentences), sum(
        len(sentence.target_tokens) for sentence in sentences
    )
