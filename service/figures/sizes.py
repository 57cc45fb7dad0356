"""The sizes in a figure, by the number and the length of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.figures.labels import width
from service.figures.panels import Panel

# Most tokens on a side, pixels of a cell, font size.
_SINGLE = ((8, 44, 13), (14, 36, 13), (24, 27, 12), (40, 20, 11), (64, 15, 10), (1000, 12, 9))
_BESIDE = ((8, 31, 12), (14, 22, 11), (24, 18, 10), (40, 14, 9), (1000, 11, 9))  # several panels in a row
_SMALL = ((8, 22, 10), (14, 16, 10), (24, 11, 8), (1000, 9, 8))
ROOM = 30  # least pixels of a cell with a number


@dataclass(frozen=True, slots=True)
class Sizes:
    """The measures of one figure, the same for all its panels."""

    step: int  # pixels from cell to cell
    font: int
    gap: float  # pixels between cells
    angle: int  # of the labels of columns
    numbers: bool  # whether cells hold their weight as a number
    small: bool  # small multiples, which have no room for axis titles

    @classmethod
    def of(cls, panels: Sequence[Panel], *, small: bool = False) -> Sizes:
        """Return the measures that keep these panels readable."""
        most = max(max(panel.weights.shape) for panel in panels)
        table = _SMALL if small else _BESIDE if len(panels) > 1 else _SINGLE
        step, font = next((step, font) for limit, step, font in table if most <= limit)
        widest = max(width(label, font) for panel in panels for label in panel.columns)
        level = widest <= step - 4
        angle = 0 if level else -45 if most <= 40 and not small else -90
        gap = 2.0 if step >= 27 else 1.0 if step >= 12 else 0.5
        return cls(step, font, gap, angle, not small and step >= ROOM, small)
