"""The one road from texts to translations through a model: sentences, hypotheses, values, joined texts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat

from service.bundle.alignment import alignment_weights
from service.engine.attention.quality_signals import coverage
from service.engine.errors import InputTooLong, InvalidOption
from service.engine.events import CoverageMeasured, QualityMeasured
from service.engine.jobs import MAX_BEAM_SIZE, Hypothesis, ScoringRequest, SentenceJob, SentenceResult, WeightSelection
from service.engine.scheduling.interface import run_scoring, run_sentences, sentence_stages, within
from service.engine.search.options import normalised_score, over_vocabulary, penalty_of, search_options
from service.engine.text.end_marks import MARKS, with_end_mark
from service.engine.text.registers import (
    LANGUAGES,
    Register,
    Shown,
    is_other,
    polite_forms,
    registers_of,
    wanted_register,
)
from service.engine.text.segmentation import segment_text
from service.engine.text.sentence import QualityOptions, Sentence, Translated, assemble
from service.engine.text.value_keeper import ValueKeeper
from service.engine.thread_pools import if_many
from service.engine.translation.loaded_pair import LoadedPair
from service.engine.types import Search, Translation, TranslationOptions
from service.engine.values.locales import language_of

MOST_SENTENCES = 8192  # of one request: as many as may wait
Chosen = tuple[Translated, Hypothesis, Sequence[Hypothesis]]  # a translation, the hypothesis instead, and the others
NEARLY = 0.6  # nats a token: what the other register of a sentence may cost
SAME_VERB = 0.8  # the same, if only the form of its verb is another: "Nourrissez" for "Nourris"
LONGEST_TOKEN = 32  # characters; with more than so many a token, a given beginning is not even read


@dataclass(frozen=True, slots=True)
class SentenceRuns:
    """Translates the sentences of one call with one model; `deadline` is a time of time.monotonic."""

    pair: LoadedPair
    options: TranslationOptions  # complete
    deadline: float | None
    wanted: WeightSelection | None = None  # the weights that are returned of every translation; None: it is not scored
    trace: bool = False  # whether the searches are recorded
    split: bool = True  # whether texts are cut into sentences

    async def segment(self, texts: Sequence[str]) -> list[list[Sentence]]:
        """Return the sentences of texts; raise InputTooLong if they are too many for one request."""
        tokenizers, segmentation = self.pair.tokenizers, self.pair.segmentation_for(self.options, self.split)

        def cut() -> list[list[Sentence]]:
            found: list[list[Sentence]] = []
            count = 0
            for text in texts:
                found.append(segment_text(text, tokenizers.source, segmentation, tokenizers.target))
                count += len(found[-1])
                if count > MOST_SENTENCES:
                    raise InputTooLong(
                        f"The request has more than {MOST_SENTENCES} sentences; send several requests, or a document."
                    )
            return found

        return await self.pair.timed("tokenize", sum(map(len, texts)), cut)

    async def translate(self, sentences: Sequence[Sequence[Sentence]]) -> list[list[Translated]]:
        """Return the translations of the sentences of each text, in which every value has its place."""
        flat = [sentence for own in sentences for sentence in own]
        prefix, most = self.options.target_prefix, LONGEST_TOKEN * self.pair.manifest.limits.target_tokens
        if prefix and len(flat) != 1:
            raise InvalidOption(
                f"target_prefix is the beginning of one sentence, and this request has {len(flat)}: send one sentence."
            )
        if len(prefix) > most:
            raise InvalidOption(f"target_prefix has {len(prefix)} characters; this model takes at most {most}.")
        kept = iter(await within(self.deadline, self._kept(flat)))
        texts = [[result for results in islice(kept, len(own)) for result in results] for own in sentences]
        is_greedy = self.options.beam_size == 1 and self.options.formality == "default"
        if prefix or self.trace or is_greedy:  # what the search finds; a stream ends as greedy search does
            return texts
        if language_of(self.pair.info.target_language) in LANGUAGES:
            texts = await within(self.deadline, self._in_one_register(texts))
        return await within(self.deadline, self._with_end_marks(texts))

    async def _with_end_marks(self, texts: list[list[Translated]]) -> list[list[Translated]]:
        """Return translations that end with the marks of their sentences."""
        every = [(own, at) for own in texts for at in range(len(own))]
        ended = [(own, at, ids) for own, at in every if (ids := self._with_end_mark(own[at]))]
        chosen = [(own[at], replace(own[at].hypotheses[0], ids=ids), own[at].hypotheses[1:]) for own, at, ids in ended]
        for (own, at, _), new in zip(ended, await self._scored(chosen), strict=True):
            own[at] = new
        return texts

    def _with_end_mark(self, found: Translated) -> tuple[int, ...]:
        """Return the tokens of a translation with the end mark of its sentence; none if it stays as it is."""
        sentence, tokenizer = found.sentence, self.pair.tokenizers.target
        if found.ids[-1:] != (tokenizer.eos,) or len(found.ids) < 2 or not found.logprobs:
            return ()
        mark = tokenizer.piece(found.ids[-2])[-1:]
        if mark not in MARKS or sentence.text.endswith(mark):  # nearly always, and quickly
            return ()
        text = sentence.translated(found.ids, tokenizer)
        wanted = with_end_mark(text, sentence.text, self.pair.info.target_language)
        return () if wanted == text else self._tokens_of(sentence, wanted)

    def _tokens_of(self, sentence: Sentence, translation: str) -> tuple[int, ...]:
        """Return the tokens of another translation; none if the model could not write it exactly so."""
        info, tokenizer = self.pair.info, self.pair.tokenizers.target
        read = sentence.read_target(translation, tokenizer, (info.source_language, info.target_language))
        ids = (*(token.id for token in read.tokens if token.special is None), tokenizer.eos)
        limit = search_options(self.options, len(sentence.ids), self.pair.manifest.limits.target_tokens).max_length
        alike = len(ids) <= limit and sentence.translated(ids, tokenizer) == translation
        return ids if alike and sentence.is_well_placed(ids, tokenizer) else ()

    async def _in_one_register(self, texts: list[list[Translated]]) -> list[list[Translated]]:
        """Return translations in the wanted register, or that of most sentences of each text, where the beam has it."""
        asked = self.options.formality != "default"
        wrong: list[tuple[list[Translated], int, Register]] = []
        for own in texts:
            if len(own) > 1 or asked:
                shown = [self._shown(result, result.ids) for result in own]
                wanted = wanted_register(self.options.formality, shown)
                if wanted is not None:
                    # A target term that was put in has no log-probabilities, and no other form.
                    wrong += [
                        (own, at, wanted)
                        for at, each in enumerate(shown)
                        if own[at].logprobs and is_other(each, wanted)
                    ]
        wide = replace(self.options, alternatives=MAX_BEAM_SIZE - 1)
        found = await replace(self, wanted=None)._search([own[at].sentence for own, at, _ in wrong], wide)
        forms = await self._polite([(own[at], wanted) for own, at, wanted in wrong])
        chosen = [
            (own, at, choice)
            for (own, at, wanted), each, more in zip(wrong, found, forms, strict=True)
            if (choice := self._in_register(own[at], each, more, wanted)) is not None
        ]
        for (own, at, _), new in zip(chosen, await self._scored([choice for *_, choice in chosen]), strict=True):
            own[at] = new
        return texts

    async def _polite(self, wrong: Sequence[tuple[Translated, Register]]) -> list[list[Hypothesis]]:
        """Return commands with their verbs in what may be the polite form, which the search may not have tried."""
        tokenizer, language = self.pair.tokenizers.target, self.pair.info.target_language
        forms = [
            polite_forms(each.sentence.translated(each.ids, tokenizer), language) if wanted == "polite" else []
            for each, wanted in wrong
        ]
        read = [
            [Hypothesis(ids, (), 0.0, "eos") for form in own if (ids := self._tokens_of(each.sentence, form))]
            for (each, _), own in zip(wrong, forms, strict=True)
        ]
        scored = iter(
            await self._scored([(each, form, ()) for (each, _), own in zip(wrong, read, strict=True) for form in own])
        )
        return [[next(scored).hypotheses[0] for _ in own] for own in read]

    def _in_register(
        self, old: Translated, found: Translated, forms: Sequence[Hypothesis], wanted: Register
    ) -> Chosen | None:
        """Return the likeliest hypothesis of a sentence in a register, if it is nearly as likely as the old one."""
        score, tokenizer = normalised_score(old.logprobs, penalty_of(self.options)), self.pair.tokenizers.target
        fitting = [each for each in found.hypotheses if each.score >= score - NEARLY]
        fitting += [each for each in forms if each.score >= score - SAME_VERB]
        for best in sorted(fitting, key=lambda each: -each.score):
            if self._shown(found, best.ids) == {wanted} and found.sentence.is_well_placed(best.ids, tokenizer):
                return old, best, [each for each in found.hypotheses if each.ids != best.ids]
        return None

    async def _scored(self, chosen: Sequence[Chosen]) -> list[Translated]:
        """Return translations by other hypotheses, with the scores that the model gives to their tokens."""
        wanted, eos = self.wanted or self.pair.wanted, self.pair.tokenizers.target.eos
        requests = [
            ScoringRequest(
                old.sentence.ids, (*best.ids, *(() if best.ids[-1] == eos else (eos,))), self.deadline, wanted
            )
            for old, best, _ in chosen
        ]
        translated = []
        for (old, best, others), scores in zip(chosen, await run_scoring(self.pair.worker, requests), strict=True):
            best = over_vocabulary(best, scores, penalty_of(self.options))
            hypotheses = (best, *others[: self.options.alternatives])
            result = SentenceResult(hypotheses, 0.0, 0.0, scores=scores if self.wanted else None)
            translated.append(replace(self._translated(old.sentence, result, self.options), values=old.values))
        return translated

    def _shown(self, result: Translated, ids: Sequence[int]) -> Shown:
        sentence, info = result.sentence, self.pair.info
        text = sentence.translated(ids, self.pair.tokenizers.target)
        return registers_of(text, info.target_language, sentence.text, info.source_language)

    async def _kept(self, sentences: Sequence[Sentence]) -> list[list[Translated]]:
        results = await self._search(sentences, self.options)
        if self.options.target_prefix:
            self._check_prefix(results[0])
            return [results]
        if all(sentence.valued is None for sentence in sentences):
            return [[result] for result in results]
        keeper = ValueKeeper(self.pair.tokenizers, self.pair.segmentation_for(self.options), self._search)
        return await keeper.keep(results, self.options)

    def _prefix(self, sentence: Sentence) -> tuple[int, ...]:
        """Return the tokens with which the translation of a sentence has to begin."""
        info, prefix = self.pair.info, self.options.target_prefix.rstrip()
        if not prefix:
            return ()
        read = sentence.read_target(prefix, self.pair.tokenizers.target, (info.source_language, info.target_language))
        return tuple(token.id for token in read.tokens if token.special is None)

    def _check_prefix(self, found: Translated) -> None:
        """Raise InvalidOption for a translation that the prefix has kept from holding the values of its sentence."""
        prefix = self._prefix(found.sentence)
        if found.ids[: len(prefix)] != prefix or not found.sentence.holds_all(found.ids, self.pair.tokenizers.target):
            raise InvalidOption(
                "No translation with this target_prefix holds the numbers, addresses or terms of the text once each: "
                "send a prefix that writes them as the translation does, or values=off."
            )

    def jobs(self, sentences: Sequence[Sentence], options: TranslationOptions) -> list[SentenceJob]:
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

    async def _search(self, sentences: Sequence[Sentence], options: TranslationOptions) -> list[Translated]:
        """Return what the search finds for sentences, scored if weights are wanted."""
        if not sentences:
            return []
        pair, began = self.pair, time.monotonic()
        results = await run_sentences(pair.worker, len(sentences), lambda: self.jobs(sentences, options))
        if pair.traced:
            for stage in sentence_stages(began, [sentence.ids for sentence in sentences], results, pair.name):
                pair.on_event(stage)
        return await if_many(len(results), lambda: [*map(self._translated, sentences, results, repeat(options))])

    def _translated(self, sentence: Sentence, result: SentenceResult, options: TranslationOptions) -> Translated:
        pair, (best, *others) = self.pair, result.hypotheses
        weights, logprobs = None, best.logprobs
        if result.scores is not None:
            best = over_vocabulary(best, result.scores, penalty_of(options))
            weights = alignment_weights(result.scores.cross_attention, pair.align)
            pair.report(CoverageMeasured(pair.name, coverage(weights)))
        return Translated(sentence, (best, *others), logprobs, weights, result.scores, result.trace)

    def search_of(self, results: Sequence[Translated]) -> Search:
        """Return the search that found the translation of a text; raise InvalidOption if no single one did."""
        if len(results) != 1 or results[0].values in ("retry", "copied"):
            raise InvalidOption(
                "No single search found this translation: the text has several sentences or none, or one search did "
                "not keep all of its values (numbers, addresses, terms). Send one sentence, or values=off to see the "
                "search without values."
            )
        [found] = results
        trace, tokenizer = found.trace, self.pair.tokenizers.target
        assert trace is not None, "a worker records what is asked for"
        tokens = {token for each in trace.hypotheses for token in (each.token, *(id_ for id_, _ in each.following))}
        limit = self.pair.manifest.limits.target_tokens
        return Search(
            trace=trace,
            pieces={token: tokenizer.piece(token) for token in tokens},
            beam_size=search_options(self.options, len(found.sentence.ids), limit).beam_size,
            length_penalty=penalty_of(self.options),
            shortlist=self.pair.manifest.graphs[self.pair.info.precision].shortlist is not None,
        )

    def assemble(self, texts: Sequence[str], results: Sequence[Sequence[Translated]]) -> list[Translation]:
        """Return the translations of texts from those of their sentences, with the quality of each sentence."""
        pair, options = self.pair, self.options
        confidence = None if options.target_prefix else pair.manifest.confidence  # fitted on the model's own words
        quality = QualityOptions(confidence, options.min_quality, options.keep_source)
        translations = [
            assemble(text, own, pair.tokenizers, pair.align.threshold, options.alternatives, quality)
            for text, own in zip(texts, results, strict=True)
        ]
        for each in (each for translation in translations for each in translation.qualities):
            if each.quality is not None:
                pair.report(QualityMeasured(pair.name, each.quality))
        return translations
