"""The head view: source tokens on the left, target tokens on the right, a line for every visible weight."""

from typing import Any

from service.figures.panels import Panel
from service.figures.theme import Theme

SEEN = 0.02  # smaller weights have no visible line
WIDTH = 190
STEPS = ((20, 24, 13), (40, 19, 12), (1000, 15, 10))


def line_layers(panel: Panel, cells: list[dict[str, Any]], theme: Theme, top: float) -> dict[str, Any]:
    """Return the body of the specification of a head view."""
    tokens = max(len(panel.rows), len(panel.columns))
    step, font = next((step, font) for limit, step, font in STEPS if tokens <= limit)
    # The shorter side is centred.
    lower = (tokens - len(panel.rows)) / 2
    left = (tokens - len(panel.columns)) / 2
    scale = {"domain": [-0.75, tokens - 0.25], "reverse": True, "nice": False, "zero": False}
    place = {"field": "y", "type": "quantitative", "scale": scale, "axis": None}
    lines = [{**cell, "y": cell["s"] + left, "y2": cell["t"] + lower} for cell in cells if cell["w"] >= SEEN]
    sources = [{"s": at, "y": at + left, "label": label} for at, label in enumerate(panel.columns)]
    targets = [{"t": at, "y": at + lower, "label": label} for at, label in enumerate(panel.rows)]
    text = {"type": "text", "fontSize": font, "baseline": "middle", "limit": 0, "aria": False}
    title = {**text, "fontSize": 11, "color": theme.muted, "dy": -8}
    return {
        "width": WIDTH,
        "height": step * (tokens + 1),
        "layer": [
            _lines(lines, theme, place, top),
            _texts(sources, {**text, "align": "right"}, place, -12),
            _texts(targets, {**text, "align": "left"}, place, WIDTH + 12),
            _texts([{"y": -0.75, "label": panel.column_title}], {**title, "align": "right"}, place, -12),
            _texts([{"y": -0.75, "label": panel.row_title}], {**title, "align": "left"}, place, WIDTH + 12),
        ],
    }


def _lines(values: list[dict[str, Any]], theme: Theme, place: dict[str, Any], top: float) -> dict[str, Any]:
    """Return the layer of the lines; a heavier weight has a thicker and darker line."""
    strength = {"field": "w", "type": "quantitative", "legend": None}
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "stroke": theme.line, "strokeCap": "round", "aria": False},
        "encoding": {
            "x": {"value": 0},
            "x2": {"value": WIDTH},
            "y": place,
            "y2": {"field": "y2"},
            "strokeOpacity": {**strength, "scale": {"domain": [0, top], "range": [0.04, 1]}},
            "strokeWidth": {**strength, "scale": {"domain": [0, top], "range": [0.6, 4.5]}},
        },
    }


def _texts(values: list[dict[str, Any]], mark: dict[str, Any], place: dict[str, Any], x: float) -> dict[str, Any]:
    """Return a layer of texts at one horizontal position."""
    return {
        "data": {"values": values},
        "mark": mark,
        "encoding": {"x": {"value": x}, "y": place, "text": {"field": "label", "type": "nominal"}},
    }
