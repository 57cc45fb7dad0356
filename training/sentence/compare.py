"""Compares runs: the paper's table of hops, penalty and pruning, and its two figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from training.sentence.data import SentenceFolder
from training.sentence.recipe import PrunedHidden
from training.sentence.trainer import load_trained, parameters_of
from training.tables import markdown

Rows = Sequence[Mapping[str, Any]]

COLUMNS = ("hops", "penalty", "hidden layer", "parameters", "domain", "language", "retrieval", "hop cosine", "overlap")


def compare(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return one row for each run: its sizes, and the measurements of its last update with their history."""
    return [_row(SentenceFolder(path)) for path in runs]


def _row(folder: SentenceFolder) -> dict[str, Any]:
    recipe, network = load_trained(folder)
    history: list[dict[str, float]] = json.loads(folder.history.read_text(encoding="utf-8"))
    sizes = parameters_of(recipe.network, recipe, network.embedding.num_embeddings)
    head = recipe.network.head
    last = history[-1]
    return {
        "run": folder.path.name,
        "hops": recipe.network.hops,
        "penalty": recipe.optimisation.penalty,
        "hidden layer": f"pruned, {head.rows} and {head.columns}"
        if isinstance(head, PrunedHidden)
        else f"full, {head}",
        "hidden layer parameters": sizes["hidden layer"],
        "parameters": sizes["network"],
        "updates": last["update"],
        **{key: last[key] for key in ("domain", "language", "hop cosine", "overlap")},
        "retrieval": _retrieval(last),
        "history": [
            {**{key: row[key] for key in ("update", "domain", "language", "hop cosine")}, "retrieval": _retrieval(row)}
            for row in history
        ],
    }


def _retrieval(measured: Mapping[str, float]) -> float:
    """Return the mean of the directions."""
    directions = [value for key, value in measured.items() if "-" in key]
    return sum(directions) / len(directions)


def as_table(rows: Rows) -> str:
    """Return the comparison as a Markdown table."""
    return markdown(COLUMNS, ([_cell(row, column) for column in COLUMNS] for row in rows)) + "\n"


def _cell(row: Mapping[str, Any], column: str) -> str:
    if column == "hidden layer":
        return f"{row['hidden layer']} ({row['hidden layer parameters']:,})"
    value = row[column]
    if column in ("domain", "language", "retrieval"):
        return f"{value:.1%}".replace("%", " %")
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def draw(rows: Rows, path: Path, values: Sequence[str] = ("domain", "retrieval", "hop cosine")) -> None:
    """Write an SVG: each value over the updates, one line for each run; the file depends only on the numbers."""
    with mpl.rc_context({"svg.hashsalt": "translucent", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(3.1 * len(values), 2.9), layout="constrained")
        axes = figure.subplots(1, len(values), squeeze=False)[0]
        for place, value in zip(axes, values, strict=True):
            for row in rows:
                style = (
                    "--" if row["penalty"] == 0 and row["hops"] > 1 else ":" if "pruned" in row["hidden layer"] else "-"
                )
                history = row["history"]
                place.plot(
                    [each["update"] for each in history], [each[value] for each in history], style, label=_name(row)
                )
            place.set_title(value)
            place.set_xlabel("update")
            place.grid(alpha=0.3)
        axes[0].legend(fontsize=7, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _name(row: Mapping[str, Any]) -> str:
    hops = f"r = {row['hops']}"
    if "pruned" in row["hidden layer"]:
        return f"{hops}, pruned"
    return f"{hops}, no penalty" if row["penalty"] == 0 and row["hops"] > 1 else hops
