"""Curves of several runs as SVG: losses by update and BLEU by sentence length."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from training.evaluation.scores import Bucket
from training.experiments.history import Point

_MARKERS = "osD^vP*Xph<>"


def loss_curves(curves: Mapping[str, Sequence[Sequence[Point]]], label: str = "development loss (nats a token)") -> str:
    """Return an SVG with a line for each name: the mean of its runs, at the updates that all of them have."""
    figure, axes = _figure("update", label)
    for number, (name, runs) in enumerate(curves.items()):
        by_update = [{point.update: point.value for point in run} for run in runs]
        updates = sorted(set.intersection(*(set(own) for own in by_update))) if by_update else []
        means = [float(np.mean([own[update] for own in by_update])) for update in updates]
        axes.plot(updates, means, marker=_MARKERS[number % len(_MARKERS)], markersize=4, label=name)
    return _svg(figure, axes)


def token_curves(curves: Mapping[str, tuple[int, Sequence[Point]]]) -> str:
    """Return an SVG with development BLEU over millions of target tokens, from the tokens of an update and points."""
    figure, axes = _figure("million target tokens", "development BLEU (greedy)")
    for number, (name, (tokens, points)) in enumerate(curves.items()):
        millions = [point.update * tokens / 1e6 for point in points]
        values = [point.value for point in points]
        axes.plot(millions, values, marker=_MARKERS[number % len(_MARKERS)], markersize=4, label=name)
    return _svg(figure, axes)


def length_curves(curves: Mapping[str, Sequence[Sequence[Bucket]]]) -> str:
    """Return an SVG with a line for each name: BLEU by the words of the source, the mean of its runs."""
    figure, axes = _figure("words in the source sentence", "BLEU")
    labels: list[str] = []
    for number, (name, runs) in enumerate(curves.items()):
        labels = [f"{bucket.label}\n({bucket.sentences})" for bucket in runs[0]]
        means = [_mean([run[place].bleu for run in runs]) for place in range(len(labels))]
        axes.plot(range(len(labels)), means, marker=_MARKERS[number % len(_MARKERS)], markersize=4, label=name)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(bottom=0)
    return _svg(figure, axes)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _figure(x_label: str, y_label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(axis="y", alpha=0.3)
    return figure, axes


def _svg(figure: Figure, axes: Axes) -> str:
    """Return the figure as SVG; the same curves give the same bytes."""
    if axes.lines:
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "translucent", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
