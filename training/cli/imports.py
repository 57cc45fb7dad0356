"""The command that makes bundles of pretrained models."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from service.bundle.manifest import named
from training.data.reading import read_pairs
from training.export.card import check_table
from training.export.manifest import next_version
from training.imports.add import READERS, read_model
from training.imports.argos import installed_packages
from training.imports.bundle import ImportOptions
from training.imports.check import STATED, TestText, check
from training.imports.files import ImportRefused, non_commercial
from training.imports.hub import fetch_model
from training.imports.m2m import read_m2m
from training.imports.marian import read_marian
from training.imports.network import import_bundle
from training.imports.originals import engine_of
from training.imports.source import ImportedModel, Positions, ReadOptions


def import_models(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A folder or package as it was downloaded, or a name on the hub: Helsinki-NLP/opus-mt-en-fr."
        ),
    ] = None,
    *,
    output: Annotated[
        Path, typer.Option(help="The bundle's folder, e.g. models/opus-mt-en-fr; replaced. With --installed, of all.")
    ],
    installed: Annotated[
        bool, typer.Option("--installed", help="All packages of Argos that are installed here.")
    ] = False,
    text: Annotated[
        Path | None,
        typer.Option(help="Sentences of the source language, one a line: they make int8 faster.", exists=True),
    ] = None,
    shortlist_text: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--shortlist-text",
            help="A parallel text (source, target): steps then score only the tokens that a sentence may need.",
            metavar="SOURCE TARGET",
        ),
    ] = None,
    with_fp32: Annotated[
        bool, typer.Option("--fp32", help="Also write float graphs (four times the size): exact scores and attention.")
    ] = False,
    faithful: Annotated[
        bool,
        typer.Option(
            "--faithful",
            help="Float graphs alone: translations, scores and attention of the original; slower and larger than int8.",
        ),
    ] = False,
    source_languages: Annotated[
        str | None, typer.Option("--from", help="Source languages, e.g. en or fr,es. [default: as its files say]")
    ] = None,
    target_languages: Annotated[
        str | None, typer.Option("--to", help="Target languages, e.g. fr. [default: all that it has]")
    ] = None,
    spm: Annotated[
        Path | None, typer.Option(help="CTranslate2: the SentencePiece model of the source. [default: beside it]")
    ] = None,
    target_spm: Annotated[Path | None, typer.Option(help="That of the target, where it has its own.")] = None,
    licence: Annotated[
        str | None, typer.Option(help="The model's licence, where its files do not say it for certain.")
    ] = None,
    credit: Annotated[str | None, typer.Option(help="CTranslate2: whom to credit.")] = None,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit on the hub.")] = None,
    positions: Annotated[
        Positions,
        typer.Option(help="OPUS-MT. marian: the positions that it was trained with; transformers: those of the hub."),
    ] = "transformers",
    plain_text: Annotated[
        bool,
        typer.Option("--plain-text", help="OPUS-MT: do not write typographic marks as its own preprocessing does."),
    ] = False,
    seven_bits: Annotated[
        bool, typer.Option("--seven-bits", help="Firefox: for a server with an x86 processor without VNNI.")
    ] = False,
    check_text: Annotated[
        Path | None,
        typer.Option(
            "--check",
            help="Compare it with the original in transformers or CTranslate2 over these sentences, one a line.",
            exists=True,
        ),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(help="Their translations, one a line: adds BLEU of both.", exists=True)
    ] = None,
) -> None:
    """Make a bundle of a pretrained model: OPUS-MT, CTranslate2, Argos or Firefox, recognised by its files.

    With --check, the comparison is written into the bundle's card, for the first target language. A model of Firefox is
    compared with the BLEU that its metadata.json states: give that test set.
    """
    if installed == (source is not None):
        raise ImportRefused("give one model, or --installed for all packages of Argos")
    if shortlist_text is not None and (installed or faithful):
        raise ImportRefused("--shortlist-text is for one language pair and int8: leave out --installed and --faithful")
    tests = None if check_text is None else TestText(_lines(check_text), _lines(references) if references else None)
    known = ReadOptions(
        None if installed else output.name, _codes(source_languages), _codes(target_languages), spm, target_spm,
        licence, credit, positions, not plain_text, seven_bits,
    )  # fmt: skip
    options = ImportOptions(
        _lines(text) if text else (),
        precisions=("fp32",) if faithful else ("int8", "fp16", "fp32") if with_fp32 else ("int8", "fp16"),
        shortlist_text=tuple(read_pairs(*shortlist_text)) if shortlist_text else (),
        say=typer.echo,
    )
    for path in installed_packages() if installed else [fetch_model(str(source), revision)]:
        model = read_model(path, known, READERS | {"opus-mt": read_marian, "m2m-100": read_m2m})
        bundle = output / model.name if installed else output
        import_bundle(model, bundle, replace(options, version=next_version(bundle)))
        _say(model, bundle)
        if tests is not None:
            _check(path, model, known, bundle, tests)


def _codes(codes: str | None) -> tuple[str, ...]:
    return tuple(code.strip() for code in (codes or "").split(",") if code.strip())


def _lines(path: Path) -> tuple[str, ...]:
    lines = tuple(path.read_text(encoding="utf-8").splitlines())
    if not lines:
        raise ImportRefused(f"{path}: it is empty; a sentence a line is needed")
    return lines


def _say(model: ImportedModel, bundle: Path) -> None:
    sides = named(model.source_languages), named([target.language for target in model.targets])
    typer.echo(f"{bundle}: {model.origin.name}, {' → '.join(sides)}, {model.origin.licence}")
    if non_commercial(model.origin.licence):
        typer.echo(f"warning: {model.origin.licence} forbids commercial use", err=True)


def _check(path: Path, model: ImportedModel, options: ReadOptions, bundle: Path, tests: TestText) -> None:
    """Compare a bundle with the original; exit with 1 if it does something else."""
    engine = engine_of(path, model, options)
    if engine is None and tests.references is None:
        raise ImportRefused(f"{path}: Firefox's engine does not run here; give --references for BLEU")
    figures = check(bundle, model, engine, tests)
    typer.echo(check_table([figure.document() for figure in figures]))
    passed = all(figure.passed for figure in figures)
    if engine is None:
        typer.echo(f"{bundle} {'has' if passed else 'does NOT have'} {STATED}")
    else:
        typer.echo(f"{bundle} {'does' if passed else 'does NOT do'} what {engine.name} does with {path}")
    if not passed:
        raise typer.Exit(1)
