"""The reliability diagram: the share of usable translations by the quality that they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure


def draw(curves: Mapping[str, Sequence[Sequence[float]]], path: Path) -> None:
    """Write an SVG with one line for each curve: (mean quality, share of usable translations, count) of each bin.

    The same curves give the same bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(
        {"svg.hashsalt": "translucent", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
    ):
        figure = Figure(figsize=(5.4, 4.6), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="perfect")
        for marker, (name, points) in zip("osD^vP*X" * len(curves), curves.items(), strict=False):
            axes.plot(
                [point[0] for point in points], [point[1] for point in points], marker=marker, markersize=4, label=name
            )
        axes.set_xlabel("quality")
        axes.set_ylabel("share of usable translations")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
