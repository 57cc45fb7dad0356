"""The summary of a grid: a table over variants as Markdown and JSON, and its curves as SVG."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.evaluation.scores import Bucket
from training.experiments.curves import length_curves, loss_curves
from training.experiments.history import read_history
from training.files import write_json_rows
from training.runs.folder import RunFolder
from training.tables import markdown

Cell = Mapping[str, Any]

COLUMNS = ("variant", "seeds", "BLEU", "AER", "parameters", "training tokens/s", "serving tokens/s")


def by_variant(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each variant, the base first."""
    found: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        found[cell["variant"]].append(cell)
    return dict(sorted(found.items(), key=lambda item: item[0] != "base"))


def spread_of(values: Sequence[float | None]) -> tuple[float, float | None] | None:
    """Return mean and standard deviation (of one value: None); None if a value is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None


def rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the numbers of each variant over its seeds, for JSON."""
    result = []
    for name, own in by_variant(cells).items():
        row: dict[str, Any] = {"variant": name, "seeds": [cell["seed"] for cell in own]}
        for key in ("bleu", "alignment_error", "training_tokens_per_second", "serving_tokens_per_second"):
            found = spread_of([cell[key] for cell in own])
            row[key] = None if found is None else {"mean": round(found[0], 2), "deviation": _rounded(found[1])}
        row["parameters"] = own[0]["parameters"]
        result.append(row)
    return result


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def summary_table(cells: Sequence[Cell]) -> str:
    """Return the table: means over seeds, with ± one standard deviation for BLEU and alignment error."""
    return markdown(COLUMNS, map(_line, rows(cells)))


def _line(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["variant"],
        str(len(row["seeds"])),
        _with_deviation(row["bleu"]),
        _with_deviation(row["alignment_error"]),
        f"{row['parameters']:,}",
        _whole(row["training_tokens_per_second"]),
        _whole(row["serving_tokens_per_second"]),
    )


def _with_deviation(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    return f"{found['mean']:.1f}" + ("" if found["deviation"] is None else f" ± {found['deviation']:.1f}")


def _whole(found: Mapping[str, float] | None) -> str:
    return "–" if found is None else f"{found['mean']:,.0f}"


def write_summary(cells: Sequence[Cell], folder: Path, output: Path | None) -> str:
    """Return the table; with ``output``, also write it, its numbers and the curves beside each other."""
    if not cells:
        return "no cell is finished"
    table = summary_table(cells)
    if output is None:
        return table
    output.parent.mkdir(parents=True, exist_ok=True)
    output.with_name(f"{output.name}.md").write_text(table + "\n", encoding="utf-8")
    content = {"summary": rows(cells), "cells": [_small(cell) for cell in cells]}
    write_json_rows(output.with_name(f"{output.name}.json"), content)
    losses, lengths = {}, {}
    for name, own in by_variant(cells).items():
        logs = [RunFolder(folder / name / f"seed-{cell['seed']}").log for cell in own]
        losses[name] = [read_history(log).get("dev_loss", []) for log in logs]
        lengths[name] = [[Bucket(**bucket) for bucket in cell["by_length"]] for cell in own]
    output.with_name(f"{output.name}-loss.svg").write_text(loss_curves(losses), encoding="utf-8")
    output.with_name(f"{output.name}-lengths.svg").write_text(length_curves(lengths), encoding="utf-8")
    return table


def _small(cell: Cell) -> dict[str, Any]:
    """Return a cell without its recipe, which the base recipe and the variant's name say."""
    return {key: value for key, value in cell.items() if key != "recipe"}
