"""Opens the models of a call of the command line: one, or two through a pivot language."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from service.cli.find_model import ModelQuery, find_legs
from service.cli.options import Input
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


@dataclass(frozen=True, kw_only=True)
class LineOptions(TextFields):
    """The files of one call, and what is written of each line; an option of the command line each."""

    input: Input = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the translations; - is standard output, the default. Of documents: a file or a folder; by "
            "default NAME.LANGUAGE.EXTENSION beside the document, and NAME.LANGUAGE beside a folder.",
        ),
    ] = None
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Write a line of JSON for each translation: source, text, alternatives, quality. Without it, "
            "alternatives stand in lines below, after a tab.",
        ),
    ] = False
    split_sentences: Annotated[
        bool,
        typer.Option(
            "--split-sentences/--no-split-sentences",
            help="Translate each sentence of a line by itself, or each line as one sentence. Lines of --target-file "
            "are always taken as they are.",
        ),
    ] = True
    glossary: Annotated[
        Path | None,
        typer.Option(
            "--glossary",
            help="File of terms and their translations: TSV or CSV (two columns, or a first row of language tags), or "
            "TBX.",
        ),
    ] = None
    target_file: Annotated[
        Path | None,
        typer.Option(
            help="File of given translations, line by line, which are scored and aligned; nothing is translated."
        ),
    ] = None
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="File for the word alignment: source-target pairs i-j from 0, of the words that --words writes."
        ),
    ] = None
    words: Annotated[
        Path | None,
        typer.Option(
            help="File for the words of each line and of its translation, as fast_align reads them: a b ||| c d."
        ),
    ] = None
    scores: Annotated[Path | None, typer.Option(help="File for the log-probability of each line.")] = None
    quality: Annotated[
        Path | None,
        typer.Option(help="File for the quality of each line: the share of it, 0 to 1, that is expected to be usable."),
    ] = None
    signals: Annotated[
        Path | None, typer.Option(help="File for the signals of the quality, one line of JSON each.")
    ] = None


@dataclass(frozen=True)
class BulkOptions(LineOptions):
    """The input, the model and the outputs of one call."""

    wanted: ModelQuery  # the model
    models_dir: Path
    texts: tuple[str, ...] = ()  # instead of the lines of the input
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
