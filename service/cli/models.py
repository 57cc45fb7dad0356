"""The output of `translucent models`: the bundles of a folder, read and checked but not loaded."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.bundle.load import Bundle, is_bundle, load_bundle
from service.bundle.manifest import named
from service.bundle.repository import no_models
from service.engine import (
    CPU,
    MEBIBYTE,
    BundleError,
    BundleIncompatible,
    ModelSettings,
    expected_bytes,
    place_among,
)


def read_bundles(folder: Path) -> tuple[list[Bundle], list[BundleError]]:
    """Return all bundles of a folder in the order of their names, and the errors of those that cannot be served.

    Raise BundleMissing if there is no folder, or no folder with a manifest in it.
    """
    if not folder.is_dir():
        raise no_models(f"{folder}: there is no such folder of models.")
    bundles: list[Bundle] = []
    refused: list[BundleError] = []
    for path in sorted(path for path in folder.iterdir() if is_bundle(path)):
        try:
            bundles.append(load_bundle(path))
        except BundleError as error:
            refused.append(error)
    if not bundles and not refused:
        raise no_models(f"{folder}: there is no model bundle in it, which is a folder with a manifest.json.")
    return bundles, refused


def as_json(bundles: Sequence[Bundle]) -> str:
    """Return the manifests, each with its folder and its digest, as a JSON list."""
    entries = [{"folder": str(item.folder), "digest": item.digest, **item.manifest.raw} for item in bundles]
    return json.dumps(entries, indent=2, ensure_ascii=False)


def as_table(bundles: Sequence[Bundle]) -> str:
    """Return one line for each bundle, in columns."""
    header = ("name", "version", "pair", "architecture", "precisions", "parameters", "memory", "scores")
    rows = [header, *(_row(bundle) for bundle in bundles)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def as_text(settings: Sequence[tuple[str, str, str, str]], width: int) -> str:
    """Return the settings for a terminal: each variable with its default, its meaning and what it accepts."""
    blocks = []
    for name, default, accepted, meaning in settings:
        about = f"{meaning}. Accepted: {accepted}.".replace("`", "")
        below = textwrap.fill(about, max(40, min(width, 100)), initial_indent="    ", subsequent_indent="    ")
        blocks.append(f"{name}={default.replace('`', '')}\n{below}")
    return "\n".join(blocks)


def _row(bundle: Bundle) -> tuple[str, ...]:
    manifest = bundle.manifest
    parameters = manifest.card.get("parameters")
    return (
        manifest.name,
        manifest.version,
        f"{named(manifest.source_languages)} → {named([target.language for target in manifest.targets])}",
        manifest.architecture,
        ", ".join(manifest.graphs),
        f"{parameters / 1e6:.1f} M" if isinstance(parameters, int | float) else "",
        _memory(bundle),
        _score(manifest.card),
    )


def _memory(bundle: Bundle) -> str:
    """Return the memory that the model is expected to need on the CPU, which a memory limit must leave room for."""
    try:
        placement = place_among([CPU], bundle.manifest.graphs, ModelSettings())
    except BundleIncompatible:
        return ""  # it has graphs for GPUs only
    return f"{expected_bytes(bundle, placement) / MEBIBYTE:.0f} MiB"


def _score(card: Mapping[str, Any]) -> str:
    """Return the first three scores of the card's first metric; a card begins with what the model is for."""
    scores = [score for score in card.get("scores") or () if "score" in score]
    metric = scores[0].get("metric", "") if scores else ""
    alike = [
        f"{score.get('test_set', '?')} {score['score']:.1f}" for score in scores if score.get("metric", "") == metric
    ]
    return f"{metric} {', '.join(alike[:3])}".strip()
