"""From texts to translations through the worker of a model: segments, hypotheses, values, joined texts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from service.bundle.alignment import alignment_weights
from service.engine.attention.quality_signals import coverage
from service.engine.events import CoverageMeasured, QualityMeasured, ValuesKept
from service.engine.scheduling.interface import run_sentences, sentence_stages
from service.engine.search.options import over_vocabulary, penalty_of, search_options
from service.engine.text.segmentation import SegmentationOptions, segment_text
from service.engine.text.segmented_text import SegmentedText, SegmentResult, assemble
from service.engine.text.sentence_quality import QualityOptions
from service.engine.text.value_keeper import Source, ValueKeeper
from service.engine.translation.loaded_pair import LoadedPair
from service.engine.types import SentenceJob, SentenceResult, Translation, TranslationOptions, WeightSelection


@dataclass(frozen=True, slots=True)
class SentenceRuns:
    """Translates the sentences of calls with one model; `deadline` is a time of time.monotonic."""

    pair: LoadedPair

    def segment(self, texts: Sequence[str], segmentation: SegmentationOptions) -> list[SegmentedText]:
        """Return texts cut into segments."""
        tokenizers = self.pair.tokenizers
        return [segment_text(text, tokenizers.source, segmentation, tokenizers.target) for text in texts]

    def jobs(
        self,
        sources: Sequence[Source],
        options: TranslationOptions,
        deadline: float | None,
        score: WeightSelection | None = None,
        *,
        trace: bool = False,
    ) -> list[SentenceJob]:
        """Return sentences as the worker takes them; a recorded search is never answered from the cache."""
        limit = self.pair.manifest.limits.target_tokens
        fresh = trace or not self.pair.warm.is_set()  # a warm-up that the cache answers would show nothing
        return [
            SentenceJob(ids, search_options(options, len(ids), limit), deadline, None, score, values, fresh, trace)
            for ids, values in sources
        ]

    async def sentences(
        self,
        sources: Sequence[Source],
        options: TranslationOptions,
        deadline: float | None,
        score: WeightSelection | None,
        *,
        trace: bool = False,
    ) -> list[SentenceResult]:
        """Return the translations of sentences, scored if weights are wanted, with their searches if `trace`."""
        began = time.monotonic()
        results = await run_sentences(self.pair.worker, self.jobs(sources, options, deadline, score, trace=trace))
        if self.pair.traced:
            for stage in sentence_stages(began, [source.ids for source in sources], results, self.pair.name):
                self.pair.on_event(stage)
        for result in results:
            if result.scores is not None:
                weights = alignment_weights(result.scores.cross_attention, self.pair.align)
                self.pair.report(CoverageMeasured(self.pair.name, coverage(weights)))
        return results

    async def outcomes(
        self, sources: Sequence[Source], options: TranslationOptions, deadline: float | None
    ) -> list[SegmentResult]:
        """Return the hypotheses of sentences, with the weights of the aligning head if details are requested."""
        if not sources:
            return []
        results = await self.sentences(sources, options, deadline, self.pair.wanted if options.details else None)
        outcomes: list[SegmentResult] = []
        for result in results:
            best, *others = result.hypotheses
            weights, logprobs = None, best.logprobs
            if result.scores is not None:
                best = over_vocabulary(best, result.scores, penalty_of(options))
                weights = alignment_weights(result.scores.cross_attention, self.pair.align)
            outcomes.append(SegmentResult((best, *others), weights, logprobs=logprobs))
        return outcomes

    async def with_values(
        self,
        segmented_texts: list[SegmentedText],
        outcomes: list[SegmentResult],
        options: TranslationOptions,
        deadline: float | None,
        segmentation: SegmentationOptions,
    ) -> tuple[list[SegmentedText], list[SegmentResult]]:
        """Return texts and outcomes in which every value has its place."""
        keeper = ValueKeeper(self.pair.tokenizers, segmentation, partial(self.outcomes, deadline=deadline))
        texts, results = await keeper.keep(segmented_texts, outcomes, options)
        for path, count in Counter(result.values for result in results).items():
            if path is not None:
                self.pair.on_event(ValuesKept(self.pair.name, path, count))
        return texts, results

    def assemble(
        self, segmented_texts: Sequence[SegmentedText], outcomes: Sequence[SegmentResult], options: TranslationOptions
    ) -> list[Translation]:
        """Return the translations of texts from those of their segments, with the quality of each sentence."""
        pair = self.pair
        translations: list[Translation] = []
        first = 0
        quality = QualityOptions(pair.manifest.confidence, options.min_quality, options.keep_source)
        for segmented in segmented_texts:
            own = outcomes[first : first + len(segmented.segments)]
            first += len(own)
            translation = assemble(segmented, own, pair.tokenizers, pair.align.threshold, options.alternatives, quality)
            translations.append(translation)
        for each in (each for translation in translations for each in translation.qualities):
            if each.quality is not None:
                pair.report(QualityMeasured(pair.name, each.quality))
        return translations
