"""Values after the search: translations without their values are replaced, until all have them.

The search ends a hypothesis only if it holds every value, so this is seldom needed: at the length limit, or where a
value found no place before the end. Then comes another search, in which the model reads the target terms of a glossary,
then one in which it reads and copies stand-ins of the terms, or reads codes themselves. At last the sentence is cut at
its values: the parts between them are translated, and the values are copied. So a stand-in, or a word that the model
made of one, never reaches a reader.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from service.engine.cancellation import while_wanted
from service.engine.jobs import Hypothesis
from service.engine.text.reading import Reading
from service.engine.text.segmentation import SegmentationOptions, cut_at_values
from service.engine.text.stand_in_step import TermReading
from service.engine.text.tokenizer import Tokenizers
from service.engine.thread_pools import if_many, map_if_many
from service.engine.translation.translated import Translated
from service.engine.types import TranslationOptions

# Nats a token. Around a stand-in the grammar suffers, so the translation with stand-ins has to be clearly likelier than
# one with a term behind its end. Of 109 such sentences 46 are (docs/adr/0026-glossaries.md).
LIKELIER = 0.3

Translate = Callable[[Sequence[Reading], TranslationOptions], Awaitable[list[Translated]]]


@dataclass(frozen=True, slots=True)
class ValueKeeper:
    """Keeps the values of translated sentences."""

    tokenizers: Tokenizers
    segmentation: SegmentationOptions
    translate: Translate

    async def keep(self, results: Sequence[Translated], options: TranslationOptions) -> list[list[Translated]]:
        """Return for each result one in which every value has its place; several if the sentence was cut for that."""
        kept = [replace(result, values="search") if result.sentence.values else result for result in results]
        wrong = await self._those(kept, range(len(kept)), lambda result: not self._is_well_placed(result), options)
        if not wrong:
            return [[result] for result in kept]
        terms = [number for number in wrong if kept[number].sentence.has_terms]
        await self._search_again(kept, terms, options)
        # Words that the model does not know, in any form, end up behind the sentence or derail it.
        misplaced = await self._those(kept, terms, lambda result: not self._is_well_placed(result), options)
        await self._search_again(kept, misplaced, options, "stand-in")
        lost = await self._those(kept, wrong, self._is_lost, options)
        await self._search_again(kept, lost, options, "codes")
        lost = await self._those(kept, lost, self._is_lost, options)
        return await self._copy(kept, lost, options)

    async def _those(
        self,
        results: Sequence[Translated],
        numbers: Sequence[int],
        test: Callable[[Translated], bool],
        options: TranslationOptions,
    ) -> list[int]:
        """Return the numbers of the results that fulfil a condition."""
        work = _work([results[number].sentence for number in numbers], options)
        return await if_many(work, lambda: [number for number in while_wanted(numbers) if test(results[number])])

    async def _search_again(
        self,
        kept: list[Translated],
        wrong: Sequence[int],
        options: TranslationOptions,
        terms: TermReading = "target",
    ) -> None:
        """Replace wrong results by better ones of another search, in which the model reads something else for terms."""
        if not wrong:
            return
        sentences = [kept[number].sentence for number in wrong]
        work = _work(sentences, options)
        others = await map_if_many(work, lambda each: each.reading_terms(self.tokenizers, terms), sentences)
        found = await self.translate(others, options)

        def put_better() -> None:
            for number, new in zip(while_wanted(wrong), found, strict=True):
                old = kept[number]
                better = self._is_well_placed(new) and (
                    terms != "stand-in" or new.hypotheses[0].score - old.hypotheses[0].score >= LIKELIER
                )
                if better or (not self._holds_all(old) and self._holds_all(new)):
                    kept[number] = replace(new, values="retry")

        await if_many(work, put_better)

    async def _copy(
        self, kept: Sequence[Translated], lost: Sequence[int], options: TranslationOptions
    ) -> list[list[Translated]]:
        """Cut the sentences that still lack values or hold remains, and translate the parts between the values."""
        sentences = [kept[number].sentence for number in lost]
        cut_one = partial(cut_at_values, tokenizers=self.tokenizers, segmentation=self.segmentation)
        parts = await map_if_many(_work(sentences, options), cut_one, sentences)
        cut = dict(zip(lost, parts, strict=True))
        unwritten = [part for own in parts for part, written in own if written is None]
        found = iter(await self.translate(unwritten, options) if unwritten else [])
        return [
            [
                replace(next(found), values="copied") if written is None else self._given(part, written)
                for part, written in cut[number]
            ]
            if number in cut
            else [result]
            for number, result in enumerate(kept)
        ]

    def _given(self, sentence: Reading, term: str) -> Translated:
        """Return a target term as the translation of its own sentence."""
        ids = self.tokenizers.target.word(term)
        zeros = (0.0,) * len(ids)
        return Translated(sentence, (Hypothesis(ids, zeros, 0.0, "length"),), (), values="copied")

    def _is_well_placed(self, result: Translated) -> bool:
        return result.sentence.is_well_placed(result.ids, self.tokenizers.target)

    def _is_lost(self, result: Translated) -> bool:
        """Return whether no search has kept the values of a sentence; a term behind its end is kept."""
        sentence = result.sentence
        if not sentence.values or self._is_well_placed(result):
            return False
        is_soft = any(value.is_soft for value in sentence.values)
        return not (is_soft and self._holds_all(result)) or sentence.is_garbled(result.ids, self.tokenizers.target)

    def _holds_all(self, result: Translated) -> bool:
        return result.sentence.holds_all(result.ids, self.tokenizers.target)


def _work(sentences: Sequence[Reading], options: TranslationOptions) -> int:
    """Return how much work the values of sentences are, in that of hypotheses without values."""
    return options.weight * sum(1 + len(sentence.values) for sentence in sentences)
