"""Draw the Grafana dashboard from a running Prometheus: `python docs/tools/dashboard.py URL [PNG] --minutes 5`.

It runs every query of the dashboard, so a panel without data fails the command. Grafana itself is not
needed: matplotlib draws the panels at their places in the grid.
"""

import argparse
import io
import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # so that the checkout is found before anything installed

from docs.tools.screenshots import small  # noqa: E402

DASHBOARD = ROOT / "deploy/grafana/dashboards/translucent.json"
COLUMNS = 24  # of Grafana's grid
ROW_HEIGHT = 0.26  # inches
POINTS = 120
COLOURS = 16  # of the picture: lines and text
RATE_INTERVAL = "20s"  # Grafana takes four scrape intervals or more
UNITS = {"s": " s", "reqps": " /s", "percentunit": " %", "bytes": " MB", "short": ""}
SCALES = {"percentunit": 100.0, "bytes": 1 / 2**20}
MAY_BE_EMPTY = {"Errors by code", "Refused, cancelled and failed"}  # a healthy server has nothing to show there


@dataclass(frozen=True)
class Series:
    """One line of a panel: times in seconds before now, values in the panel's unit."""

    label: str
    times: np.ndarray
    values: np.ndarray


class Source:
    """A Prometheus server, asked for the last `minutes`."""

    def __init__(self, url: str, job: str, minutes: float) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.job = job
        self.now = time.time()
        self.seconds = minutes * 60

    def series(self, target: dict[str, Any]) -> list[Series]:
        """Return what one query of a panel brings; raises if Prometheus refuses it."""
        query = target["expr"].replace("$job", self.job).replace("$model", ".*")
        answer = self.client.get(
            "/api/v1/query_range",
            params={
                "query": query.replace("$__rate_interval", RATE_INTERVAL),
                "start": self.now - self.seconds,
                "end": self.now,
                "step": self.seconds / POINTS,
            },
        )
        answer.raise_for_status()
        found = []
        for result in answer.json()["data"]["result"]:
            times, values = np.array(result["values"], dtype=float).T
            found.append(Series(label(target, result["metric"]), times - self.now, values))
        return found


def label(target: dict[str, Any], metric: dict[str, str]) -> str:
    """Return the legend of a series, as Grafana fills `legendFormat`."""
    pattern = target.get("legendFormat") or ""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda match: metric.get(match[1], ""), pattern) or metric.get("model", "")


def draw_stat(axes: Axes, panel: dict[str, Any], series: list[Series]) -> None:
    """Write the last value of a panel in large digits."""
    unit = panel["fieldConfig"]["defaults"].get("unit", "short")
    value = series[0].values[-1] * SCALES.get(unit, 1)
    axes.text(0.5, 0.4, f"{value:.3g}{UNITS[unit]}", ha="center", va="center", fontsize=16, color="#1a7f4b")
    axes.set_axis_off()


def draw_lines(axes: Axes, panel: dict[str, Any], series: list[Series]) -> None:
    """Draw the lines of a panel over the minutes before now."""
    unit = panel["fieldConfig"]["defaults"].get("unit", "short")
    lines = [line for line in series if np.any(line.values > 0) or np.any(line.values < 0)]  # fewer names to read
    if not lines:
        axes.text(0.5, 0.5, "0", ha="center", va="center", fontsize=7, color="#777777", transform=axes.transAxes)
    for line in lines:
        axes.plot(line.times / 60, line.values * SCALES.get(unit, 1), linewidth=0.9, label=line.label)
    axes.set_ylabel(UNITS[unit].strip(), fontsize=6)
    if any(line.label for line in lines):
        axes.legend(fontsize=5.5, ncols=4, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.1), columnspacing=0.8)


def draw_heatmap(axes: Axes, _panel: dict[str, Any], series: list[Series]) -> None:
    """Draw the histogram of each moment, from buckets that Prometheus counts cumulatively."""
    series = sorted(series, key=lambda line: float(line.label.replace("+Inf", "inf")))
    shortest = min(len(line.values) for line in series)
    counts = np.stack([line.values[-shortest:] for line in series])
    times = series[0].times[-shortest:] / 60
    axes.pcolormesh(times, np.arange(len(series)), np.diff(counts, axis=0, prepend=0), cmap="Blues")
    axes.set_yticks(range(len(series)), [line.label for line in series])


def draw_table(axes: Axes, _panel: dict[str, Any], series: list[Series]) -> None:
    """List the models, one to a line."""
    axes.set_axis_off()
    for place, line in enumerate(sorted(series, key=lambda line: line.label)):
        axes.text(0, 0.88 - 0.16 * place, line.label, fontsize=7, transform=axes.transAxes)


DRAWINGS = {"stat": draw_stat, "timeseries": draw_lines, "heatmap": draw_heatmap, "table": draw_table}


def draw(panels: list[dict[str, Any]], source: Source) -> tuple[bytes, list[str]]:
    """Return the PNG of all panels, and the titles of the panels without data."""
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    figure = plt.figure(figsize=(11, height * ROW_HEIGHT), dpi=90)
    empty = []
    for panel in panels:
        place = panel["gridPos"]
        left, top = place["x"] / COLUMNS, 1 - place["y"] / height
        if panel["type"] == "row":
            figure.text(left + 0.005, top - 0.6 / height, panel["title"], fontsize=9, weight="bold")
            continue
        axes = figure.add_axes(
            (left + 0.035, top - (place["h"] - 2.1) / height, place["w"] / COLUMNS - 0.045, (place["h"] - 3) / height)
        )
        axes.set_title(panel["title"], fontsize=7.5, loc="left")
        axes.tick_params(labelsize=5.5, length=2)
        axes.spines[["top", "right"]].set_visible(False)
        series = [line for target in panel["targets"] for line in source.series(target)]
        if series:
            DRAWINGS[panel["type"]](axes, panel, series)
        else:
            empty.append(panel["title"])
            axes.text(0.5, 0.5, "none", ha="center", va="center", fontsize=7, color="#777777", transform=axes.transAxes)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    plt.close(figure)
    return file.getvalue(), empty


def main() -> None:
    """Write the picture; fail if a panel that must have data has none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prometheus", help="address of Prometheus, for example http://127.0.0.1:9090")
    parser.add_argument("output", type=Path, nargs="?", default=Path("docs/images/dashboard.png"))
    parser.add_argument("--job", default="translucent")
    parser.add_argument("--minutes", type=float, default=5)
    arguments = parser.parse_args()
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    png, empty = draw(panels, Source(arguments.prometheus, arguments.job, arguments.minutes))
    arguments.output.write_bytes(small(png, COLOURS))
    missing = sorted(set(empty) - MAY_BE_EMPTY)
    if missing:
        parser.error(f"no data for {', '.join(missing)}: has the server been scraped, and has it translated?")


if __name__ == "__main__":
    main()
