"""The content of a picture, independent of the renderer: panels of weights, their labels, a heading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.engine import AttentionMap, FloatArray, InvalidOption, Selector, Token
from service.figures.labels import clean, labels, right_to_left, shorten

ViewName = Literal["heatmap", "lines", "compare", "contrast", "models", "steps"]  # steps: in JSON only
Points = tuple[tuple[int, int], ...]

MOST_TOKENS = 100  # on a side of a panel; with more, labels are unreadable
MOST_CELLS = 24_000  # of all panels together
DIGITS = 6
TITLE_LENGTH = 64


class TooLargeToDraw(InvalidOption):
    """The map is too large for a picture; the numbers are available as JSON, CSV or npz."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names that a map itself does not contain."""

    translations: tuple[str, str] = ("the model’s own", "yours")  # of a contrast
    aligning: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # layer and head, by model


DEFAULT_NAMING = Naming()


@dataclass(frozen=True, slots=True)
class Score:
    """The model's score of one target token."""

    logprob: float
    rank: int


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
    scores: tuple[Score, ...] = ()
    signed: bool = False  # a difference of weights, or another number that may be negative
    quantity: str = ""  # what the numbers are, for the legend; empty: weights, or a difference of them
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

    @property
    def cells(self) -> int:
        """Return the number of weights."""
        return sum(panel.weights.size for panel in self.panels)


def one(found: AttentionMap, view: ViewName = "heatmap", naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a map as a heatmap, as small multiples if it has several layers or heads, or as lines between tokens."""
    panels = _panels(found)
    several = found.weights.ndim > 2
    if view == "lines" and found.scores is not None:
        raise InvalidOption("view=lines shows weights; with stage=scores, view must be heatmap.")
    if view == "lines" and several:
        raise InvalidOption("view=lines shows one head: give layer and head a number, align or mean instead of all.")
    arrangement: Literal["single", "grid", "lines"] = "lines" if view == "lines" else "grid" if several else "single"
    about = "  ·  ".join(filter(None, (_which(found, naming), _reading(found, panels[0], view, several))))
    notes = (f"{found.model}  ·  {digest(found)}", about)
    return checked(Figure(headline(found), notes, panels, arrangement))


def compare(first: AttentionMap, second: AttentionMap, naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a figure of two models on the same pair of texts, and the first minus the second."""
    if not comparable(first, second):
        raise InvalidOption("The two models cut these texts into different tokens; compare them with tokens=word.")
    panels = [_panel(found, f"{found.model}", found.weights) for found in (first, second)]
    difference = _panel(first, "difference", first.weights - second.weights, signed=True)
    difference_of = f"{_what(first)}; difference: {first.model} minus {second.model}"
    notes = (
        *(f"{found.model}  ·  {digest(found)}  ·  {_selected(found, naming)}  ·  {_score(found)}"
          for found in (first, second)),
        "  ·  ".join(filter(None, (difference_of, _dashed(difference)))),
    )  # fmt: skip
    return checked(Figure(headline(first), notes, (*panels, difference), "row"))


def several(maps: Sequence[AttentionMap], naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a figure of any number of models on the same pair of texts, each with its own tokens and score."""
    panels = [_panel(found, f"{found.model}  ·  {_score(found)}", found.weights) for found in maps]
    marks = "outlined: aligned words" if any(panel.marked for panel in panels) else ""
    dashed = next(filter(None, map(_dashed, panels)), "")
    about = "  ·  ".join(filter(None, (_what(maps[0]), marks, dashed)))
    models = [f"{found.model}  ·  {digest(found)}  ·  {_selected(found, naming)}" for found in maps]
    return checked(Figure(headline(maps[0]), (about, *models), tuple(panels), "rows"))


def contrast(first: AttentionMap, second: AttentionMap, naming: Naming = DEFAULT_NAMING) -> Figure:
    """Return a figure of two translations of one text by one model, with its score of every token."""
    panels = [
        _panel(found, f"{name}  ·  {_score(found)}", found.weights, scored=True)
        for found, name in zip((first, second), naming.translations, strict=True)
    ]
    notes = (
        f"{first.model}  ·  {digest(first)}",
        _which(first, naming),
        "  ·  ".join(filter(None, ("bar: probability of the token; #1: the model’s first choice", _dashed(panels[0])))),
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


def column_tokens(found: AttentionMap) -> tuple[Token, ...]:
    """Return the tokens of the last axis."""
    return found.column_tokens or found.source_tokens


def row_tokens(found: AttentionMap) -> tuple[Token, ...]:
    """Return the tokens of the last axis but one."""
    return found.source_tokens if found.kind == "encoder" else found.target_tokens


def digest(found: AttentionMap) -> str:
    """Return enough of a model's digest to identify it."""
    return found.digest[:19]


def headline(found: AttentionMap) -> tuple[str, ...]:
    """Return the two texts, on one line if they are short, or the one text of self-attention."""
    source, target = (shorten(clean(text).strip(), TITLE_LENGTH) for text in (found.source_text, found.target_text))
    if found.kind in ("encoder", "sentence"):
        return (source,)
    if found.kind == "decoder":
        return (target,)
    one_line = len(source) + len(target) <= TITLE_LENGTH // 2 and not right_to_left(source + target)
    return (f"{source}  →  {target}",) if one_line else (source, f"→  {target}")


def _panels(found: AttentionMap) -> tuple[Panel, ...]:
    weights, signed = found.weights, found.kind == "occlusion"
    if found.scores is not None:
        known = np.isfinite(found.scores.scores)
        weights, signed = np.where(known, found.scores.scores, np.nan).astype(np.float32), True
    if weights.ndim == 2:
        return (_panel(found, "", weights, signed=signed),)
    layers = range(weights.shape[0]) if "layer" in found.axes else (None,)
    panels = []
    for layer in layers:
        inner = weights if layer is None else weights[layer]
        heads = range(inner.shape[0]) if "head" in found.axes else (None,)
        for head in heads:
            names = ("" if layer is None else f"layer {layer}", "" if head is None else f"head {head}")
            panels.append(
                _panel(
                    found,
                    " · ".join(filter(None, names)),
                    inner if head is None else inner[head],
                    signed=signed,
                    names=names,
                )
            )
    return tuple(panels)


def _panel(
    found: AttentionMap,
    title: str,
    weights: FloatArray,
    *,
    signed: bool = False,
    scored: bool = False,
    names: tuple[str, str] = ("", ""),
) -> Panel:
    marked = found.alignment if found.kind == "cross" and not signed and found.weights.ndim == 2 else ()
    rows, columns = labels(row_tokens(found)), labels(column_tokens(found))
    scores = zip(found.token_logprobs, found.token_ranks, strict=True) if scored else ()
    return Panel(
        title=title,
        weights=np.asarray(np.round(weights.astype(np.float64), DIGITS), np.float64),
        rows=rows,
        columns=columns,
        row_title={"encoder": "source", "sentence": "hop"}.get(found.kind, "target"),
        column_title="target read so far" if found.kind == "decoder" else "source",
        marked=tuple((target, source) for source, target in marked if target < len(rows) and source < len(columns)),
        scores=tuple(Score(logprob, rank) for logprob, rank in scores),
        signed=signed,
        quantity="score" if found.scores is not None else "log-probability lost" if found.kind == "occlusion" else "",
        layer=names[0],
        head=names[1],
    )


def _which(found: AttentionMap, naming: Naming) -> str:
    return "  ·  ".join(filter(None, (_what(found), _selected(found, naming), _mass(found))))


def _what(found: AttentionMap) -> str:
    name = {
        "cross": "cross-attention",
        "encoder": "encoder self-attention",
        "decoder": "decoder self-attention",
        "sentence": "sentence embedding",
        "occlusion": "occlusion: what a target token loses if a source word is removed",
    }[found.kind]
    return name if found.scores is None else f"{name}, scores before the softmax"


def _selected(found: AttentionMap, naming: Naming) -> str:
    # Short, because each letter takes time to draw.
    if found.kind == "occlusion":
        return ""
    if found.kind == "sentence":
        hops = len(found.target_tokens)
        return f"{hops} hop{'s' if hops > 1 else ''}"
    if found.layer == found.head and found.layer in ("mean", "all"):
        return {"mean": "mean of all heads", "all": "all heads"}[str(found.layer)]
    aligning = naming.aligning.get(found.model)
    layer, head = aligning if aligning is not None else (found.layer, found.head)
    chosen = (layer if found.layer == "align" else found.layer, head if found.head == "align" else found.head)
    name = f"{_selector('layer', chosen[0])}, {_selector('head', chosen[1])}"
    if aligning is None or "align" not in (found.layer, found.head):
        return name
    if not found.layer == found.head == "align":
        return name
    return f"{name} (alignment head, read one step later)" if found.step == "consume" else f"{name} (alignment head)"


def _selector(name: str, chosen: Selector) -> str:
    if chosen == "align":
        return f"alignment {name}"
    if chosen == "mean":
        return f"mean of {name}s"
    return f"all {name}s" if chosen == "all" else f"{name} {chosen}"


def _reading(found: AttentionMap, panel: Panel, view: ViewName, several: bool) -> str:
    """Return the score, and the legend for a reader of the picture."""
    score = _score(found) if found.kind in ("cross", "occlusion") else ""
    axes = f"rows: {panel.row_title}, columns: {panel.column_title}" if several else ""
    marks = "outlined: aligned words" if panel.marked and view == "heatmap" else ""
    return "  ·  ".join(filter(None, (score, axes, marks, _dashed(panel) if view == "heatmap" else "")))


def _score(found: AttentionMap) -> str:
    """Return the score for a heading."""
    return f"score {found.score:.2f}"


def _dashed(panel: Panel) -> str:
    return "dashed: not known" if panel.unknown else ""


def _mass(found: AttentionMap) -> str:
    """Return the share of weight on the end token, to which a head without a relevant token often attends."""
    if found.kind == "occlusion" or found.scores is not None:
        return ""
    columns = column_tokens(found)
    special = [number for number, token in enumerate(columns) if token.special == "</s>"]
    if special:
        masses = found.weights[..., special].sum(axis=-1)
        known = masses[~np.isnan(masses)]
        return f"{float(known.mean()):.0%} of the weight on </s>" if known.size else ""
    left_out = 1 - float(found.weights.sum(axis=-1).mean())
    if found.kind == "decoder":
        return ""
    return f"</s> left out with {left_out:.0%} of the weight" if left_out > 0.001 else "</s> left out, rows rescaled"


def _spans(tokens: Sequence[Token]) -> list[tuple[int, int, str | None]]:
    return [(token.start, token.end, token.special) for token in tokens]
