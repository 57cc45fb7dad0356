"""Values after the search: translations without their values are replaced, until all have them.

The search ends a hypothesis only if it holds every value, so this is seldom needed: at the length limit, or where a
value found no place before the end. Then comes another search, in which the model reads the target terms of a glossary,
then one in which it reads and copies stand-ins of the terms, or reads codes themselves. At last the sentence is cut at
its values: the parts between them are translated, and the values are copied. So a stand-in, or a word that the model
made of one, never reaches a reader.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from service.engine.jobs import Hypothesis
from service.engine.text.segmentation import SegmentationOptions, cut_at_values
from service.engine.text.sentence import Sentence, Translated
from service.engine.text.tokenizer import Tokenizers
from service.engine.text.valued_sentence import TermReading
from service.engine.thread_pools import if_many
from service.engine.types import TranslationOptions

# Nats a token. Around a stand-in the grammar suffers, so the translation with stand-ins has to be clearly likelier than
# one with a term behind its end. Of 109 such sentences 46 are (docs/adr/0026-glossaries.md).
LIKELIER = 0.3


Translate = Callable[[Sequence[Sentence], TranslationOptions], Awaitable[list[Translated]]]


@dataclass(frozen=True, slots=True)
class ValueKeeper:
    """Keeps the values of translated sentences."""

    tokenizers: Tokenizers
    segmentation: SegmentationOptions
    translate: Translate

    async def keep(self, results: Sequence[Translated], options: TranslationOptions) -> list[list[Translated]]:
        """Return for each result one in which every value has its place; several if the sentence was cut for that."""
        kept = [replace(result, values="search") if result.sentence.valued else result for result in results]
        wrong = await if_many(
            len(kept), lambda: [number for number, result in enumerate(kept) if not self._is_well_placed(result)]
        )
        if not wrong:
            return [[result] for result in kept]
        terms = [number for number in wrong if (valued := kept[number].sentence.valued) and valued.has_terms]
        await self._search_again(kept, terms, options)
        # Words that the model does not know, in any form, end up behind the sentence or derail it.
        misplaced = [number for number in terms if not self._is_well_placed(kept[number])]
        await self._search_again(kept, misplaced, options, "stand-in")
        lost = [number for number in wrong if self._is_lost(kept[number])]
        await self._search_again(kept, lost, options, "codes")
        return await self._copy(kept, options)

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
        others = [kept[number].sentence.reading_terms(self.tokenizers, terms) for number in wrong]
        for number, found in zip(wrong, await self.translate(others, options), strict=True):
            old = kept[number]
            better = self._is_well_placed(found) and (
                terms != "stand-in" or found.hypotheses[0].score - old.hypotheses[0].score >= LIKELIER
            )
            if better or (not self._holds_all(old) and self._holds_all(found)):
                kept[number] = replace(found, values="retry")

    async def _copy(self, kept: Sequence[Translated], options: TranslationOptions) -> list[list[Translated]]:
        """Cut the sentences that still lack values or hold remains, and translate the parts between the values."""
        cut = {
            number: cut_at_values(result.sentence, self.tokenizers.source, self.segmentation)
            for number, result in enumerate(kept)
            if self._is_lost(result)
        }
        parts = [part for own in cut.values() for part, written in own if written is None]
        found = iter(await self.translate(parts, options) if parts else [])
        return [
            [
                replace(next(found), values="copied") if written is None else self._given(part, written)
                for part, written in cut[number]
            ]
            if number in cut
            else [result]
            for number, result in enumerate(kept)
        ]

    def _given(self, sentence: Sentence, term: str) -> Translated:
        """Return a target term as the translation of its own sentence."""
        ids = self.tokenizers.target.word(term)
        zeros = (0.0,) * len(ids)
        return Translated(sentence, (Hypothesis(ids, zeros, 0.0, "length"),), (), values="copied")

    def _is_well_placed(self, result: Translated) -> bool:
        return result.sentence.is_well_placed(result.ids, self.tokenizers.target)

    def _is_lost(self, result: Translated) -> bool:
        """Return whether no search has kept the values of a sentence; a term behind its end is kept."""
        valued = result.sentence.valued
        if valued is None or self._is_well_placed(result):
            return False
        is_soft = any(value.is_soft for value in valued.values)
        return not (is_soft and self._holds_all(result)) or valued.is_garbled(result.ids, self.tokenizers.target)

    def _holds_all(self, result: Translated) -> bool:
        return result.sentence.holds_all(result.ids, self.tokenizers.target)
