"""How long figures take, and what drawing them does to translations: `python -m tests.bench.figures [MODELS_DIR]`.

Starts the real server, asks for a first figure, then for many of 20 × 20 tokens, and measures /translate with and
without figures being drawn beside it. The seconds of processor time of the drawing process are told too: on a busy
machine they say more than the clock.
"""

from __future__ import annotations

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.system.process import running

FIGURES, TRANSLATIONS, SIDE = 40, 150, 20
TARGETS = {"first": 1.5, "later": 0.080, "growth": 0.5}


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def percentile(values: list[float], share: float) -> float:
    """The value that a share of all values does not exceed."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


class Bench:
    """One server and what is asked of it."""

    def __init__(self, url: str, pair: tuple[str, str]) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.pair = {"source": pair[0], "target": pair[1]}
        self.text = self.of_length("text", {})
        self.target = self.of_length("target_text", {"text": self.text})

    def attention(self, **fields: str) -> httpx.Response:
        """One request for attention."""
        answer = self.client.get("/attention", params={"text": self.text, **self.pair, **fields})
        answer.raise_for_status()
        return answer

    def of_length(self, name: str, fields: dict[str, str]) -> str:
        """A text of SIDE tokens, its end counted."""
        for words in range(1, SIDE + 1):
            text = " ".join(["I", "lost", "a", "dog"][at % 4] for at in range(words))
            fields = {"text": text, **self.pair, **fields, name: text}
            body = self.client.get("/attention", params=fields).json()
            side = body["source" if name == "text" else "target"]
            if len(side["tokens"]) >= SIDE:
                return text
        raise AssertionError("no text of that length")

    def figure(self, form: str, number: int) -> None:
        """One figure, different each time."""
        self.attention(format=form, target_text=self.target, layer=str(number % 2), head="mean")

    def translations(self) -> list[float]:
        """The times of short translations, one after the other."""
        body = {"q": "I lost my dog.", **self.pair}
        return [
            timed(lambda: self.client.post("/translate", json=body).raise_for_status()) for _ in range(TRANSLATIONS)
        ]


def drawing_seconds(server: int) -> float:
    """Processor time of the drawing process so far."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = status.read_text().rpartition(") ")
        except OSError:
            continue
        fields = rest.split()
        if fields[1] == str(server) and b"service.figures.child" in (status.parent / "cmdline").read_bytes():
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def measure(bench: Bench, server: int) -> dict[str, float]:
    """All figures."""
    found = {"first figure, s": timed(lambda: bench.figure("svg", 0))}
    for form in ("svg", "png"):
        bench.figure(form, 0)
        spent = drawing_seconds(server)
        times = [timed(lambda at=at, form=form: bench.figure(form, at)) for at in range(FIGURES)]  # type: ignore[misc]
        found[f"{form} median, ms"] = 1000 * statistics.median(times)
        found[f"{form} processor, ms"] = 1000 * (drawing_seconds(server) - spent) / FIGURES
    bench.translations()
    quiet = bench.translations()
    stop = threading.Event()

    def draw() -> None:
        number = 0
        while not stop.is_set():
            bench.figure("svg", number)
            number += 1

    drawer = threading.Thread(target=draw)
    drawer.start()
    busy = bench.translations()
    stop.set()
    drawer.join()
    found["/translate p99 alone, ms"] = 1000 * percentile(quiet, 0.99)
    found["/translate p99 beside drawing, ms"] = 1000 * percentile(busy, 0.99)
    found["growth of p99, %"] = 100 * (percentile(busy, 0.99) / percentile(quiet, 0.99) - 1)
    found["growth of the median, %"] = 100 * (statistics.median(busy) / statistics.median(quiet) - 1)
    return found


def main(models_dir: str) -> None:
    """Measure and print."""
    with running("-m", "service", "serve", TRANSLUCENT_MODELS_DIR=models_dir) as server:
        server.wait_for("ready")
        model = httpx.get(f"{server.url}/models").json()["models"][0]
        bench = Bench(server.url, (model["source"], model["target"]))
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")  # noqa: T201
        for name, value in measure(bench, server.process.pid).items():
            print(f"{name:36} {value:8.2f}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "models")
