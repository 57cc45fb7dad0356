"""BLEU by sentence length of several systems, as a table and a plot like figure 2 of arXiv 1409.0473."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from training.evaluation.scores import Bucket
from training.tables import markdown

Curves = Mapping[str, Sequence[Bucket]]
"""The buckets of each system, by its name in the legend."""


def table(curves: Curves) -> str:
    """Return a Markdown table: a row for each system, a column for each bucket, and the losses of the last one.

    ± is half of the 95 % interval by bootstrap, if the buckets have it.
    """
    buckets = next(iter(curves.values()))
    labels = (f"{bucket.label} ({bucket.sentences})" for bucket in buckets)
    head = ["words in the source", *labels, "longest loses, from the best", "from the shortest"]
    return markdown(head, ([name, *map(_cell, own), *_lost(own)] for name, own in curves.items()))


def _cell(bucket: Bucket) -> str:
    if bucket.bleu is None:
        return ""
    return f"{bucket.bleu:.1f}" + ("" if bucket.interval is None else f" ± {bucket.interval:.1f}")


def _lost(buckets: Sequence[Bucket]) -> list[str]:
    """Return the BLEU that the last bucket loses against the best and the first one; empty if it has no sentences."""
    last, known = buckets[-1].bleu, [bucket.bleu for bucket in buckets if bucket.bleu is not None]
    if last is None:
        return ["", ""]
    return [f"{max(known) - last:.1f}", f"{known[0] - last:.1f}"]


def plot(curves: Curves, stem: Path) -> list[Path]:
    """Draw one line for each system into ``stem``.png and .svg; the same curves give the same bytes."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for marker, (name, buckets) in zip("osD^vP*X" * len(curves), curves.items(), strict=False):
        known = [(place, b.bleu, b.interval or 0.0) for place, b in enumerate(buckets) if b.bleu is not None]
        places, values, halves = zip(*known, strict=True) if known else ((), (), ())
        axes.errorbar(places, values, yerr=halves, marker=marker, capsize=2, label=name)
    labels = [bucket.label for bucket in next(iter(curves.values()))]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_xlabel("words in the source sentence")
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    with matplotlib.rc_context({"svg.hashsalt": "translucent", "svg.fonttype": "none"}):
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths
