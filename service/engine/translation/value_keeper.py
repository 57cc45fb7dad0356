"""Values after the search: translations without their values are replaced, until all have them.

A search takes the first of its hypotheses that holds every value once. If none does, another search follows, in which
the model reads the target terms of a glossary, then one in which it reads and copies stand-ins of the terms, or reads
codes themselves and stand-ins of numbers. At last the sentence is cut at its values: the parts between them are
translated, and the values are copied. So a stand-in, or a word that the model made of one, never reaches a reader.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from service.engine.cancellation import while_wanted
from service.engine.jobs import Hypothesis
from service.engine.text.reader import Reader
from service.engine.text.reading import Reading
from service.engine.text.segmentation import cut_at_values
from service.engine.text.stand_in_step import LATER_READINGS, TermReading
from service.engine.thread_pools import if_many, map_if_many
from service.engine.translation.translated import TranslatedSentence
from service.engine.types import TranslationOptions

Translate = Callable[[Sequence[Reading], TranslationOptions], Awaitable[list[TranslatedSentence]]]


@dataclass(frozen=True, slots=True)
class ValueKeeper:
    """Keeps the values of translated sentences."""

    reader: Reader
    translate: Translate

    async def keep(
        self, results: Sequence[TranslatedSentence], options: TranslationOptions
    ) -> list[list[TranslatedSentence]]:
        """Return for each result one with every value; several if the sentence was cut for that."""
        kept, wrong = await self.search(results, options)
        return await self._copy(kept, wrong, options) if wrong else [[result] for result in kept]

    async def search(
        self, results: Sequence[TranslatedSentence], options: TranslationOptions
    ) -> tuple[list[TranslatedSentence], list[int]]:
        """Return results, wrong ones replaced by those of later searches, and the numbers of those that stay wrong."""
        kept = [replace(result, values="search") if result.sentence.values else result for result in results]
        wrong = await self._wrong(kept, range(len(kept)), options)
        for terms in LATER_READINGS:
            await self._search_again(kept, wrong, options, terms)
            wrong = await self._wrong(kept, wrong, options)
        return kept, wrong

    async def _wrong(
        self, results: Sequence[TranslatedSentence], numbers: Sequence[int], options: TranslationOptions
    ) -> list[int]:
        """Return the numbers of the results that lack values, or have words that were made of stand-ins."""
        work = _work([results[number].sentence for number in numbers], options)
        return await if_many(
            work, lambda: [number for number in while_wanted(numbers) if self._lacks_values(results[number])]
        )

    async def _search_again(
        self, kept: list[TranslatedSentence], wrong: Sequence[int], options: TranslationOptions, terms: TermReading
    ) -> None:
        """Replace wrong results by those of another search, in which the model reads something else for values."""
        if not wrong:
            return
        sentences = [kept[number].sentence for number in wrong]
        read = partial(Reading.reading_terms, tokenizers=self.reader.tokenizers, terms=terms)
        others = await map_if_many(_work(sentences, options), read, sentences)
        changed = [
            (number, reading)
            for number, sentence, reading in zip(wrong, sentences, others, strict=True)
            if reading.ids != sentence.ids
        ]
        results = await self.translate([reading for _, reading in changed], options) if changed else []

        def put_right_ones() -> None:
            for (number, _), new in zip(while_wanted(changed), results, strict=True):
                if not self._lacks_values(new):
                    kept[number] = replace(new, values="retry")

        await if_many(_work(sentences, options), put_right_ones)

    async def _copy(
        self, kept: Sequence[TranslatedSentence], lost: Sequence[int], options: TranslationOptions
    ) -> list[list[TranslatedSentence]]:
        """Cut the sentences that still lack values or hold remains, and translate the parts between the values."""
        sentences = [kept[number].sentence for number in lost]
        cut_one = partial(cut_at_values, reader=self.reader)
        parts = await map_if_many(_work(sentences, options), cut_one, sentences)
        cut = dict(zip(lost, parts, strict=True))
        unwritten = [part for group in parts for part, written in group if written is None]
        copies = iter(await self.translate(unwritten, options) if unwritten else [])
        return [
            [
                replace(next(copies), values="copied") if written is None else self._given(part, written)
                for part, written in cut[number]
            ]
            if number in cut
            else [result]
            for number, result in enumerate(kept)
        ]

    def _given(self, sentence: Reading, term: str) -> TranslatedSentence:
        """Return a target term as the translation of its own sentence."""
        ids = self.reader.tokenizers.target.word(term)
        zeros = (0.0,) * len(ids)
        return TranslatedSentence(sentence, (Hypothesis(ids, zeros, 0.0, "length"),), (), values="copied")

    def _lacks_values(self, result: TranslatedSentence) -> bool:
        return not result.sentence.keeps_values(result.ids, self.reader.tokenizers.target)


def _work(sentences: Sequence[Reading], options: TranslationOptions) -> int:
    """Return how much work the values of sentences are, in that of hypotheses without values."""
    return options.weight * sum(1 + len(sentence.values) for sentence in sentences)
