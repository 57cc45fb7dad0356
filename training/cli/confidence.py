"""The commands ``confidence``, which adds a quality to a bundle, and ``reliability``, which draws how true it is."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from service.bundle.load import load_bundle
from service.bundle.manifest import MANIFEST_NAME
from service.bundle.write import write_manifest
from training.evaluation import confidence as of
from training.evaluation.confidence import draw
from training.evaluation.domains import public_sets

Bundle = Annotated[Path, typer.Argument(help="A bundle's folder, e.g. models/transformer-en-fr.")]


def confidence(
    bundle: Bundle,
    run: Annotated[
        Path | None, typer.Option(help="A run folder with held-out pairs: those of its own run, or of a similar one.")
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            help="More pairs that the model was not trained on: TSV, also .gz. In a folder such as en-fr they serve "
            "both directions; others are of the first source language."
        ),
    ] = None,
    tests: Annotated[
        Path | None, typer.Option(help="Folder with test sets, with the layout of a mirror, to measure the result.")
    ] = None,
    most_pairs: Annotated[int, typer.Option(min=1, help="Most pairs of each --pairs.")] = 500,
    short: Annotated[
        int, typer.Option(min=0, help="Lines of up to three words of our own text, which held-out text lacks.")
    ] = 450,
    most_tests: Annotated[int, typer.Option(min=1, help="Most sentences of each test set.")] = 1000,
) -> None:
    """Train the quality of a bundle's translations, measure it, and write it into the manifest."""
    manifest = load_bundle(bundle).manifest
    if run is None and not pairs:
        raise ValueError("confidence needs held-out pairs: --run, --pairs, or both")
    trained, tested = [], []
    for source in manifest.source_languages:
        target = manifest.target_language
        groups = [of.group(judged) for judged in of.development_of(run, source)] if run is not None else []
        first = source == manifest.source_language
        extra = [loaded for path in pairs or () if (loaded := of.pairs_of(path, source, target, first)) is not None]
        groups += [of.group(loaded, most_pairs) for loaded in extra]
        if not groups:
            continue
        groups += [of.short_lines(source, target, short)] if short else []
        groups.append(of.nonsense(groups))
        measured = (
            [of.group(public_set, most_tests) for public_set in public_sets(tests, source, target)] if tests else []
        )
        typer.echo(
            f"{source}-{target}: {sum(len(judged.sources) for judged in (*groups, *measured))} sentences", err=True
        )
        judged = of.judge(bundle, (source, target), [*groups, *measured])
        trained += judged[: len(groups)]
        tested += judged[len(groups) :]
    document: dict[str, Any] = json.loads((bundle / MANIFEST_NAME).read_text(encoding="utf-8"))
    document["confidence"] = of.section(of.fit(trained), trained, tested)
    write_manifest(bundle, document)
    typer.echo(f"{bundle}: quality from {sum(len(judged.usable) for judged in trained)} translations")
    for row in document["confidence"].get("measured", ()):
        auc = "–" if row["auc"] is None else f"{row['auc']:.3f}"
        typer.echo(
            f"{row['test_set']:28} {row['sentences']:5}  usable {row['usable']:.2f}  AUC {auc}  ECE {row['ece']:.3f}"
        )


def reliability(
    bundles: Annotated[list[Path], typer.Argument(help="Bundles that `confidence` has measured.")],
    output: Annotated[Path, typer.Option(help="The picture, an SVG.")] = Path("reliability.svg"),
) -> None:
    """Draw the share of usable translations by their quality, one line for each bundle."""
    sections = {path.name: load_bundle(path).manifest.raw.get("confidence", {}) for path in bundles}
    missing = [name for name, section in sections.items() if not section.get("reliability")]
    if missing:
        raise ValueError(f"{', '.join(missing)}: not measured; run `confidence` with --tests first")
    draw({name: section["reliability"] for name, section in sections.items()}, output)
    typer.echo(f"wrote {output}", err=True)
