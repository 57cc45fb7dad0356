"""Scores given translations with a model, and reads their attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.bundle.alignment import alignment_weights
from service.engine.attention.attention_map import ScoredPair
from service.engine.attention.occlusion import Occlusion, with_occlusion
from service.engine.errors import EmptyInput, InputTooLong, InvalidOption
from service.engine.scheduling.interface import run_scoring, within
from service.engine.search.options import complete, normalised_score, over_vocabulary, penalty_of, search_options
from service.engine.text.segmented_text import SegmentedText, word_links
from service.engine.text.sentence_quality import QualityOptions
from service.engine.text.tokenizer import Tokenizer
from service.engine.text.value_keeper import Source, sources_of
from service.engine.translation.loaded_pair import LoadedPair
from service.engine.translation.sentence_runs import SentenceRuns
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    ScoringRequest,
    ScoringResult,
    Search,
    TranslationOptions,
    WeightSelection,
)


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The score of a given translation, and the words that the model aligns (white space separates words)."""

    score: float
    token_logprobs: tuple[float, ...]
    word_alignment: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PairScoring:
    """Scores pairs of whole sentences, which are never split."""

    pair: LoadedPair

    def encode_sides(self, text: str, target_text: str | None = None) -> list[tuple[int, ...]]:
        """Return the ids of a text and of its translation; raise EmptyInput or InputTooLong."""
        limits, tokenizers = self.pair.manifest.limits, self.pair.tokenizers
        ids = [self._encode(text, tokenizers.source, "text", limits.source_tokens)]
        if target_text is not None:
            ids.append(self._encode(target_text, tokenizers.target, "target_text", limits.target_tokens))
        return ids

    def _encode(self, text: str, tokenizer: Tokenizer, name: str, limit: int) -> tuple[int, ...]:
        model = self.pair.name
        if tokenizer.exceeds(limit, text):
            raise InputTooLong(f"{name} has more than {limit} tokens, which is the most that {model} takes here.")
        ids = tokenizer.encode(text)
        if not tokenizer.holds_text(ids):
            raise EmptyInput(f"{name} is empty; send at least one character that is not white space.")
        if len(ids) > limit:
            raise InputTooLong(f"{name} has {len(ids)} tokens with its end token; {model} takes at most {limit} here.")
        return ids

    async def decoded(
        self,
        text: str,
        source: tuple[int, ...],
        options: TranslationOptions,
        deadline: float | None,
        wanted: WeightSelection,
    ) -> ScoredPair:
        """Return a sentence with the model's own translation of it."""
        tokenizers = self.pair.tokenizers
        [result] = await SentenceRuns(self.pair).sentences(
            [Source(source)], replace(options, alternatives=0), deadline, wanted
        )
        scores = result.scores
        assert scores is not None, "a worker answers with the requested scores"
        best = over_vocabulary(result.hypotheses[0], scores, penalty_of(options))
        target = tokenizers.target.locate(best.ids)
        judge = QualityOptions(self.pair.manifest.confidence).judge
        return ScoredPair(
            *(text, target.text, tokenizers.source.tokens(text), target.tokens, scores, best.score, best.logprobs),
            quality=judge(text, target.text, len(source), result.hypotheses[0].logprobs).quality,
        )

    async def searched(
        self, segmented: SegmentedText, options: TranslationOptions, deadline: float | None, wanted: WeightSelection
    ) -> tuple[ScoredPair, Search]:
        """Return a text, as one sentence, with the model's own translation of it and the search that found it.

        Raise InvalidOption if the search did not find the final translation.
        """
        target_tokenizer, options = self.pair.tokenizers.target, replace(options, alternatives=0)
        [result] = await SentenceRuns(self.pair).sentences(sources_of(segmented), options, deadline, wanted, trace=True)
        scores, trace, [found] = result.scores, result.trace, result.hypotheses
        assert scores is not None, "a worker answers with the requested scores"
        assert trace is not None, "a worker records what is asked for"
        if not segmented.is_well_placed(0, found.ids, target_tokenizer):
            raise InvalidOption(
                "One search did not keep all values of this text (numbers, addresses, terms), so there is no single "
                "search to show; send values=off to see the search without them."
            )
        best = over_vocabulary(found, scores, penalty_of(options))
        source = segmented.source_tokens(0, self.pair.tokenizers.source)
        target = segmented.locate(0, best.ids, target_tokenizer)
        tokens = {token for each in trace.hypotheses for token in (each.token, *(id_ for id_, _ in each.following))}
        limit = self.pair.manifest.limits.target_tokens
        search = Search(
            trace=trace,
            pieces={token: target_tokenizer.piece(token) for token in tokens},
            beam_size=search_options(options, len(source), limit).beam_size,
            length_penalty=penalty_of(options),
            shortlist=self.pair.manifest.graphs[self.pair.info.precision].shortlist is not None,
        )
        judge = QualityOptions(self.pair.manifest.confidence).judge
        pair = ScoredPair(
            *(segmented.text, target.text, source, target.tokens, scores, best.score, best.logprobs),
            quality=judge(segmented.text, target.text, len(source), found.logprobs).quality,
        )
        return pair, search

    async def given(
        self,
        texts: tuple[str, str],
        ids: Sequence[tuple[int, ...]],
        options: TranslationOptions,
        deadline: float | None,
        wanted: WeightSelection,
    ) -> ScoredPair:
        """Return a sentence with a given translation of it."""
        asked = ScoringRequest(ids[0], ids[1], deadline, wanted)
        [scores] = await within(deadline, run_scoring(self.pair.worker, [asked]))
        logprobs = tuple(float(value) for value in scores.logprobs)
        tokenizers = self.pair.tokenizers
        source, target = tokenizers.source.tokens(texts[0]), tokenizers.target.tokens(texts[1])
        return ScoredPair(*texts, source, target, scores, normalised_score(logprobs, penalty_of(options)), logprobs)

    async def occluded(
        self,
        found: AttentionMap,
        scored: ScoredPair,
        source: tuple[int, ...],
        options: AttentionOptions,
        deadline: float | None,
    ) -> AttentionMap:
        """Return what the translation's tokens lose without each part of the source; one scoring run takes several."""
        parts, eos = Occlusion.of(scored.source_text, scored.source_tokens, options), self.pair.manifest.special_ids.eos
        target = tuple(token.id for token in scored.target_tokens)
        if target[-1:] != (eos,):
            target = (*target, eos)
        requests = [ScoringRequest(shorter, target, deadline, self.pair.wanted) for shorter in parts.sources(source)]
        results = await within(deadline, run_scoring(self.pair.worker, requests))
        return with_occlusion(found, scored, parts, [result.logprobs for result in results], options)

    async def score_batch(
        self, pairs: Sequence[tuple[str, str]], length_penalty: float | None, deadline: float | None
    ) -> list[TargetScore]:
        """Return the scores of given translations; raise EmptyInput, InputTooLong and the errors of a worker."""
        options = complete(TranslationOptions(length_penalty=length_penalty), self.pair.manifest.decoding)
        size = sum(len(text) for pair in pairs for text in pair)
        encoded = await self.pair.timed("tokenize", size, lambda: [self.encode_sides(*pair) for pair in pairs])
        jobs = [ScoringRequest(source, target, deadline, self.pair.wanted) for source, target in encoded]
        results = await within(deadline, run_scoring(self.pair.worker, jobs))

        def scores() -> list[TargetScore]:
            scored = zip(pairs, results, strict=True)
            return [self._target_score(pair, result, penalty_of(options)) for pair, result in scored]

        return await self.pair.timed("view", size, scores)

    def _target_score(self, texts: tuple[str, str], scores: ScoringResult, length_penalty: float) -> TargetScore:
        logprobs = tuple(float(value) for value in scores.logprobs)
        source = texts[0], self.pair.tokenizers.source.tokens(texts[0]), 0
        target = texts[1], self.pair.tokenizers.target.tokens(texts[1]), 0
        align = self.pair.align
        links = word_links(alignment_weights(scores.cross_attention, align), source, target, align.threshold)
        return TargetScore(normalised_score(logprobs, length_penalty), logprobs, links)
