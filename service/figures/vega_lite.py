"""Makes the Vega-Lite specification of a figure, which both the browser and the server draw.

Texts of users are only in data and in values of parameters, never in an expression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from service.figures import labels
from service.figures.panels import Figure, Panel
from service.figures.theme import FONT, FONT_RIGHT_TO_LEFT, THEMES, Theme, ThemeName, config
from service.figures.vega_lines import Spec, cells, layer_of, line_layers

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
LEAST_NUMBER = 0.005  # smaller weights would be shown as .00
LEAST_CHANCE = 0.00001  # smaller probabilities are shown as smaller than this
IN_A_ROW = 3  # panels of a figure with several rows of them
BAR = 46  # pixels of a probability of 1
X: Spec = {"field": "s", "type": "ordinal"}
Y: Spec = {"field": "t", "type": "ordinal"}
NUMBER: Spec = {"field": "n", "type": "nominal"}


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
        widest = max(labels.width(label, font) for panel in panels for label in panel.columns)
        level = widest <= step - 4
        angle = 0 if level else -45 if most <= 40 and not small else -90
        gap = 2.0 if step >= 27 else 1.0 if step >= 12 else 0.5
        return cls(step, font, gap, angle, not small and step >= ROOM, small)


def specification(figure: Figure, theme_name: ThemeName = "light") -> Spec:
    """Return the specification of a figure; the same figure gives the same specification."""
    theme = THEMES[theme_name]
    top = _ceiling(max((panel.largest for panel in figure.panels if not panel.signed), default=1.0))
    body = {"grid": _grid, "row": _row, "rows": _row, "single": _row, "lines": line_layers}[figure.arrangement]
    names = "".join(label for panel in figure.panels for label in (*panel.rows, *panel.columns))
    font = FONT_RIGHT_TO_LEFT if labels.right_to_left("".join(figure.title) + names) else FONT
    spec = with_title(figure.title, figure.notes, theme, font, body(figure, theme, top))
    spec["title"]["fontWeight"] = "normal" if any(map(labels.pictorial, figure.title)) else 600
    return spec


def with_title(title: Sequence[str], notes: Sequence[str], theme: Theme, font: str, body: Spec) -> Spec:
    """Return a whole specification: its heading, its colours and what it draws."""
    shown = [*filter(None, notes)]
    return {
        "$schema": SCHEMA,
        "description": f"{' '.join(title)}. {'. '.join(shown)}",
        "background": theme.background,
        "padding": 18,
        "title": {"text": list(title), "subtitle": shown},
        **body,
        "config": config(theme, font),
    }


def _ceiling(largest: float) -> float:
    """Return the top of the colour scale: the next tenth, so that pictures of similar texts share it."""
    return min(max(math.ceil(largest * 10 - 1e-6) / 10, 0.1), 1.0)


def _row(figure: Figure, theme: Theme, top: float) -> Spec:
    """Return the body of panels side by side, in one row or several, each with its own labels."""
    sizes = Sizes.of(figure.panels)
    charts, parameters = [], []
    for number, panel in enumerate(figure.panels):
        legend = number == len(figure.panels) - 1 or figure.panels[number + 1].signed
        layers = [_cell_layer(panel, number, theme, top, sizes, legend=legend)]
        if sizes.numbers:
            layers.append(_numbers(panel, theme, top))
        if panel.unknown:
            layers.append(_unknown(panel, theme, sizes))
        if panel.marked:
            outline = {"type": "rect", "fill": None, "stroke": theme.accent, "strokeWidth": 1.6}
            layers.append(layer_of([{"t": row, "s": column} for row, column in panel.marked], outline, x=X, y=Y))
        if panel.scores:
            layers += _score_layers(panel, theme, sizes)
        chart: Spec = {"width": {"step": sizes.step}, "height": {"step": sizes.step}, "layer": layers}
        if panel.title:
            chart["title"] = {"text": panel.title, "fontSize": 12, "fontWeight": "normal", "offset": 8,
                              "color": theme.ink if not panel.signed else theme.muted}  # fmt: skip
        charts.append(chart)
        parameters += _parameters(panel, number)
    if len(charts) == 1:
        return {"params": parameters, **charts[0]}
    several = {"concat": charts, "columns": IN_A_ROW} if figure.arrangement == "rows" else {"hconcat": charts}
    return {"params": parameters, **several, "resolve": {"scale": {"color": "independent"}}}


def _grid(figure: Figure, theme: Theme, top: float) -> Spec:
    """Return small multiples that share rows and columns: layers below each other, heads side by side."""
    sizes = Sizes.of(figure.panels, small=True)
    first = figure.panels[0]
    layer, head = ({"field": field, "type": "nominal", "sort": None} for field in ("layer", "head"))
    both = bool(first.layer and first.head)
    cell = _cell_layer(first, 0, theme, top, sizes, legend=True)
    values = [record for panel in figure.panels for record in cells(panel, layer=panel.layer, head=panel.head)]
    return {
        "params": _parameters(first, 0),
        "data": {"values": values},
        "transform": cell["transform"],
        "facet": {"row": layer, "column": head} if both else layer if first.layer else head,
        "spacing": max(8, sizes.step),
        "spec": {
            "width": {"step": sizes.step},
            "height": {"step": sizes.step},
            "mark": cell["mark"],
            "encoding": cell["encoding"],
        },
        **({} if both else {"columns": min(4, len(figure.panels))}),
    }


def _parameters(panel: Panel, number: int) -> list[Spec]:
    return [
        {"name": f"rows{number}", "value": list(panel.rows)},
        {"name": f"columns{number}", "value": list(panel.columns)},
    ]


def _cell_layer(panel: Panel, number: int, theme: Theme, top: float, sizes: Sizes, *, legend: bool) -> Spec:
    # Gaps are left out, not painted over, and are whole pixels if possible: both are far quicker to rasterise.
    side = sizes.step - sizes.gap
    column = "attended" if panel.column_title == panel.row_title else panel.column_title.split()[0] + "_read"
    axis = {"labelFontSize": sizes.font, "titlePadding": 10}
    x_axis = {
        "title": None if sizes.small else panel.column_title,
        "orient": "top",
        "labelExpr": f"columns{number}[datum.value]",
        "labelAngle": sizes.angle,
        **({"labelAlign": "left", "labelBaseline": "middle"} if sizes.angle else {}),
    }
    y_axis = {
        "title": None if sizes.small or number > 0 else panel.row_title,
        "labelExpr": f"rows{number}[datum.value]",
    }
    cell = layer_of(
        cells(panel),
        {"type": "rect", "width": {"band": side / sizes.step}, "height": side},  # the page makes columns wider
        x={**X, "scale": {"domain": list(range(len(panel.columns))), "padding": 0}, "axis": {**axis, **x_axis}},
        y={**Y, "scale": {"domain": list(range(len(panel.rows))), "padding": 0}, "axis": {**axis, **y_axis}},
        color=_colour(panel, theme, top, sizes, legend),
        tooltip=[
            {"field": panel.row_title, "type": "nominal", "title": panel.row_title},
            {"field": column, "type": "nominal", "title": panel.column_title},
            {"field": "w", "type": "quantitative", "format": ".4f", "title": panel.quantity},
        ],
    )
    cell["transform"] = [
        {"calculate": f"rows{number}[datum.t]", "as": panel.row_title},
        {"calculate": f"columns{number}[datum.s]", "as": column},
    ]
    return cell


def _colour(panel: Panel, theme: Theme, top: float, sizes: Sizes, legend: bool) -> Spec:
    high = _bound(panel, top)
    low = -high if panel.signed else 0.0
    colours = theme.signed if panel.signed else theme.ramp
    # A linear scale of many colours needs as many points.
    domain = [round(low + (high - low) * at / (len(colours) - 1), 6) for at in range(len(colours))]
    scale = {"domain": domain, "range": list(colours), "interpolate": "lab", "clamp": True}
    shown = {
        "title": panel.quantity,
        "gradientLength": max(60, min(160, sizes.step * len(panel.rows))),
        "gradientThickness": 10,
        "values": [low, round((low + high) / 2, 2), high],
        "offset": 130 if panel.scores else 16,  # to the right of the bars and numbers of the scores
    }
    return {"field": "w", "type": "quantitative", "scale": scale, "legend": shown if legend else None}


def _bound(panel: Panel, top: float) -> float:
    """Return the end of a panel's colour scale; a signed one has its own: the next tenth, above 1 a whole number."""
    if not panel.signed:
        return top
    return _ceiling(panel.largest) if panel.largest <= 1 else float(math.ceil(panel.largest))


def _numbers(panel: Panel, theme: Theme, top: float) -> Spec:
    """Return the weights as numbers in the cells, if there is room for them."""
    shown = [{**record, "n": _short(record["w"])} for record in cells(panel) if abs(record["w"]) >= LEAST_NUMBER]
    dark = {"test": f"abs(datum.w) >= {_bound(panel, top) * 0.56:.4f}", "value": theme.ink_on_high}
    colour = {"condition": dark, "value": theme.ink}
    return layer_of(shown, {"type": "text", "fontSize": 10}, x=X, y=Y, text=NUMBER, color=colour)


def _short(weight: float) -> str:
    text = f"{abs(weight):.2f}".removeprefix("0")
    return f"−{text}" if weight < 0 else text


def _unknown(panel: Panel, theme: Theme, sizes: Sizes) -> Spec:
    """Return a dashed outline in the cells of unknown weights."""
    side = max(sizes.step - sizes.gap - 2, 2)
    places = [{"t": row, "s": column} for row in panel.unknown for column in range(len(panel.columns))]
    dashed = {"fill": None, "stroke": theme.muted, "strokeWidth": 0.6, "strokeDash": [2, 2]}
    return layer_of(places, {"type": "rect", "width": {"band": side / sizes.step}, "height": side, **dashed}, x=X, y=Y)


def _score_layers(panel: Panel, theme: Theme, sizes: Sizes) -> list[Spec]:
    """Return the probability and rank of every row's token, to the right of the cells."""
    left = sizes.step * len(panel.columns) + 10
    chances = [math.exp(min(logprob, 0.0)) for logprob, _ in panel.scores]
    bars = [{"t": row, "p": round(p, 4), "x2": left + BAR * round(p, 4)} for row, p in enumerate(chances)]
    values = [
        {"t": row, "n": f"{percent(p)}  #{rank}"}
        for row, (p, (_, rank)) in enumerate(zip(chances, panel.scores, strict=True))
    ]
    bar = {"type": "rect", "fill": theme.bar, "height": {"band": 0.55}}
    text = {"type": "text", "align": "left", "fontSize": min(11, sizes.font)}
    end = {"field": "x2", "type": "quantitative", "scale": None}
    return [
        layer_of(bars, bar, y=Y, x={"value": left}, x2=end),
        layer_of(values, text, y=Y, x={"value": left + BAR + 6}, text=NUMBER),
    ]


def percent(chance: float) -> str:
    """Return a probability in percent for readers: a whole number, below 1 % one significant digit."""
    if chance >= 0.01:
        return f"{chance:.0%}"
    if chance < LEAST_CHANCE * 0.95:  # it would be rounded to a smaller value
        return f"<{LEAST_CHANCE * 100:.3f}%"
    return f"{Decimal(f'{chance * 100:.1g}'):f}%"
