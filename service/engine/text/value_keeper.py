"""Values after the search: translations without their values are replaced, until all have them.

The search ends a hypothesis only if it holds every value, so this is seldom needed: at the length limit, or where a
value found no place before the end. Then comes another search, in which the model reads the target terms of a glossary,
then a wider one, then one in which it reads and copies stand-ins of the terms. At last the sentence is cut at its
values: the parts between them are translated, and the values are copied.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from service.engine.text.segmentation import SegmentationOptions, cut_at_values
from service.engine.text.segmented_text import SegmentedText, SegmentResult
from service.engine.text.tokenizer import Tokenizers
from service.engine.text.valued_sentence import TermReading
from service.engine.types import MAX_BEAM_SIZE, Hypothesis, TranslationOptions
from service.engine.values.constraints import ValueConstraints

WIDER = 4  # times the beam of the first search, up to the widest
# Nats a token. Around a stand-in the grammar suffers, so the translation with stand-ins has to be clearly likelier than
# one with a term behind its end. Of 109 such sentences 46 are (docs/adr/0026-glossaries.md).
LIKELIER = 0.3


class Source(NamedTuple):
    """A sentence as ids, and the values that its translation must hold."""

    ids: tuple[int, ...]
    values: ValueConstraints | None = None


class Translate(Protocol):
    """Translates sentences."""

    def __call__(self, sources: Sequence[Source], options: TranslationOptions) -> Awaitable[list[SegmentResult]]:
        """Return one result for each source."""


def sources_of(segmented: SegmentedText) -> list[Source]:
    """Return the segments of a text as the search takes them."""
    return [Source(segment.ids, segmented.constraints(number)) for number, segment in enumerate(segmented.segments)]


@dataclass(frozen=True, slots=True)
class ValueKeeper:
    """Keeps the values of segmented texts."""

    tokenizers: Tokenizers
    segmentation: SegmentationOptions
    translate: Translate

    async def keep(
        self, texts: Sequence[SegmentedText], results: Sequence[SegmentResult], options: TranslationOptions
    ) -> tuple[list[SegmentedText], list[SegmentResult]]:
        """Return texts and results in which every value has its place, and how it got there."""
        own = _divided(texts, results)
        wrong = [
            (text, number)
            for text, segmented in enumerate(texts)
            for number in segmented.valued
            if not self._is_well_placed(texts, own, (text, number))
        ]
        for text, segmented in enumerate(texts):
            for number in segmented.valued:
                own[text][number] = replace(own[text][number], values="search")
        kept = list(texts)
        # A model copies a target term that it reads to its place, so its second search needs no wider beam.
        terms = [(text, number) for text, number in wrong if texts[text].valued[number].has_terms]
        await self._search_again(kept, own, terms, options)
        wider = replace(options, beam_size=min(WIDER * (options.beam_size or 1), MAX_BEAM_SIZE))
        lost = [place for place in wrong if place not in terms or not self._holds_all(kept, own, place)]
        await self._search_again(kept, own, lost, wider)
        # Words that the model does not know, in any form, end up behind the sentence or derail it.
        misplaced = [place for place in terms if not self._is_well_placed(kept, own, place)]
        await self._search_again(kept, own, misplaced, options, "stand-in")
        lost = [place for place in wrong if not self._holds_all(kept, own, place)]
        if lost:
            await self._copy(kept, own, lost, options)
        return kept, [result for results_of_text in own for result in results_of_text]

    async def _search_again(
        self,
        texts: list[SegmentedText],
        own: list[list[SegmentResult]],
        wrong: Sequence[tuple[int, int]],
        options: TranslationOptions,
        terms: TermReading = "target",
    ) -> None:
        """Replace wrong results by better ones of another search, in which the model reads something else for terms."""
        if not wrong:
            return
        others = [texts[text].reading_terms(number, self.tokenizers, terms) for text, number in wrong]
        sources = [sources_of(other)[number] for other, (_, number) in zip(others, wrong, strict=True)]
        found = await self.translate(sources, options)
        for (text, number), other, result in zip(wrong, others, found, strict=True):
            best, old = result.hypotheses[0], own[text][number].hypotheses[0]
            held = self._holds_all(texts, own, (text, number))
            better = other.is_well_placed(number, best.ids, self.tokenizers.target) and (
                terms != "stand-in" or best.score - old.score >= LIKELIER
            )
            if better or (not held and other.holds_all(number, best.ids, self.tokenizers.target)):
                texts[text] = texts[text].with_segment_of(other, number)
                own[text][number] = replace(result, values="retry")

    async def _copy(
        self,
        texts: list[SegmentedText],
        own: list[list[SegmentResult]],
        lost: Sequence[tuple[int, int]],
        options: TranslationOptions,
    ) -> None:
        """Cut the segments that still lack values, and translate the parts between them."""
        for text in sorted({text for text, _ in lost}):
            numbers = {number for owner, number in lost if owner == text}
            cut, before = cut_at_values(texts[text], numbers, self.tokenizers.source, self.segmentation)
            parts = [Source(segment.ids) for segment, old in zip(cut.segments, before, strict=True) if old is None]
            found = iter(await self.translate(parts, options) if parts else [])
            own[text] = [
                own[text][old]
                if isinstance(old, int)
                else self._given(old)
                if isinstance(old, str)
                else replace(next(found), values="copied")
                for old in before
            ]
            texts[text] = cut

    def _given(self, term: str) -> SegmentResult:
        """Return a target term as the translation of its own segment."""
        ids = self.tokenizers.target.word(term)
        return SegmentResult((Hypothesis(ids, (0.0,) * len(ids), 0.0, "length"),), values="copied")

    def _is_well_placed(
        self, texts: Sequence[SegmentedText], own: Sequence[Sequence[SegmentResult]], place: tuple[int, int]
    ) -> bool:
        text, number = place
        return texts[text].is_well_placed(number, own[text][number].hypotheses[0].ids, self.tokenizers.target)

    def _holds_all(
        self, texts: Sequence[SegmentedText], own: Sequence[Sequence[SegmentResult]], place: tuple[int, int]
    ) -> bool:
        text, number = place
        return texts[text].holds_all(number, own[text][number].hypotheses[0].ids, self.tokenizers.target)


def _divided(texts: Sequence[SegmentedText], results: Sequence[SegmentResult]) -> list[list[SegmentResult]]:
    """Return the results of each text."""
    divided = []
    first = 0
    for segmented in texts:
        divided.append(list(results[first : first + len(segmented.segments)]))
        first += len(segmented.segments)
    return divided
