"""Pictures and files of attention pooling: its weights as a heatmap, its fit as a curve."""

import csv
import io
import math
from typing import Any

import numpy as np

from service.figures.figure import DIGITS, checked
from service.figures.panels import Figure, Panel
from service.figures.theme import FONT, THEMES, ThemeName
from service.figures.vega_lines import Spec
from service.figures.vega_lite import framed
from service.pooling.model import Pooling

COLUMNS = ("query", "key", "value", "weight", "fit", "truth")


def heatmap(found: Pooling) -> Figure:
    """Return the weights as a figure; rows are queries, columns are keys."""
    panel = Panel(
        title="",
        weights=np.round(found.weights, DIGITS),
        rows=tuple(f"{query:.2f}" for query in found.queries),
        columns=tuple(f"{key:.2f}" for key in found.keys),
        row_title="query",
        column_title="key",
    )
    dashed = "dashed: no key in the window" if panel.unknown else ""
    return checked(Figure(_title(found), (_about(found), dashed), (panel,), "single"))


def fit_curve(found: Pooling, theme_name: ThemeName = "light") -> Spec:
    """Return the Vega-Lite specification of examples, truth and fit."""
    theme = THEMES[theme_name]
    x: Spec = {"field": "x", "type": "quantitative", "title": "x", "scale": {"nice": False}}
    y: Spec = {"field": "y", "type": "quantitative", "title": "y"}
    points = [{"x": round(key, 4), "y": round(value, 4)} for key, value in _pairs(found.keys, found.values)]
    curves = [
        {"x": round(x, 4), "y": None if math.isnan(y) else round(y, 4), "curve": name}
        for name, ys in (("truth", found.truth), ("fit", found.fit))
        for x, y in _pairs(found.queries, ys)
    ]
    colours = {"domain": ["truth", "fit"], "range": [theme.muted, theme.accent]}
    point = {"type": "point", "filled": True, "size": 22, "color": theme.bar, "opacity": 0.8}
    line = {"type": "line", "strokeWidth": 2, "invalid": "break-paths-filter-domains"}
    colour = {"field": "curve", "type": "nominal", "title": None, "scale": colours}
    layers = [
        {"data": {"values": points}, "mark": point, "encoding": {"x": x, "y": y}},
        {"data": {"values": curves}, "mark": line, "encoding": {"x": x, "y": y, "color": colour}},
    ]
    return framed(_title(found), [_about(found)], theme, FONT, {"width": 420, "height": 300, "layer": layers})


def as_csv(found: Pooling) -> bytes:
    """Return one line for each weight in UTF-8; an unknown weight or fit is empty."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row, query in enumerate(found.queries.tolist()):
        for column, (key, value) in enumerate(_pairs(found.keys, found.values)):
            numbers = (query, key, value, found.weights[row, column], found.fit[row], found.truth[row])
            writer.writerow("" if math.isnan(number) else round(float(number), DIGITS) for number in numbers)
    return file.getvalue().encode("ascii")


def as_npz(found: Pooling) -> bytes:
    """Return named arrays that `numpy.load` reads without pickle; unknown weights are NaN."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        allow_pickle=False,
        **{name: getattr(found, name) for name in ("queries", "keys", "values", "truth", "fit", "weights")},
        kernel=np.asarray(found.kernel, np.str_),
        width=np.asarray(found.width),
        digest=np.asarray(found.digest, np.str_),
    )
    return file.getvalue()


def _title(found: Pooling) -> tuple[str, ...]:
    width = "" if found.kernel == "average" else f", width {found.width:.3g}{' (learned)' if found.learned else ''}"
    return (f"Attention pooling: {found.kernel}{width}",)


def _about(found: Pooling) -> str:
    error = "" if found.error is None else f"  ·  mean squared distance from the truth {found.error:.3f}"
    return f"y = 2 sin x + x^0.8 + noise, {len(found.keys)} examples{error}"


def _pairs(first: Any, second: Any) -> list[tuple[float, float]]:
    return list(zip(first.tolist(), second.tolist(), strict=True))
