"""The attention of one sentence pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from service.engine import AttentionMap, InvalidOption, RecordedSearch
from service.figures import exports
from service.figures.figure import compare, contrast, single_figure
from service.figures.labels import labels
from service.figures.panels import Naming, column_tokens, row_tokens
from service.figures.theme import ThemeName
from translucent_mt.backend import Model
from translucent_mt.checks import check_choice
from translucent_mt.drawing import Picture
from translucent_mt.tables import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame


class Attention:
    """Attention weights of one sentence pair, their tokens, and the model's scores of the translation."""

    def __init__(self, found: AttentionMap, model: Model) -> None:
        self._map, self._model = found, model
        self.source, self.target = found.source_text, found.target_text  #: the two texts
        self.kind, self.layer, self.head = found.kind, found.layer, found.head  #: which attention; numbers count from 0
        self.axes = found.axes  #: of `weights`, such as ("target", "source"); first layer and head if all are shown
        #: Rows sum to 1, one without known weights is NaN; for occlusion, the log-probability that each token loses.
        self.weights = found.weights
        self.rows, self.columns = row_tokens(found), column_tokens(found)  #: of the last axes
        self.alignment = found.alignment  #: pairs of aligned (source token, target token)
        self.score = found.score  #: log-probability of the translation after the length penalty
        self.token_logprobs = found.token_logprobs  #: natural logarithms, of each target token
        self.token_ranks = found.token_ranks  #: 1 is the model's first choice at that step
        self.digest = found.digest  #: of the model

    @property
    def search(self) -> RecordedSearch:
        """Return the search that found the translation: every hypothesis that it considered, and what became of it."""
        if self._map.search is None:
            raise InvalidOption("The search was not recorded: use translator.attention(text, view='steps').")
        return self._map.search

    def plot(self, view: Literal["heatmap", "lines"] = "heatmap", theme: ThemeName = "light") -> Picture:
        """Return a picture: a heatmap, one small map for each layer and head, or lines between tokens.

        Raise InvalidOption for another view, or if it would be too large to read.
        """
        check_choice("view", view, ("heatmap", "lines"))
        check_choice("theme", theme, get_args(ThemeName))
        return Picture(single_figure(self._map, view, self._naming()), theme)

    def compare(self, other: Attention, theme: ThemeName = "light") -> Picture:
        """Return a picture of two models on the same texts, and their difference; raise InvalidOption."""
        return Picture(compare(self._map, other._map, self._naming(other)), theme)

    def contrast(self, other: Attention, theme: ThemeName = "light") -> Picture:
        """Return a picture of two translations of one text by one model; raise InvalidOption."""
        if self.source != other.source:
            raise InvalidOption("contrast shows two translations of one text, and these are of two texts.")
        return Picture(contrast(self._map, other._map, Naming(("first", "second"), self._naming().aligning)), theme)

    def to_pandas(self) -> DataFrame:
        """Return the weights as a table, one row for each token (with `all`: for each layer, head and token)."""
        rows, columns = labels(self.rows), labels(self.columns)
        places = list(np.ndindex(*self.weights.shape[:-1]))
        found = data_frame(self.weights.reshape(len(places), len(columns)), columns=columns)
        for number, name in enumerate(self.axes[:-2]):
            found[name] = [place[number] for place in places]
        found["token"] = [rows[place[-1]] for place in places]
        return found.set_index([*self.axes[:-2], "token"])

    def save(self, path: str | Path) -> Path:
        """Write the numbers as .csv or .npz, or the picture as .svg, .png, .html or .json."""
        path = Path(path)
        named: Sequence[tuple[str, AttentionMap]] = [(self._map.model, self._map)]
        makers = {".csv": exports.as_csv, ".npz": exports.as_npz}
        if (make := makers.get(path.suffix.lower())) is None:
            return self.plot().save(path)
        path.write_bytes(make(named))
        return path

    def _naming(self, *others: Attention) -> Naming:
        models = (self._model, *(other._model for other in others))
        return Naming(aligning={each.name: each.alignment_head for each in models if each.alignment_head is not None})

    def _repr_svg_(self) -> str:
        return self.plot().svg

    def __repr__(self) -> str:
        shape = " × ".join(f"{size} {axis}" for size, axis in zip(self.weights.shape, self.axes, strict=True))
        return f"<Attention {self.kind} {shape}: {self.source!r} → {self.target!r}>"
