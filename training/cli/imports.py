"""The commands that make bundles of pretrained models, and the one that compares a bundle with its original."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from service.bundle.load import load_bundle
from training.data.reading import read_pairs
from training.export.card import check_table
from training.export.manifest import next_version
from training.imports.argos import installed_packages, read_argos
from training.imports.bundle import ImportOptions
from training.imports.check import compare, write_verdict
from training.imports.ctranslate2 import Ctranslate2Options, read_ctranslate2
from training.imports.files import ImportRefused, non_commercial
from training.imports.firefox import FirefoxOptions, read_firefox
from training.imports.get import indexed_folder
from training.imports.hub import fetch_model
from training.imports.marian import MarianOptions, read_marian
from training.imports.network import import_bundle
from training.imports.originals import OriginalFiles, open_original
from training.imports.source import ImportedModel, Positions
from training.imports.stated import STATED, compare_with_stated

app = typer.Typer(help="Make bundles of pretrained models: OPUS-MT, CTranslate2, Argos, Firefox.", no_args_is_help=True)

Output = Annotated[Path, typer.Option(help="The bundle's folder, e.g. models/opus-mt-en-fr; replaced.")]
Text = Annotated[
    Path | None, typer.Option(help="Sentences of the source language, one a line: they make int8 faster.", exists=True)
]
ShortlistText = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--shortlist-text",
        help="A parallel text (source file, target file): steps then score only the tokens that a sentence may need.",
        metavar="SOURCE TARGET",
    ),
]
Fp32 = Annotated[
    bool, typer.Option("--fp32", help="Also write float graphs (four times the size): exact scores and attention.")
]
Faithful = Annotated[
    bool,
    typer.Option(
        "--faithful",
        help="Float graphs alone: translations, scores and attention of the original; slower and larger than int8.",
    ),
]
Licence = Annotated[str | None, typer.Option(help="The model's licence, where its files do not say it for certain.")]
SourceLanguages = Annotated[str | None, typer.Option("--source", help="Source languages, e.g. en or fr,es.")]
TargetLanguages = Annotated[
    str | None, typer.Option("--target", help="Target languages, e.g. fr. Default: all it has.")
]


@app.command("opus-mt")
def opus_mt(
    source: Annotated[str, typer.Argument(help="A folder, or a name on the hub: Helsinki-NLP/opus-mt-en-fr.")],
    output: Output,
    text: Text = None,
    shortlist_text: ShortlistText = None,
    with_fp32: Fp32 = False,
    faithful: Faithful = False,
    source_languages: SourceLanguages = None,
    target_languages: TargetLanguages = None,
    licence: Licence = None,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit on the hub.")] = None,
    positions: Annotated[
        Positions, typer.Option(help="marian: the positions that it was trained with; transformers: those of the hub.")
    ] = "transformers",
    plain_text: Annotated[
        bool, typer.Option("--plain-text", help="Do not write typographic marks as OPUS-MT's own preprocessing does.")
    ] = False,
) -> None:
    """Import a MarianMT model of the Hugging Face hub."""
    known = MarianOptions(
        output.name, _codes(source_languages), _codes(target_languages), positions, not plain_text, licence
    )
    options = _options(text, shortlist_text, with_fp32, faithful)
    _write(read_marian(fetch_model(source, revision), known), output, options)


@app.command()
def ctranslate2(
    folder: Annotated[Path, typer.Argument(help="A folder that CTranslate2 converted.")],
    output: Output,
    source_languages: Annotated[str, typer.Option("--source", help="Source languages, e.g. en.")],
    target_language: Annotated[str, typer.Option("--target", help="The target language, e.g. fr.")],
    spm: Annotated[Path, typer.Option(help="The SentencePiece model of the source (and of the target).")],
    target_spm: Annotated[Path | None, typer.Option(help="That of the target, where it has its own.")] = None,
    text: Text = None,
    shortlist_text: ShortlistText = None,
    with_fp32: Fp32 = False,
    faithful: Faithful = False,
    licence: Licence = None,
    credit: Annotated[str | None, typer.Option(help="Whom to credit.")] = None,
) -> None:
    """Import a Transformer that CTranslate2 converted."""
    known = Ctranslate2Options(
        output.name, _codes(source_languages), _codes(target_language), spm, target_spm, licence, credit
    )
    options = _options(text, shortlist_text, with_fp32, faithful)
    _write(read_ctranslate2(folder, known), output, options)


@app.command()
def argos(
    package: Annotated[Path | None, typer.Argument(help="An .argosmodel file, or the folder of a package.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="The bundle's folder; with --installed the folder of all.")
    ] = None,
    installed: Annotated[bool, typer.Option("--installed", help="All packages that are installed here.")] = False,
    text: Text = None,
    shortlist_text: ShortlistText = None,
    with_fp32: Fp32 = False,
    faithful: Faithful = False,
    licence: Licence = None,
) -> None:
    """Import packages of Argos Translate: LibreTranslate's own models."""
    if installed == (package is not None) or output is None:
        raise ImportRefused("give one package and --output, or --installed and --output FOLDER for all of them")
    options = _options(text, shortlist_text, with_fp32, faithful)
    if package is not None:
        _write(read_argos(package, output.name, licence), output, options)
        return
    if shortlist_text is not None:
        raise ImportRefused("--shortlist-text is for one language pair: import the packages one by one")
    for each in installed_packages():
        model = read_argos(each, None, licence)
        _write(model, output / model.name, options)


@app.command()
def firefox(
    folder: Annotated[Path, typer.Argument(help="A folder of Firefox Translations: model, vocabulary, shortlist.")],
    output: Output,
    text: Text = None,
    with_fp32: Fp32 = False,
    faithful: Faithful = False,
    source_language: Annotated[str | None, typer.Option("--source", help="Default: as its files say.")] = None,
    target_language: Annotated[str | None, typer.Option("--target", help="Default: as its files say.")] = None,
    licence: Licence = None,
    from_index: Annotated[
        Path | None,
        typer.Option(help="A downloaded list of models, which names the files of the pair.", exists=True),
    ] = None,
    seven_bits: Annotated[
        bool, typer.Option("--seven-bits", help="For a server with an x86 processor without VNNI.")
    ] = False,
) -> None:
    """Import a translation model of Firefox."""
    known = FirefoxOptions(output.name, source_language, target_language, licence, seven_bits)
    options = _options(text, None, with_fp32, faithful)
    if from_index is None:
        _write(read_firefox(folder, known), output, options)
        return
    with indexed_folder(folder, from_index, source_language, target_language) as chosen:
        _write(read_firefox(chosen, known), output, options)


def _codes(codes: str | None) -> tuple[str, ...]:
    return tuple(code.strip() for code in (codes or "").split(",") if code.strip())


def _options(
    text: Path | None, shortlist_text: tuple[Path, Path] | None, with_fp32: bool, faithful: bool
) -> ImportOptions:
    """Return what the options say; raise ImportRefused for those that exclude each other, and for an empty text."""
    if faithful and shortlist_text is not None:
        raise ImportRefused("--faithful writes float graphs, which score every token: leave out --shortlist-text")
    lines = () if text is None else tuple(text.read_text(encoding="utf-8").splitlines())
    if text is not None and not lines:
        raise ImportRefused(f"{text}: it is empty; a sentence of the source language a line is needed")
    return ImportOptions(
        lines,
        precisions=("fp32",) if faithful else ("int8", "fp16", "fp32") if with_fp32 else ("int8", "fp16"),
        shortlist_text=() if shortlist_text is None else tuple(read_pairs(*shortlist_text)),
        say=typer.echo,
    )


def _write(model: ImportedModel, output: Path, options: ImportOptions) -> None:
    import_bundle(model, output, replace(options, version=next_version(output)))
    targets = ", ".join(target.language for target in model.targets)
    typer.echo(
        f"{output}: {model.origin.name}, {', '.join(model.source_languages)} → {targets}, {model.origin.licence}"
    )
    if non_commercial(model.origin.licence):
        typer.echo(f"warning: {model.origin.licence} forbids commercial use", err=True)


@app.command()
def check(
    bundle: Annotated[Path, typer.Argument(help="An imported bundle, e.g. models/opus-mt-en-fr.")],
    source: Annotated[
        str | None,
        typer.Argument(
            help="What it was imported from: the folder, the .argosmodel, or the name on the hub; nothing for Firefox."
        ),
    ] = None,
    *,
    text: Annotated[Path, typer.Option(help="Sentences of the source language, one a line.", exists=True)],
    references: Annotated[
        Path | None, typer.Option(help="Their translations, one a line: adds BLEU of both.", exists=True)
    ] = None,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit on the hub.")] = None,
    spm: Annotated[
        Path | None, typer.Option(help="For a CTranslate2 folder: the SentencePiece model of the source.")
    ] = None,
    target_spm: Annotated[Path | None, typer.Option(help="That of the target, where it has its own.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Target language to compare, if there are several. [default: the first]")
    ] = None,
) -> None:
    """Compare a bundle with the original in transformers or CTranslate2; writes the result into its card.

    A model of Firefox is compared with the BLEU that its metadata.json states: give that test set.

    Every precision of the bundle that runs on a CPU gets a column: int8, and fp32 of an import with --fp32.
    """
    manifest = load_bundle(bundle).manifest
    if "imported" not in manifest.card:
        raise ImportRefused(f"{bundle}: it was not made by `import`, so there is nothing to compare it with")
    texts = text.read_text(encoding="utf-8").splitlines()
    wanted = None if references is None else references.read_text(encoding="utf-8").splitlines()
    if manifest.card["imported"]["format"] == "firefox":
        if wanted is None:
            raise ImportRefused(f"{bundle}: Firefox's engine does not run here; give --references for BLEU and chrF")
        name, figures = STATED, compare_with_stated(bundle, manifest, texts, wanted)
        write_verdict(bundle, name, manifest.targets[0].language, len(texts), figures)
    elif source is None:
        raise ImportRefused(f"{bundle}: name what it was imported from: the folder, the .argosmodel, or the hub's name")
    else:
        files = OriginalFiles(source, revision, spm, target_spm, target)
        with open_original(manifest, files) as (model, original):
            name, figures = original.name, compare(bundle, model, original, texts, wanted)
            write_verdict(bundle, name, model.targets[0].language, len(texts), figures)
    typer.echo(check_table([figure.document() for figure in figures]))
    if "fp32" not in manifest.graphs:
        typer.echo(f"{bundle} has no float graphs: import it with --fp32 or --faithful to compare them, too")
    passed = all(figure.passed for figure in figures)
    if name == STATED:
        typer.echo(f"{bundle} {'has' if passed else 'does NOT have'} {STATED}")
    else:
        typer.echo(f"{bundle} {'does' if passed else 'does NOT do'} what {name} does with {source}")
    if not passed:
        raise typer.Exit(1)
