"""Makes the Vega-Lite specification of a figure, which both the browser and the server draw.

Texts of users are only in data and in values of parameters, never in an expression.
"""

import math
from decimal import Decimal
from typing import Any

from service.figures import labels
from service.figures.panels import Figure, Panel, Score
from service.figures.sizes import Sizes
from service.figures.theme import FONT, FONT_RIGHT_TO_LEFT, THEMES, Theme, ThemeName, config
from service.figures.vega_lines import line_layers

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
LEAST_NUMBER = 0.005  # smaller weights would be shown as .00
LEAST_CHANCE = 0.00001  # smaller probabilities are shown as smaller than this
IN_A_ROW = 3  # panels of a figure with several rows of them
BAR = 46  # pixels of a probability of 1
Spec = dict[str, Any]


def specification(figure: Figure, theme_name: ThemeName = "light") -> Spec:
    """Return the specification of a figure; the same figure gives the same specification."""
    theme = THEMES[theme_name]
    top = _ceiling(max((panel.largest for panel in figure.panels if not panel.signed), default=1.0))
    body = {"grid": _grid, "row": _row, "rows": _row, "single": _row, "lines": _lines}[figure.arrangement](
        figure, theme, top
    )
    names = "".join(label for panel in figure.panels for label in (*panel.rows, *panel.columns))
    font = FONT_RIGHT_TO_LEFT if labels.right_to_left("".join(figure.title) + names) else FONT
    return {
        "$schema": SCHEMA,
        "description": f"{' '.join(figure.title)}. {'. '.join(filter(None, figure.notes))}",
        "background": theme.background,
        "padding": 18,
        "title": {
            "text": list(figure.title),
            "subtitle": [note for note in figure.notes if note],
            "fontWeight": "normal" if any(map(labels.pictorial, figure.title)) else 600,
        },
        **body,
        "config": config(theme, font),
    }


def _ceiling(largest: float) -> float:
    """Return the top of the colour scale: the next tenth, so that pictures of similar texts share it."""
    return min(max(math.ceil(largest * 10 - 1e-6) / 10, 0.1), 1.0)


def cells(panel: Panel, **more: object) -> list[dict[str, Any]]:
    """Return the known weights of a panel as records; t counts rows, s columns, w is the weight."""
    return [
        {"t": row, "s": column, "w": weight, **more}
        for row, weights in enumerate(panel.weights.tolist())
        for column, weight in enumerate(weights)
        if not math.isnan(weight)
    ]


def _row(figure: Figure, theme: Theme, top: float) -> Spec:
    """Return the body of panels side by side, in one row or several, each with its own labels."""
    sizes = Sizes.of(figure.panels)
    charts = []
    for number, panel in enumerate(figure.panels):
        legend = number == len(figure.panels) - 1 or figure.panels[number + 1].signed
        layers = _cell_layers(panel, number, theme, top, sizes, legend)
        if panel.unknown:
            layers.append(_unknown(panel, theme, sizes))
        if panel.marked:
            layers.append(_marks(panel, theme))
        if panel.scores:
            layers += _score_layers(panel, theme, sizes)
        chart: Spec = {"width": {"step": sizes.step}, "height": {"step": sizes.step}, "layer": layers}
        if panel.title:
            chart["title"] = {"text": panel.title, "fontSize": 12, "fontWeight": "normal", "offset": 8,
                              "color": theme.ink if not panel.signed else theme.muted}  # fmt: skip
        charts.append(chart)
    parameters = [parameter for number, panel in enumerate(figure.panels) for parameter in _parameters(panel, number)]
    if len(charts) == 1:
        return {"params": parameters, **charts[0]}
    several = {"concat": charts, "columns": IN_A_ROW} if figure.arrangement == "rows" else {"hconcat": charts}
    return {"params": parameters, **several, "resolve": {"scale": {"color": "independent"}}}


def _grid(figure: Figure, theme: Theme, top: float) -> Spec:
    """Return small multiples that share rows and columns: layers below each other, heads side by side."""
    sizes = Sizes.of(figure.panels, small=True)
    first = figure.panels[0]
    values = [record for panel in figure.panels for record in cells(panel, layer=panel.layer, head=panel.head)]
    facet: Spec = {}
    if first.layer and first.head:
        facet = {"row": {"field": "layer", "type": "nominal", "sort": None},
                 "column": {"field": "head", "type": "nominal", "sort": None}}  # fmt: skip
    else:
        facet = {"field": "layer" if first.layer else "head", "type": "nominal", "sort": None}
    layer = _cell_layer(first, 0, theme, top, sizes, legend=True)
    chart: Spec = {
        "params": _parameters(first, 0),
        "data": {"values": values},
        "transform": layer.pop("transform"),
        "facet": facet,
        "spacing": max(8, sizes.step),
        "spec": {"width": {"step": sizes.step}, "height": {"step": sizes.step}, **layer},
    }
    del chart["spec"]["data"]
    if "field" in facet:
        chart["columns"] = min(4, len(figure.panels))
    return chart


def _lines(figure: Figure, theme: Theme, top: float) -> Spec:
    """Return two columns of tokens with a line for every visible weight."""
    panel = figure.panels[0]
    return line_layers(panel, cells(panel), theme, top)


def _parameters(panel: Panel, number: int) -> list[Spec]:
    return [
        {"name": f"rows{number}", "value": list(panel.rows)},
        {"name": f"columns{number}", "value": list(panel.columns)},
    ]


def _cell_layers(panel: Panel, number: int, theme: Theme, top: float, sizes: Sizes, legend: bool) -> list[Spec]:
    layers = [_cell_layer(panel, number, theme, top, sizes, legend=legend)]
    if sizes.numbers:
        layers.append(_numbers(panel, theme, top))
    return layers


def _cell_layer(panel: Panel, number: int, theme: Theme, top: float, sizes: Sizes, *, legend: bool) -> Spec:
    # Gaps are left out, not painted over, and are whole pixels if possible: both are far quicker to rasterise.
    side = sizes.step - sizes.gap
    return {
        "data": {"values": cells(panel)},
        "transform": [
            {"calculate": f"rows{number}[datum.t]", "as": panel.row_title},
            {"calculate": f"columns{number}[datum.s]", "as": _column_field(panel)},
        ],
        "mark": {"type": "rect", "width": side, "height": side, "aria": False},
        "encoding": {
            "x": {**_place("s", panel.columns), "axis": _x_axis(panel, number, sizes)},
            "y": {**_place("t", panel.rows), "axis": _y_axis(panel, number, sizes)},
            "color": _colour(panel, theme, top, sizes, legend),
            "tooltip": [
                {"field": panel.row_title, "type": "nominal", "title": panel.row_title},
                {"field": _column_field(panel), "type": "nominal", "title": panel.column_title},
                {"field": "w", "type": "quantitative", "format": ".4f", "title": panel.quantity},
            ],
        },
    }  # fmt: skip


def _column_field(panel: Panel) -> str:
    return "attended" if panel.column_title == panel.row_title else panel.column_title.split()[0] + "_read"


def _place(field: str, tokens: tuple[str, ...]) -> Spec:
    return {"field": field, "type": "ordinal", "scale": {"domain": list(range(len(tokens))), "padding": 0}}


def _x_axis(panel: Panel, number: int, sizes: Sizes) -> Spec:
    axis = {
        "title": None if sizes.small else panel.column_title,
        "orient": "top",
        "labelExpr": f"columns{number}[datum.value]",
        "labelFontSize": sizes.font,
        "labelAngle": sizes.angle,
        "titlePadding": 10,
    }
    if sizes.angle:
        axis |= {"labelAlign": "left", "labelBaseline": "middle"}
    return axis


def _y_axis(panel: Panel, number: int, sizes: Sizes) -> Spec:
    return {
        "title": None if sizes.small or number > 0 else panel.row_title,
        "labelExpr": f"rows{number}[datum.value]",
        "labelFontSize": sizes.font,
        "titlePadding": 10,
    }


def _colour(panel: Panel, theme: Theme, top: float, sizes: Sizes, legend: bool) -> Spec:
    bound = _bound(panel) if panel.signed else top
    low, high = (-bound, bound) if panel.signed else (0.0, top)
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


def _bound(panel: Panel) -> float:
    """Return the end of a signed colour scale: the next tenth, or the next whole number above 1."""
    return _ceiling(panel.largest) if panel.largest <= 1 else float(math.ceil(panel.largest))


def _numbers(panel: Panel, theme: Theme, top: float) -> Spec:
    """Return the weights as numbers in the cells, if there is room for them."""
    bound = _bound(panel) if panel.signed else top
    shown = [{**record, "n": _short(record["w"])} for record in cells(panel) if abs(record["w"]) >= LEAST_NUMBER]
    return {
        "data": {"values": shown},
        "mark": {"type": "text", "fontSize": 10, "aria": False},
        "encoding": {
            "x": {"field": "s", "type": "ordinal"},
            "y": {"field": "t", "type": "ordinal"},
            "text": {"field": "n", "type": "nominal"},
            "color": {"condition": {"test": f"abs(datum.w) >= {bound * 0.56:.4f}", "value": theme.ink_on_high},
                      "value": theme.ink},
        },
    }  # fmt: skip


def _short(weight: float) -> str:
    text = f"{abs(weight):.2f}".removeprefix("0")
    return f"−{text}" if weight < 0 else text


def _marks(panel: Panel, theme: Theme) -> Spec:
    """Return an outline around the cells that the alignment links."""
    return {
        "data": {"values": [{"t": row, "s": column} for row, column in panel.marked]},
        "mark": {"type": "rect", "fill": None, "stroke": theme.accent, "strokeWidth": 1.6, "aria": False},
        "encoding": {"x": {"field": "s", "type": "ordinal"}, "y": {"field": "t", "type": "ordinal"}},
    }


def _unknown(panel: Panel, theme: Theme, sizes: Sizes) -> Spec:
    """Return a dashed outline in the cells of unknown weights."""
    side = max(sizes.step - sizes.gap - 2, 2)
    return {
        "data": {"values": [{"t": row, "s": column} for row in panel.unknown for column in range(len(panel.columns))]},
        "mark": {"type": "rect", "width": side, "height": side, "fill": None, "stroke": theme.muted, "strokeWidth": 0.6,
                 "strokeDash": [2, 2], "aria": False},
        "encoding": {"x": {"field": "s", "type": "ordinal"}, "y": {"field": "t", "type": "ordinal"}},
    }  # fmt: skip


def _score_layers(panel: Panel, theme: Theme, sizes: Sizes) -> list[Spec]:
    """Return the probability and rank of every row's token, to the right of the cells."""
    left = sizes.step * len(panel.columns) + 10
    chances = [_probability(score) for score in panel.scores]
    bars = [{"t": row, "p": round(p, 4), "x2": left + BAR * round(p, 4)} for row, p in enumerate(chances)]
    values = [{"t": row, "n": _chance_and_rank(score)} for row, score in enumerate(panel.scores)]
    y: Spec = {"field": "t", "type": "ordinal"}
    return [
        {
            "data": {"values": bars},
            "mark": {"type": "rect", "fill": theme.bar, "height": {"band": 0.55}, "aria": False},
            "encoding": {"y": y, "x": {"value": left}, "x2": {"field": "x2", "type": "quantitative", "scale": None}},
        },
        {
            "data": {"values": values},
            "mark": {"type": "text", "align": "left", "fontSize": min(11, sizes.font), "aria": False},
            "encoding": {"y": y, "x": {"value": left + BAR + 6}, "text": {"field": "n", "type": "nominal"}},
        },
    ]  # fmt: skip


def _probability(score: Score) -> float:
    return math.exp(min(score.logprob, 0.0))


def _chance_and_rank(score: Score) -> str:
    return f"{percent(_probability(score))}  #{score.rank}"


def percent(chance: float) -> str:
    """Return a probability in percent for readers: a whole number, below 1 % one significant digit."""
    if chance >= 0.01:
        return f"{chance:.0%}"
    if chance < LEAST_CHANCE * 0.95:  # it would be rounded to a smaller value
        return f"<{LEAST_CHANCE * 100:.3f}%"
    return f"{Decimal(f'{chance * 100:.1g}'):f}%"
