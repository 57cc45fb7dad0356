"""The one road from texts to translations through a model: sentences, hypotheses, values, joined texts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, repeat

from service.bundle.alignment import alignment_weights
from service.engine.attention.quality_signals import coverage
from service.engine.cancellation import while_wanted
from service.engine.errors import InputTooLong, InvalidOption
from service.engine.events import Measured
from service.engine.jobs import SentenceJob, SentenceResult, WeightSelection
from service.engine.scheduling.interface import run_sentences, sentence_stages
from service.engine.search.options import over_vocabulary, penalty_of, search_options
from service.engine.text.reading import Reading
from service.engine.text.segmentation import segment_text
from service.engine.thread_pools import if_many
from service.engine.translation.other_words import with_other_words
from service.engine.translation.pair_model import PairModel
from service.engine.translation.register_and_end_marks import RegisterAndEndMarks
from service.engine.translation.translated import TranslatedSentence, assemble, likeliest
from service.engine.translation.value_keeper import ValueKeeper
from service.engine.translation.way_back import WayBack, widened
from service.engine.types import RecordedSearch, Translation, TranslationOptions

MOST_SENTENCES = 8192  # of one request: as many as may wait
LONGEST_TOKEN = 32  # characters; with more than so many a token, a given beginning is not even read


@dataclass(frozen=True, slots=True)
class SentenceRuns:
    """Translates the sentences of one call with one model; `deadline` is a time of time.monotonic."""

    pair: PairModel
    options: TranslationOptions  # complete
    deadline: float | None
    wanted: WeightSelection | None = None  # the weights that are returned of every translation; None: it is not scored
    trace: bool = False  # whether the searches are recorded
    split: bool = True  # whether texts are cut into sentences

    async def segment(self, texts: Sequence[str]) -> list[list[Reading]]:
        """Return the sentences of texts; raise InputTooLong if they are too many for one request."""
        reader = self.pair.reader_for(self.options, self.split)

        def cut() -> list[list[Reading]]:
            readings: list[list[Reading]] = []
            count = 0
            for text in texts:
                readings.append(segment_text(text, reader))
                count += len(readings[-1])
                if count > MOST_SENTENCES:
                    raise InputTooLong(
                        f"The request has more than {MOST_SENTENCES} sentences; send several requests, or a document."
                    )
            return readings

        size = sum(map(len, texts)) * self.options.weight
        return await self.pair.timed("tokenize", size, cut)

    async def translate(self, sentences: Sequence[Sequence[Reading]]) -> list[list[TranslatedSentence]]:
        """Return the translations of the sentences of each text, in which every value has its place.

        A sentence whose translation is empty is left out, so that it is copied.
        """
        flat = [sentence for group in sentences for sentence in group]
        prefix, most = self.options.target_prefix, LONGEST_TOKEN * self.pair.manifest.limits.target_tokens
        if prefix is not None and len(flat) != 1:
            raise InvalidOption(
                f"target_prefix is the beginning of one sentence, and this request has {len(flat)}: send one sentence."
            )
        if prefix is not None and len(prefix) > most:
            raise InvalidOption(f"target_prefix has {len(prefix)} characters; this model takes at most {most}.")
        kept = iter(await self._kept(flat))
        texts = [[result for results in islice(kept, len(group)) for result in results] for group in sentences]
        is_greedy = self.options.beam_size == 1 and self.options.formality == "default"
        if prefix is not None or self.trace or is_greedy:  # what the search finds; a stream ends as greedy search does
            return texts
        search = replace(self, wanted=None)._search
        rewording = RegisterAndEndMarks(self.pair, self.options, self.deadline, self.wanted, search, self._translated)
        return await rewording.reword(texts)

    async def _kept(self, sentences: Sequence[Reading]) -> list[list[TranslatedSentence]]:
        results = await self._search(sentences, self.options)
        if self.options.target_prefix is not None:
            results, wrong = await self._keeper().search(results, self.options)
            self._check_prefix(results[0], holds_values=not wrong)
            return [results]
        kept = [[result] for result in results]
        if any(sentence.values for sentence in sentences):
            kept = await self._keeper().keep(results, self.options)
        writes = self.pair.tokenizers.target.writes_something
        work = len(kept) * self.options.weight
        return await if_many(
            work, lambda: [[candidate for candidate in group if writes(candidate.ids)] for group in while_wanted(kept)]
        )

    def _keeper(self) -> ValueKeeper:
        return ValueKeeper(self.pair.reader_for(self.options), self._search)

    def _prefix(self, sentence: Reading) -> tuple[int, ...]:
        """Return the tokens with which the translation of a sentence has to begin."""
        info, target, prefix = self.pair.info, self.pair.tokenizers.target, (self.options.target_prefix or "").rstrip()
        if not prefix:
            return target.prefix
        read = sentence.read_target(prefix, target, (info.source_language, info.target_language))
        return tuple(token.id for token in read.tokens)[:-1]  # without </s>

    def _check_prefix(self, result: TranslatedSentence, *, holds_values: bool) -> None:
        """Raise InvalidOption for a translation that the prefix has kept from holding the values of its sentence."""
        prefix = self._prefix(result.sentence)
        if result.ids[: len(prefix)] != prefix or not holds_values:
            raise InvalidOption(
                "No translation with this target_prefix holds the numbers, addresses or terms of the text once each: "
                "send a prefix that writes them as the translation does, or values=off."
            )

    def jobs(self, sentences: Sequence[Reading], options: TranslationOptions) -> list[SentenceJob]:
        """Return sentences as the worker takes them; a recorded search is never answered from the cache."""
        limit = self.pair.manifest.limits.target_tokens
        fresh = self.trace or not self.pair.warm.is_set()  # a warm-up that the cache answers would show nothing
        return [
            SentenceJob(
                source_ids=sentence.ids,
                search=search_options(options, len(sentence.ids), limit, self._prefix(sentence)),
                deadline=self.deadline,
                score=self.wanted,
                values=sentence.constraints,
                fresh=fresh,
                trace=self.trace,
            )
            for sentence in sentences
        ]

    async def _search(self, sentences: Sequence[Reading], options: TranslationOptions) -> list[TranslatedSentence]:
        """Return what the search finds for sentences, scored if weights are wanted."""
        if not sentences:
            return []
        pair, began = self.pair, time.monotonic()
        readings = [reading for sentence in sentences for reading in sentence.readings]
        work = len(readings) * options.weight
        back = options.back
        search = replace(self, wanted=None) if back else self
        wide = widened(options) if back else options
        if options.target_prefix is not None and options.alternatives:
            plain_jobs = search.jobs(readings, replace(wide, alternatives=0))
            results = await with_other_words(
                plain_jobs, options.alternatives, partial(run_sentences, pair.worker, work)
            )
        else:
            results = await run_sentences(pair.worker, work, lambda: search.jobs(readings, wide))
        if back is not None:
            results = await WayBack(pair, back, self.deadline, self.wanted).choose(readings, results)
        for stage in sentence_stages(began, [reading.ids for reading in readings], results, pair.name):
            pair.on_event(stage)

        def likeliest_of_each() -> list[TranslatedSentence]:
            translated = map(self._translated, readings, results, repeat(options))
            every = while_wanted(sentences)
            return [self._likeliest([*islice(translated, len(sentence.readings))]) for sentence in every]

        return await if_many(work, likeliest_of_each)

    def _likeliest(self, found: Sequence[TranslatedSentence]) -> TranslatedSentence:
        """Return the translation of a sentence that was read in one or several ways."""
        if len(found) == 1:
            return found[0]
        target = self.pair.tokenizers.target
        placed = [candidate for candidate in found if candidate.sentence.keeps_values(candidate.ids, target)] or found
        if len(placed) == 1:
            return placed[0]
        first = placed[0].sentence
        repeated = first.translated(placed[0].ids, target).casefold() == first.text.casefold()
        return placed[likeliest([sum(candidate.logprobs) for candidate in placed], repeated=repeated)]

    def _translated(self, sentence: Reading, result: SentenceResult, options: TranslationOptions) -> TranslatedSentence:
        pair, (best, *others) = self.pair, result.hypotheses
        weights, logprobs = None, best.logprobs
        if result.scores is not None:
            certain = len(pair.tokenizers.target.prefix)
            best = over_vocabulary(best, result.scores, penalty_of(options), certain)
            weights = alignment_weights(result.scores.cross_attention, pair.align)
            pair.report(Measured(pair.name, "source_coverage", coverage(weights)))
        return TranslatedSentence(sentence, (best, *others), logprobs, weights, result.scores, result.trace)

    def search_of(self, results: Sequence[TranslatedSentence]) -> RecordedSearch:
        """Return the search that found the translation of a text; raise InvalidOption if no single one did."""
        if len(results) != 1 or results[0].values in ("retry", "copied"):
            raise InvalidOption(
                "No single search found this translation: the text has several sentences or none, or one search wrote "
                "nothing or did not keep all of its values (numbers, addresses, terms). Send one sentence, or "
                "values=off to see the search without values."
            )
        [result] = results
        trace, tokenizer = result.trace, self.pair.tokenizers.target
        assert trace is not None, "a worker records what is asked for"
        tokens = {
            token
            for hypothesis in trace.hypotheses
            for token in (hypothesis.token, *(id_ for id_, _ in hypothesis.following))
        }
        limit = self.pair.manifest.limits.target_tokens
        return RecordedSearch(
            trace=trace,
            pieces={token: tokenizer.piece(token) for token in tokens},
            beam_size=search_options(self.options, len(result.sentence.ids), limit).beam_size,
            length_penalty=penalty_of(self.options),
            shortlist=self.pair.manifest.graphs[self.pair.info.precision].shortlist is not None,
        )

    def assemble(self, texts: Sequence[str], results: Sequence[Sequence[TranslatedSentence]]) -> list[Translation]:
        """Return the translations of texts from those of their sentences, with the quality of each sentence."""
        pair = self.pair
        translations = [assemble(text, group, pair, self.options) for text, group in zip(texts, results, strict=True)]
        for quality in (quality for translation in translations for quality in translation.qualities):
            if quality.quality is not None:
                pair.report(Measured(pair.name, "sentence_quality", quality.quality))
        return translations
