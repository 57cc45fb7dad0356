"""The table of what ``import check`` found, as the command prints it and as a bundle's README.md has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from training.tables import markdown

Entry = Mapping[str, Any]
"""A comparison as the manifest has it: ``what``, ``value``, optionally ``precision``, ``at_most`` or ``at_least``."""


def check_table(figures: Sequence[Entry]) -> str:
    """Return a Markdown table with a row for each comparison and a column for each precision.

    A comparison without a precision concerns all of them, and has the same value in every column.
    """
    precisions = list(dict.fromkeys(entry["precision"] for entry in figures if "precision" in entry)) or ["value"]
    cells = {(entry["what"], entry.get("precision")): cell(entry) for entry in figures}
    rows = [
        [what, *(cells.get((what, precision), cells.get((what, None), "–")) for precision in precisions)]
        for what in dict.fromkeys(entry["what"] for entry in figures)
    ]
    return markdown(["what", *precisions], rows, aligned=True)


def cell(entry: Entry) -> str:
    """Return a value with its limit, if it has one, and whether it keeps the limit."""
    value = f"{entry['value']:.4g}"
    for key, sign in (("at_most", "≤"), ("at_least", "≥")):
        if key in entry:
            kept = entry["value"] <= entry[key] if key == "at_most" else entry["value"] >= entry[key]
            return f"{value} ({'ok' if kept else 'FAIL'}: {sign} {entry[key]:g})"
    return value
