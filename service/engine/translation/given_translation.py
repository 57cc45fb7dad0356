"""Scores given translations with a model (forced decoding): texts, or the tokens of one path to them.

A given translation belongs to one sentence, which is never split. The model reads the sentence as a translation does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from service.bundle.alignment import alignment_weights
from service.bundle.wrapping import Span
from service.engine.attention.occlusion import occluded_parts, with_occlusion
from service.engine.attention.selection import check_size
from service.engine.errors import EmptyInput, InputTooLong, InvalidOption
from service.engine.jobs import Hypothesis, ScoringRequest, ScoringResult, WeightSelection
from service.engine.scheduling.interface import run_scoring
from service.engine.search.options import normalised_score, over_vocabulary, penalty_of
from service.engine.text.reading import Reading
from service.engine.text.segmentation import readings
from service.engine.text.stand_in_step import LATER_READINGS
from service.engine.text.tokenizer import DecodedText
from service.engine.translation.pair_model import PairModel
from service.engine.translation.translated import TranslatedSentence, likeliest
from service.engine.types import AttentionMap, AttentionOptions, SentenceDetail, TranslationOptions


@dataclass(frozen=True, slots=True)
class GivenPair:
    """A sentence, and the tokens of its translation at their places in the given text."""

    source_text: str
    sentence: Reading
    target: DecodedText
    rivals: tuple[GivenPair, ...] = ()  # the same pair in other readings of the sentence; the likeliest is taken

    @property
    def target_ids(self) -> tuple[int, ...]:
        """Return the tokens of the translation."""
        return tuple(token.id for token in self.target.tokens)


@dataclass(frozen=True, slots=True)
class GivenTranslations:
    """Scores given translations."""

    pair: PairModel
    options: TranslationOptions  # complete
    deadline: float | None
    wanted: WeightSelection

    def check_side(self, text: str, name: str = "text") -> tuple[int, ...]:
        """Return the ids of a text, or of its `target_text`; raise EmptyInput or InputTooLong."""
        model, limits, is_source = self.pair.name, self.pair.manifest.limits, name == "text"
        tokenizer = self.pair.tokenizers.source if is_source else self.pair.tokenizers.target
        limit = limits.source_tokens if is_source else limits.target_tokens
        if tokenizer.exceeds(limit, text):
            raise InputTooLong(f"{name} has more than {limit} tokens, which is the most that {model} takes here.")
        ids = tokenizer.encode(text)
        if not tokenizer.holds_text(ids):
            raise EmptyInput(f"{name} is empty; send at least one character that is not white space.")
        if len(ids) > limit:
            raise InputTooLong(f"{name} has {len(ids)} tokens with its end token; {model} takes at most {limit} here.")
        return ids

    def given(self, text: str, target_text: str | None, options: AttentionOptions) -> GivenPair:
        """Return a sentence with a given translation; without one, nothing of the text is translated."""
        if options.target_ids:
            return self.of_ids(text, target_text, options)
        return self.of_text(text, text if target_text is None else target_text)

    def of_text(self, text: str, target_text: str) -> GivenPair:
        """Return a sentence with a given translation, in the tokenizer's own segmentation."""
        self.check_side(text)
        self.check_side(target_text, "target_text")
        first, *others = next(self._readings(text)).readings
        pair, rivals = self._read(text, target_text, first), (self._read(text, target_text, rival) for rival in others)
        return replace(pair, rivals=tuple(rivals))

    def _read(self, text: str, target_text: str, sentence: Reading) -> GivenPair:
        """Return one reading of a sentence with a given translation."""
        tokenizer = self.pair.tokenizers.target
        start, end = _without(target_text, text[: sentence.start], text[sentence.end :])
        info = self.pair.info
        languages = info.source_language, info.target_language
        read = sentence.read_target(target_text[start:end], tokenizer, languages)
        tokens = tuple(replace(token, start=token.start + start, end=token.end + start) for token in read.tokens)
        return self._checked(GivenPair(text, sentence, DecodedText(target_text, tokens)))

    def of_ids(self, text: str, target_text: str | None, options: AttentionOptions) -> GivenPair:
        """Return a sentence with the tokens of a path to its translation; raise InvalidOption for impossible ones."""
        self.check_side(text)
        tokenizer, ids = self.pair.tokenizers.target, options.target_ids
        size = self.pair.manifest.vocabulary_size
        if not all(0 <= number < size for number in ids) or tokenizer.eos in ids[:-1]:
            raise InvalidOption(
                f"target_ids must be tokens of {self.pair.name}, from 0 to {size - 1}, with </s> ({tokenizer.eos}) "
                "only at the end: the ids of the target tokens of one sentence in the details of /translate."
            )
        for sentence in (reading for part in self._readings(text) for reading in part.readings):
            before, after = text[: sentence.start], text[sentence.end :]
            located = sentence.locate(ids, tokenizer, len(before))
            target = DecodedText(before + located.text + after, located.tokens)
            if options.source_ids in ((), sentence.ids) and target_text in (None, target.text):
                return self._checked(GivenPair(text, sentence, target))
        raise InvalidOption(
            "source_ids are not what the model reads of this text, or target_text is not what target_ids write: send "
            "the text and the ids of one sentence in the details of /translate, with the same values, or leave out "
            "source_ids and target_text."
        )

    def score_of(self, details: Sequence[SentenceDetail]) -> float:
        """Return the score of all sentences together."""
        logprobs = [value for detail in details for value in detail.token_logprobs]
        return normalised_score(logprobs, penalty_of(self.options))

    async def score(self, pairs: Sequence[GivenPair]) -> list[SentenceDetail]:
        """Return given translations with their scores."""
        readings = [reading for pair in pairs for reading in (replace(pair, rivals=()), *pair.rivals)]
        if self.wanted.limit is not None:
            for each in readings:
                check_size(self.wanted.limit, len(each.sentence.ids), len(each.target.tokens))
        closed = self.pair.tokenizers.target.closed
        results = await self._run([(reading.sentence.ids, closed(reading.target_ids)) for reading in readings])
        scored = zip(readings, results, strict=True)
        return [self._detail(*_likeliest([*islice(scored, 1 + len(pair.rivals))])) for pair in pairs]

    async def occluded(
        self, attention: AttentionMap, scored: SentenceDetail, options: AttentionOptions
    ) -> AttentionMap:
        """Return what the translation's tokens lose without each part of the source; one scoring run takes several."""
        parts = occluded_parts(scored, options)
        source, target = (tuple(token.id for token in side) for side in (scored.source_tokens, scored.target_tokens))
        target = self.pair.tokenizers.target.closed(target)
        shorter = [tuple(number for at, number in enumerate(source) if at not in group) for group in parts.groups]
        results = await self._run([(ids, target) for ids in shorter])
        return with_occlusion(attention, scored, parts, [result.logprobs for result in results], options)

    async def _run(self, pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[ScoringResult]:
        requests = [ScoringRequest(source, target, self.deadline, self.wanted) for source, target in pairs]
        return await run_scoring(self.pair.worker, requests)

    def _readings(self, text: str) -> Iterator[Reading]:
        """Yield what a model may read of a text: at first, and in the searches that follow if values are missing."""
        tokenizers = self.pair.tokenizers
        found: list[Reading] = []
        for reading in readings(text, self.pair.reader_for(self.options)):
            found.append(reading)
            yield reading
        yield from (reading.reading_terms(tokenizers, terms) for reading in found for terms in LATER_READINGS)

    def _checked(self, given: GivenPair) -> GivenPair:
        """Return a pair that fits the model; what is read of a text may have more tokens than the text."""
        limits = self.pair.manifest.limits
        sides = (
            ("text", given.sentence.ids, limits.source_tokens),
            ("target", given.target.tokens, limits.target_tokens),
        )
        for name, tokens, limit in sides:
            if len(tokens) > limit:
                raise InputTooLong(f"The {name} has {len(tokens)} tokens as the model reads it; it takes {limit}.")
        return given

    def _detail(self, given: GivenPair, scores: ScoringResult) -> SentenceDetail:
        tokenizers, penalty = self.pair.tokenizers, penalty_of(self.options)
        given_ids = Hypothesis(given.target_ids, (), 0.0, "eos")
        hypothesis = over_vocabulary(given_ids, scores, penalty, len(tokenizers.target.prefix))
        weights = alignment_weights(scores.cross_attention, self.pair.align)
        source = given.source_text, given.sentence.source_tokens(tokenizers.source), 0
        translated = TranslatedSentence(given.sentence, (hypothesis,), hypothesis.logprobs, weights, scores)
        return translated.detail_of(source, (given.target.text, given.target.tokens, 0), self.pair.align.threshold)


def _likeliest(scored: Sequence[tuple[GivenPair, ScoringResult]]) -> tuple[GivenPair, ScoringResult]:
    """Return the reading of a sentence that a search would take for this translation, with its scores."""
    pair, _ = scored[0]
    repeated = pair.target.text.casefold() == pair.source_text.casefold()
    return scored[likeliest([float(scores.logprobs.sum()) for _, scores in scored], repeated=repeated)]


def _without(text: str, before: str, after: str) -> Span:
    """Return the range of a translation that belongs to the sentence itself: what is copied around it does not."""
    before, after = before.strip(), after.strip()
    start = end = 0
    if before and text.lstrip().startswith(before):
        start = text.index(before) + len(before)
    if after and text.rstrip().endswith(after):
        end = len(text) - text.rindex(after)
    return (start, len(text) - end) if text[start : len(text) - end].strip() else (0, len(text))
