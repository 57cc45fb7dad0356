"""The layers of a specification, and the head view: source tokens on the left, target tokens on the right, lines."""

import math
from typing import Any

from service.figures.panels import Figure, Panel
from service.figures.theme import Theme

SEEN = 0.02  # smaller weights have no visible line
WIDTH = 190
STEPS = ((20, 24, 13), (40, 19, 12), (1000, 15, 10))
Spec = dict[str, Any]


def layer_of(values: list[Spec], mark: Spec, **encoding: Any) -> Spec:
    """Return one layer: its records, how each is drawn, and what says where and in which colour."""
    return {"data": {"values": values}, "mark": {**mark, "aria": False}, "encoding": encoding}


def cells(panel: Panel, **more: object) -> list[Spec]:
    """Return the known weights of a panel as records; t counts rows, s columns, w is the weight."""
    return [
        {"t": row, "s": column, "w": weight, **more}
        for row, weights in enumerate(panel.weights.tolist())
        for column, weight in enumerate(weights)
        if not math.isnan(weight)
    ]


def line_layers(figure: Figure, theme: Theme, top: float) -> Spec:
    """Return the body of a head view: two columns of tokens, and a line for every visible weight."""
    panel = figure.panels[0]
    tokens = max(len(panel.rows), len(panel.columns))
    step, font = next((step, font) for limit, step, font in STEPS if tokens <= limit)
    # The shorter side is centred.
    lower = (tokens - len(panel.rows)) / 2
    left = (tokens - len(panel.columns)) / 2
    scale = {"domain": [-0.75, tokens - 0.25], "reverse": True, "nice": False, "zero": False}
    place = {"field": "y", "type": "quantitative", "scale": scale, "axis": None}
    text = {"type": "text", "fontSize": font, "baseline": "middle", "limit": 0}
    title = {**text, "fontSize": 11, "color": theme.muted, "dy": -8}

    def texts(values: list[Spec], mark: Spec, align: str) -> Spec:
        x = -12 if align == "right" else WIDTH + 12
        label = {"field": "label", "type": "nominal"}
        return layer_of(values, {**mark, "align": align}, x={"value": x}, y=place, text=label)

    strength = {"field": "w", "type": "quantitative", "legend": None}
    lines = layer_of(
        [{**cell, "y": cell["s"] + left, "y2": cell["t"] + lower} for cell in cells(panel) if cell["w"] >= SEEN],
        {"type": "rule", "stroke": theme.line, "strokeCap": "round"},
        x={"value": 0},
        x2={"value": WIDTH},
        y=place,
        y2={"field": "y2"},
        strokeOpacity={**strength, "scale": {"domain": [0, top], "range": [0.04, 1]}},
        strokeWidth={**strength, "scale": {"domain": [0, top], "range": [0.6, 4.5]}},
    )
    layers = [
        lines,
        texts([{"s": at, "y": at + left, "label": label} for at, label in enumerate(panel.columns)], text, "right"),
        texts([{"t": at, "y": at + lower, "label": label} for at, label in enumerate(panel.rows)], text, "left"),
        texts([{"y": -0.75, "label": panel.column_title}], title, "right"),
        texts([{"y": -0.75, "label": panel.row_title}], title, "left"),
    ]
    return {"width": WIDTH, "height": step * (tokens + 1), "layer": layers}
