"""Opens the models of a call of the command line: one, or two through a pivot language."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from service.cli.find_model import ModelQuery, find_legs
from service.engine import (
    Budget,
    EngineSettings,
    Glossary,
    InvalidOption,
    ModelSettings,
    Pair,
    TextFields,
    Translation,
    TranslationOptions,
    Translator,
    WorkerSettings,
    open_translator,
    translate_in_legs,
)
from service.glossaries.checks import InvalidGlossary
from service.glossaries.folder import glossary_in_file

EVERYTHING = 1 << 40  # no limit: only this program fills the queue


@dataclass(frozen=True)
class BulkOptions(TextFields):
    """The input, the model and the outputs of one call."""

    wanted: ModelQuery  # the model
    models_dir: Path
    texts: tuple[str, ...] = ()  # instead of the lines of the input
    input: Path | None = None  # None or -: standard input
    output: Path | None = None  # None or -: standard output
    as_json: bool = False  # a line of JSON for each translation
    glossary: Path | None = None  # a file of terms
    split_sentences: bool = True  # a line may hold several sentences; given translations are never split
    target_file: Path | None = None  # given translations: score and align these instead of translating
    alignments: Path | None = None  # Pharaoh i-j between the words
    words: Path | None = None  # these words, as fast_align reads them
    quality: Path | None = None  # the expected usable share of each line, 0 to 1; empty where nothing is translated
    signals: Path | None = None  # what the quality is computed from, as JSON, for `python -m training confidence`
    scores: Path | None = None  # length-normalised log-probability of each line; 0 where nothing is translated
    device: Literal["cpu", "cuda", "auto"] = "auto"
    precision: Literal["int8", "fp16", "fp32"] | None = None  # None: the fastest that the bundle has for the device
    intra_threads: int = 1  # of ONNX Runtime, inside one run
    max_rows: int = 0  # 0: chosen with the device


@dataclass(frozen=True, slots=True)
class OpenedModels:
    """The translators of a pair, and how they search."""

    legs: Sequence[Translator]  # one, or two through the pivot language
    search: TranslationOptions  # each leg uses its own settings for what is left open
    length_penalty: float  # of the last leg

    async def translate(self, texts: Sequence[str], *, split: bool = True) -> list[Translation]:
        """Translate texts in one or two legs."""

        async def run_leg(leg: Translator, texts: Sequence[str], options: TranslationOptions) -> list[Translation]:
            return await leg.translate(texts, options, split=split)

        return await translate_in_legs(self.legs, texts, self.search, run_leg)

    async def start(self) -> None:
        """Start the workers and warm them up."""
        await asyncio.gather(*(leg.model.start() for leg in self.legs))

    async def stop(self) -> None:
        """Stop the workers."""
        await asyncio.gather(*(leg.model.stop(0.0) for leg in self.legs))


def open_models(options: BulkOptions) -> OpenedModels:
    """Return the wanted model, or those of two legs; raise InvalidInput, BundleError or DeviceUnavailable."""
    model_settings = ModelSettings(options.device, options.precision, options.intra_threads)
    found = find_legs(options.wanted, options.models_dir, model_settings)
    if len(found) > 1:
        _explain_pivot(options, [leg.pair for leg in found], [leg.bundle.manifest.name for leg in found])
    budget = Budget(rows=options.max_rows, queued_sentences=EVERYTHING, queued_tokens=EVERYTHING)
    settings = EngineSettings(model_settings, WorkerSettings(budget))
    glossary = _glossary(options, [leg.pair for leg in found])
    legs = [open_translator(leg.bundle, settings).for_pair(*leg.pair) for leg in found]
    details = bool(options.alignments or options.words or options.scores)
    search = TranslationOptions.of(options, glossary=glossary, details=details)
    return OpenedModels(legs, search, found[-1].bundle.manifest.decoding.length_penalty)


def _glossary(options: BulkOptions, pairs: Sequence[Pair]) -> Glossary | None:
    """Return the glossary of the wanted file; raise InvalidGlossary."""
    if options.glossary is None:
        return None
    if len(pairs) > 1:
        raise InvalidGlossary(
            f"A glossary works in one translation, and this one goes through {pairs[0][1]}. Translate in two calls, "
            "each with its own glossary."
        )
    return glossary_in_file(options.glossary, pairs[0])


def _explain_pivot(options: BulkOptions, pairs: Sequence[Pair], names: Sequence[str]) -> None:
    """Write to standard error that two models translate; raise InvalidOption if one has to."""
    source, pivot, target = pairs[0][0], pairs[0][1], pairs[1][1]
    if options.target_file:
        raise InvalidOption(
            f"--target-file needs a model that translates {source} → {target} itself; there are only models of two "
            f"legs, through {pivot}."
        )
    print(f"translucent: {source} → {pivot} → {target}, by {names[0]} and {names[1]}", file=sys.stderr)  # noqa: T201
