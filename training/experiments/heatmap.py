"""A heat map of attention as SVG, without a drawing library: its text can be read and searched."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

CELL = 34
LETTER = 8.2
"""Pixels of a letter, roughly."""
DARK = (23, 60, 110)


def heatmap(weights: npt.NDArray[np.float32], rows: Sequence[str], columns: Sequence[str]) -> str:
    """Return weights [T, S] between 0 and 1 as an SVG, with a label for each row and each column."""
    left = round(max(map(len, rows)) * LETTER) + 12
    top = round(max(map(len, columns)) * LETTER * 0.75) + 16
    parts = []
    for column, label in enumerate(columns):
        x, y = left + column * CELL + CELL // 2, top - 8
        parts.append(f'<text x="{x}" y="{y}" transform="rotate(-45 {x} {y})">{html.escape(label)}</text>')
    for row, label in enumerate(rows):
        y = top + row * CELL
        parts.append(f'<text x="{left - 8}" y="{y + CELL // 2 + 4}" text-anchor="end">{html.escape(label)}</text>')
        parts += [_cell(left + at * CELL, y, float(weights[row, at])) for at in range(len(columns))]
    width, height = left + CELL * len(columns) + 40, top + CELL * len(rows) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="sans-serif" font-size="13">{"".join(parts)}</svg>'
    )


def _cell(x: int, y: int, weight: float) -> str:
    fill = ",".join(str(round(255 + (dark - 255) * min(max(weight, 0.0), 1.0))) for dark in DARK)
    ink = "#fff" if weight > 0.55 else "#222"
    number = "" if weight < 0.005 else f"{weight:.2f}".removeprefix("0")
    rect = f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="rgb({fill})"/>'
    if not number:
        return rect
    middle = f'x="{x + CELL // 2}" y="{y + CELL // 2 + 4}" text-anchor="middle"'
    return f'{rect}<text {middle} font-size="11" fill="{ink}">{number}</text>'
