"""The summary of a grid: a table over variants, as Markdown and JSON."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.files import write_json_rows, write_lines
from training.tables import markdown

Cell = Mapping[str, Any]


def rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the numbers of each variant over its seeds, the base first."""
    names = sorted(dict.fromkeys(cell["variant"] for cell in cells), key=lambda name: name != "base")
    result = []
    for name in names:
        own = [cell for cell in cells if cell["variant"] == name]
        row = {"variant": name, "seeds": [cell["seed"] for cell in own]}
        row |= {key: spread_of([cell[key] for cell in own]) for key in ("bleu", "alignment_error")}
        result.append({**row, "parameters": own[0]["parameters"]})
    return result


def spread_of(values: Sequence[float | None]) -> dict[str, float | None] | None:
    """Return mean and standard deviation (of one value: None); None if a value is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    deviation = round(statistics.stdev(known), 2) if len(known) > 1 else None
    return {"mean": round(statistics.fmean(known), 2), "deviation": deviation}


def summary_table(cells: Sequence[Cell]) -> str:
    """Return the table: means over seeds, with ± one standard deviation."""
    lines = [
        [row["variant"], str(len(row["seeds"])), _cell(row["bleu"]), _cell(row["alignment_error"]),
         f"{row['parameters']:,}"]
        for row in rows(cells)
    ]  # fmt: skip
    return markdown(("variant", "seeds", "BLEU", "AER", "parameters"), lines)


def _cell(found: Mapping[str, float | None] | None) -> str:
    if found is None:
        return "–"
    return f"{found['mean']:.1f}" + ("" if found["deviation"] is None else f" ± {found['deviation']:.1f}")


def write_summary(cells: Sequence[Cell], output: Path | None) -> str:
    """Return the table; with ``output``, also write it and its numbers, without the recipes of the cells."""
    if not cells:
        return "no cell is finished"
    table = summary_table(cells)
    if output is not None:
        write_lines(output.with_name(f"{output.name}.md"), [table])
        small = [{key: value for key, value in cell.items() if key != "recipe"} for cell in cells]
        write_json_rows(output.with_name(f"{output.name}.json"), {"summary": rows(cells), "cells": small})
    return table
