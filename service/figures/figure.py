"""The content of a picture, independent of the renderer: panels of weights, their labels, a heading."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np

from service.engine import AttentionMap, FloatArray, InvalidOption, TokenOrWord
from service.figures.captions import (
    TITLE_LENGTH,
    beside,
    described,
    digest,
    headline,
    legend,
    score_note,
    selection,
    subject,
    unknown_note,
)
from service.figures.labels import clean, labels, shorten
from service.figures.panels import DEFAULT_NAMING, Figure, Naming, Panel, ViewName, column_tokens, row_tokens

MOST_TOKENS = 100  # on a side of a panel; with more, labels are unreadable
MOST_CELLS = 24_000  # of all panels together
DIGITS = 6


class TooLargeToDraw(InvalidOption):
    """The map is too large for a picture; the numbers are available as JSON, CSV or npz."""

    code = "too_many_weights"


class DifferentTokens(InvalidOption):
    """Two models cut the same texts differently, so that their weights cannot be compared."""

    code = "different_tokens"


def single_figure(attention: AttentionMap, view: ViewName = "heatmap", naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a map as a heatmap, as small multiples if it has several layers or heads, or as lines between tokens."""
    panels = _panels(attention)
    several = attention.weights.ndim > 2
    if view == "lines" and attention.scores is not None:
        raise InvalidOption("view=lines shows weights; with stage=scores, view must be heatmap.")
    if view == "lines" and several:
        raise InvalidOption("view=lines shows one head: give layer and head a number, align or mean instead of all.")
    arrangement: Literal["single", "grid", "lines"] = "lines" if view == "lines" else "grid" if several else "single"
    about = beside(described(attention, naming), legend(attention, panels[0], view, several))
    notes = (beside(attention.model, digest(attention)), about)
    return checked(Figure(headline(attention), notes, panels, arrangement))


def compare(first: AttentionMap, second: AttentionMap, naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a figure of two models on the same pair of texts, and the first minus the second."""
    if not comparable(first, second):
        raise DifferentTokens("The two models cut these texts into different tokens; compare them with tokens=word.")
    panels = [_panel(attention, f"{attention.model}", attention.weights) for attention in (first, second)]
    difference = _panel(first, "difference", first.weights - second.weights, signed=True)
    difference_of = f"{subject(first)}; difference: {first.model} minus {second.model}"
    notes = (
        *(beside(_named(attention, naming), score_note(attention)) for attention in (first, second)),
        beside(difference_of, unknown_note(difference)),
    )
    return checked(Figure(headline(first), notes, (*panels, difference), "row"))


def several(maps: Sequence[AttentionMap], naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a figure of any number of models on the same pair of texts, each with its own tokens and score."""
    panels = [
        _panel(attention, beside(attention.model, score_note(attention)), attention.weights) for attention in maps
    ]
    marks = "outlined: aligned words" if any(panel.marked for panel in panels) else ""
    dashed = next(filter(None, map(unknown_note, panels)), "")
    about = beside(subject(maps[0]), marks, dashed)
    models = [_named(attention, naming) for attention in maps]
    return checked(Figure(headline(maps[0]), (about, *models), tuple(panels), "rows"))


def _named(attention: AttentionMap, naming: Naming) -> str:
    """Return the model of a map, with the layer and the head that are shown of it."""
    return beside(attention.model, digest(attention), selection(attention, naming))


def contrast(first: AttentionMap, second: AttentionMap, naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a figure of two translations of one text by one model, with its score of every token."""
    panels = [
        _panel(attention, beside(name, score_note(attention)), attention.weights, scored=True)
        for attention, name in zip((first, second), naming.translations, strict=True)
    ]
    notes = (
        beside(first.model, digest(first)),
        described(first, naming),
        beside("bar: probability of the token; #1: the model’s first choice", unknown_note(panels[0])),
    )
    title = (shorten(clean(first.source_text).strip(), TITLE_LENGTH),)
    return checked(Figure(title, notes, tuple(panels), "row"))


def comparable(first: AttentionMap, second: AttentionMap) -> bool:
    """Return whether two maps have the same tokens on the same axes."""
    return (
        first.axes == second.axes
        and first.weights.ndim == 2
        and first.weights.shape == second.weights.shape
        and _spans(first.source_tokens) == _spans(second.source_tokens)
        and _spans(first.target_tokens) == _spans(second.target_tokens)
    )


def checked(figure: Figure) -> Figure:
    """Return the figure; raise TooLargeToDraw if it would be too large to read."""
    for panel in figure.panels:
        if not panel.rows or not panel.columns:
            raise InvalidOption("There is no token left to draw; use specials=keep.")
    longest = max(max(panel.weights.shape) for panel in figure.panels)
    if longest > MOST_TOKENS or figure.cells > MOST_CELLS:
        raise TooLargeToDraw(
            f"That is too much for one picture: {longest} tokens on a side (at most {MOST_TOKENS}) and {figure.cells} "
            f"weights (at most {MOST_CELLS}). Give a shorter text, tokens=word, or one layer and head; "
            "format=json, csv and npz hold more."
        )
    return figure


def _panels(attention: AttentionMap) -> tuple[Panel, ...]:
    weights, signed = attention.weights, attention.kind == "occlusion"
    if attention.scores is not None:
        finite = np.isfinite(attention.scores.scores)
        weights, signed = np.where(finite, attention.scores.scores, np.nan).astype(np.float32), True
    panels = []
    for place in np.ndindex(weights.shape[:-2]):  # every layer and head, or the only ones
        names = {axis: f"{axis} {number + 1}" for axis, number in zip(attention.axes, place, strict=False)}
        panels.append(_panel(attention, " · ".join(names.values()), weights[place], signed=signed, names=names))
    return tuple(panels)


def _panel(
    attention: AttentionMap,
    title: str,
    weights: FloatArray,
    *,
    signed: bool = False,
    scored: bool = False,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Panel:
    marked = attention.alignment if attention.kind == "cross" and not signed and attention.weights.ndim == 2 else ()
    rows, columns = labels(row_tokens(attention)), labels(column_tokens(attention))
    return Panel(
        title=title,
        weights=np.asarray(np.round(weights.astype(np.float64), DIGITS), np.float64),
        rows=rows,
        columns=columns,
        row_title="source" if attention.kind == "encoder" else "target",
        column_title="target read so far" if attention.kind == "decoder" else "source",
        marked=tuple((target, source) for source, target in marked if target < len(rows) and source < len(columns)),
        scores=tuple(zip(attention.token_logprobs, attention.token_ranks, strict=True)) if scored else (),
        signed=signed,
        quantity=_quantity(attention, signed),
        layer=names.get("layer", ""),
        head=names.get("head", ""),
    )


def _quantity(attention: AttentionMap, signed: bool) -> str:
    if attention.scores is not None:
        return "score"
    return "log-probability lost" if attention.kind == "occlusion" else "difference" if signed else "weight"


def _spans(tokens: Sequence[TokenOrWord]) -> list[tuple[int, int, str | None]]:
    return [(token.start, token.end, token.special) for token in tokens]
