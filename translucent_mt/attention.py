"""The attention of one sentence pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from service.engine import AttentionMap, FloatArray, InvalidOption, Search, Selector, Token
from service.figures import exports
from service.figures.figure import compare, contrast, one
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
    """Attention weights of one sentence pair, their tokens, and the model's scores of the translation.

    `weights` has the axes that `axes` names, such as ("target", "source"); a row without known weights is NaN.
    """

    def __init__(self, found: AttentionMap, model: Model) -> None:
        self._map, self._model = found, model

    @property
    def weights(self) -> FloatArray:
        """Return the weights, whose rows sum to 1; for occlusion the log-probability that each token loses."""
        return self._map.weights

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes: layer and head come first if all are shown."""
        return self._map.axes

    @property
    def source(self) -> str:
        """Return the source text."""
        return self._map.source_text

    @property
    def target(self) -> str:
        """Return the translation."""
        return self._map.target_text

    @property
    def rows(self) -> tuple[Token, ...]:
        """Return the tokens of the last axis but one, with their places in the text."""
        return row_tokens(self._map)

    @property
    def columns(self) -> tuple[Token, ...]:
        """Return the tokens of the last axis, with their places in the text."""
        return column_tokens(self._map)

    @property
    def alignment(self) -> tuple[tuple[int, int], ...]:
        """Return pairs of aligned (source token, target token)."""
        return self._map.alignment

    @property
    def score(self) -> float:
        """Return the log-probability of the translation after the length penalty."""
        return self._map.score

    @property
    def token_logprobs(self) -> tuple[float, ...]:
        """Return the natural log-probability of each target token."""
        return self._map.token_logprobs

    @property
    def token_ranks(self) -> tuple[int, ...]:
        """Return the rank of each target token at its step; 1 is the model's first choice."""
        return self._map.token_ranks

    @property
    def kind(self) -> Literal["cross", "encoder", "decoder", "occlusion", "sentence"]:
        """Return which attention it is."""
        return self._map.kind

    @property
    def layer(self) -> Selector:
        """Return the layer: a number from 0, align, mean or all."""
        return self._map.layer

    @property
    def head(self) -> Selector:
        """Return the head: a number from 0, align, mean or all."""
        return self._map.head

    @property
    def digest(self) -> str:
        """Return the digest of the model that computed it."""
        return self._map.digest

    @property
    def search(self) -> Search:
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
        return Picture(one(self._map, view, self._naming()), theme)

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
