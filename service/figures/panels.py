"""What a picture is made of: panels of weights under one heading."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.engine import AttentionMap, TokenOrWord

ViewName = Literal["heatmap", "lines", "compare", "contrast", "models", "steps"]  # steps: in JSON only
Points = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Naming:
    """Names that a map itself does not contain."""

    translations: tuple[str, str] = ("the model’s own", "yours")  # of a contrast
    aligning: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # layer and head, by model


DEFAULT_NAMING = Naming()


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One matrix: rows attend, columns are attended to."""

    title: str
    weights: npt.NDArray[np.float64]  # [R, C], with as many digits as the JSON; NaN for unknown weights
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_title: str
    column_title: str
    marked: Points = ()  # (row, column) of the cells that the alignment links
    scores: tuple[tuple[float, int], ...] = ()  # the log-probability and the rank of each row's token
    signed: bool = False  # a difference of weights, or another number that may be negative
    quantity: str = "weight"  # what the numbers are
    layer: str = ""
    head: str = ""

    @property
    def unknown(self) -> tuple[int, ...]:
        """Return the rows without known weights."""
        return tuple(np.flatnonzero(np.isnan(self.weights).all(axis=1)).tolist())

    @property
    def largest(self) -> float:
        """Return the largest weight or difference without its sign; 0 if none is known."""
        return float(np.nanmax(np.abs(self.weights), initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """Panels under one heading. In a grid all share their rows and columns."""

    title: tuple[str, ...]  # lines
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]
    arrangement: Literal["single", "grid", "row", "rows", "lines"]
    language: str = "en"  # of the words that are not the user's

    @property
    def cells(self) -> int:
        """Return the number of weights."""
        return sum(panel.weights.size for panel in self.panels)


def column_tokens(attention: AttentionMap) -> tuple[TokenOrWord, ...]:
    """Return the tokens of the last axis."""
    return attention.column_tokens or attention.source_tokens


def row_tokens(attention: AttentionMap) -> tuple[TokenOrWord, ...]:
    """Return the tokens of the last axis but one."""
    return attention.source_tokens if attention.kind == "encoder" else attention.target_tokens
