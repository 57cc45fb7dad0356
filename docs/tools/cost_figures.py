"""Draws the pictures of docs/sizing.md from measured costs: `python docs/tools/cost_figures.py` writes docs/images/.

What one machine could not show is simulated: requests arrive independently of each other (a Poisson process), those in
flight share the cores equally, and the more there are, the less each costs, because steps are shared.
"""

import heapq
import io
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.tools.small_svg import smaller

IMAGES = Path(__file__).parent.parent / "images"
# Measured on two cores of a Zen 4 with VNNI (docs/benchmarks.md), milliseconds of processor time a request of Tatoeba,
# all processes: alone, and with many in flight.
ALONE, TOGETHER = 5.1, 2.4
CLIENT = 0.13  # the share of the cores that the client of the measurement takes
SERVER_CORES = 2  # one server keeps so many busy; more cores have more replicas
LIMIT_SECONDS = 0.25  # for the 99th percentile
VNNI_MILLISECONDS = 1.1  # of one core at its peak: 0.5 billion operations a request, 448 billion a second
# Measured on 2026-11-26 (Xeon with VNNI, one core, busy): milliseconds of processor time a text, by its words.
LENGTHS = {1: 11.8, 2: 10.5, 5: 18.9, 10: 29.2, 20: 43.4, 50: 72.1, 100: 134, 200: 199, 500: 504, 1000: 884, 2000: 1737}
# Private memory in MB on the same day: both processes without a model, and each shipped model that is open.
SERVER_MB, MODEL_MB, IMPORTED_MB = 160, 25, 360
QUEUE = 8192  # sentences that may wait
Point = tuple[float, float]


class Simulation:
    """A server whose requests share its cores; `finished` has the seconds that each took."""

    def __init__(self, rate: float, cores: int, seconds: float, most: float = float("inf")) -> None:
        """Send `rate` requests a second; one that would be more than `most` in flight is refused."""
        chance = random.Random(1)
        self.finished: list[float] = []
        self.in_flight: list[Point] = []  # (moment, requests)
        running: list[Point] = []  # (shared work at which a request ends, its arrival)
        now = shared = 0.0  # shared: the work that each running request has got
        arrival = chance.expovariate(rate)
        while arrival < seconds:
            speed = self._speed(len(running), cores)
            end = now + (running[0][0] - shared) / speed if running else float("inf")
            step = min(end, arrival)
            shared, now = shared + (step - now) * speed, step
            if end <= arrival:
                self.finished.append(now - heapq.heappop(running)[1])
                continue
            if len(running) < most:
                heapq.heappush(running, (shared + chance.gammavariate(4, 0.25), now))  # 1 on average
            self.in_flight.append((now, len(running)))
            arrival = now + chance.expovariate(rate)

    @staticmethod
    def _speed(running: int, cores: int) -> float:
        """Return the requests a second that each running one gets done."""
        if not running:
            return 1.0
        cost = (TOGETHER + (ALONE - TOGETHER) / running) / 1000
        return min(cores * (1 - CLIENT), running) / cost / running

    def p99(self) -> float:
        """Return the 99th percentile of the times."""
        return sorted(self.finished)[int(0.99 * (len(self.finished) - 1))]


def highest_rate(cores: int) -> float:
    """Return the requests a second that a machine holds within the limit, its cores divided among replicas."""
    replicas = max(1, cores // SERVER_CORES)
    own, rate = cores // replicas, 50.0
    while Simulation(rate * 1.03, own, 20).p99() <= LIMIT_SECONDS:
        rate *= 1.03
    return rate * replicas


def cores_figure() -> Figure:
    """Return requests a second over cores, and the 99th percentile over the rate on two."""
    figure, (left, right) = _figure(2)
    counts = (1, 2, 4, 6, 8)
    left.plot(counts, [highest_rate(count) for count in counts], "o-", label="simulated")
    left.plot([2], [678], "s", label="measured")
    left.plot(counts, [1000 * count / VNNI_MILLISECONDS for count in counts], ":", label="peak of VNNI")
    _label(left, "cores", "requests a second, p99 ≤ 250 ms")
    rates = [50.0 * step for step in range(1, 17)]
    right.plot(rates, [1000 * Simulation(rate, 2, 30).p99() for rate in rates], label="simulated")
    right.plot([678], [83], "s", label="measured")
    right.axhline(250, linestyle=":", label="limit")
    right.set_ylim(0, 400)
    _label(right, "requests a second, two cores", "p99, ms")
    return figure


def length_figure() -> Figure:
    """Return the processor time of a text over its words."""
    figure, [axes] = _figure(1)
    axes.loglog(list(LENGTHS), list(LENGTHS.values()), "o-", label="measured")
    axes.loglog([1, 2000], [LENGTHS[2000] / 2000, LENGTHS[2000]], ":", label="proportional")
    _label(axes, "words", "processor time, ms")
    return figure


def models_figure() -> Figure:
    """Return private memory over open models."""
    figure, [axes] = _figure(1)
    for label, each in (("shipped models", MODEL_MB), ("imported base models (calculated)", IMPORTED_MB)):
        axes.plot([0, 40], [SERVER_MB, SERVER_MB + 40 * each], label=label)
    axes.set_yscale("log")
    _label(axes, "open models", "private memory, MB")
    return figure


def overload_figure() -> Figure:
    """Return the requests in flight while half as many again arrive as can be answered."""
    figure, [axes] = _figure(1)
    for label, most in (("without admission", float("inf")), ("as it is", float(QUEUE))):
        moments = Simulation(1200, 2, 40, most).in_flight[::400]
        axes.plot(*zip(*moments, strict=True), label=f"{label} (simulated)")
    _label(axes, "seconds at 1,200 requests a second", "requests in flight")
    return figure


def _figure(columns: int) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(4.2 * columns, 3), layout="constrained")
    return figure, [figure.add_subplot(1, columns, at + 1) for at in range(columns)]


def _label(axes: Axes, across: str, up: str) -> None:
    axes.set(xlabel=across, ylabel=up)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def pictures() -> Iterator[tuple[str, str]]:
    """Yield the name of each picture and its SVG, which is the same at every call."""
    figures = {"cores": cores_figure, "length": length_figure, "models": models_figure, "overload": overload_figure}
    with mpl.rc_context({"svg.hashsalt": "cost", "svg.fonttype": "none"}):
        for name, draw in figures.items():
            file = io.StringIO()
            draw().savefig(file, format="svg", metadata={"Date": None, "Creator": None})
            yield f"cost-{name}.svg", smaller(file.getvalue(), f"cost{name}") + "\n"


if __name__ == "__main__":
    for filename, svg in pictures():
        (IMAGES / filename).write_text(svg, encoding="utf-8")
