"""`python -m benchmarks.figures [MODELS_DIR]`: the time of figures, and their effect on the latency of translations.

The program starts the real server and requests a first figure, then SVG, PNG and JSON (the attention alone) in turns
for each number of tokens, and then translations.
Blocks of translations alone alternate with blocks during which figures are rendered, so that other load affects both.
It also prints the processor time of the renderer process, which is more reliable than wall time on a busy
machine. It takes about two minutes on an idle machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx

from benchmarks.load.arrivals import percentile
from benchmarks.load.servers import serving

FIGURES, ROUNDS, TRANSLATIONS = 40, 20, 100  # 2,000 translations of each kind: the p99 of fewer is too noisy


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that ``work`` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class Bench:
    """A server and the requests sent to it."""

    def __init__(self, url: str, pair: dict[str, str], tokens: int) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.url, self.pair, self.tokens = url, pair, tokens
        self.text = self.of_length("text", {})
        self.target = self.of_length("target_text", {"text": self.text})

    def attention(self, **fields: str) -> httpx.Response:
        """Request attention."""
        answer = self.client.get("/attention", params={"text": self.text, **self.pair, **fields})
        answer.raise_for_status()
        return answer

    def of_length(self, name: str, fields: dict[str, str]) -> str:
        """Return a text with the wanted number of tokens, including the end token."""
        for words in range(1, self.tokens + 1):
            text = " ".join(["I", "lost", "a", "dog"][at % 4] for at in range(words))
            fields = {"text": text, **self.pair, **fields, name: text}
            body = self.client.get("/attention", params=fields).json()
            side = body["source" if name == "text" else "target"]
            if len(side["tokens"]) >= self.tokens:
                return text
        raise AssertionError("no text of that length")

    def figure(self, form: str, number: int) -> None:
        """Request one figure, different each time."""
        self.attention(format=form, target_text=self.target, layer=str(abs(number) % 2), head="mean")

    def translations(self) -> list[float]:
        """Return the times of short translations, one after the other."""
        body = {"q": "I lost my dog.", **self.pair}
        return [
            timed(lambda: self.client.post("/translate", json=body).raise_for_status()) for _ in range(TRANSLATIONS)
        ]

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Request figures from another client, SVG and PNG alternately."""
        # In a separate process: a thread would compete with the measuring thread.
        stop = multiprocessing.get_context("spawn").Event()
        drawer = multiprocessing.get_context("spawn").Process(
            target=draw, args=(self.url, self.pair, self.tokens, stop)
        )
        drawer.start()
        stop.wait(1.0)  # until it has started
        try:
            yield
        finally:
            stop.set()
            drawer.join()


def draw(url: str, pair: dict[str, str], tokens: int, stop: Event) -> None:
    """Request figures until ``stop`` is set."""
    bench, number = Bench(url, pair, tokens), 0
    while not stop.is_set():
        bench.figure(("svg", "png")[number % 2], number)
        number += 1


def drawing_seconds(server: int) -> float:
    """Return the processor time of the renderer process so far, in seconds."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = status.read_text().rpartition(") ")
        except OSError:
            continue
        fields = rest.split()
        if fields[1] == str(server) and b"service.figures.renderer_process" in (status.parent / "cmdline").read_bytes():
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def measure(bench: Bench, server: int) -> dict[str, float]:
    """Return the times of figures of one size."""
    found = {}
    times: dict[str, list[float]] = {"json": [], "svg": [], "png": []}
    spent = dict.fromkeys(times, 0.0)
    for number in range(-4, FIGURES):
        for form, of_form in times.items():
            before = drawing_seconds(server)
            took = timed(lambda form=form, number=number: bench.figure(form, number))  # type: ignore[misc]
            if number >= 0:  # the first ones warm up
                of_form.append(took)
                spent[form] += drawing_seconds(server) - before
    for form, of_form in times.items():
        found[f"{bench.tokens} tokens, {form} median, ms"] = 1000 * statistics.median(of_form)
        if spent[form]:
            found[f"{bench.tokens} tokens, {form} processor, ms"] = 1000 * spent[form] / FIGURES
    return found


def contrast(bench: Bench) -> dict[str, float]:
    """Compare translations alone with translations while figures are rendered."""
    bench.translations()
    alone, during = list[float](), list[float]()
    for _ in range(ROUNDS):
        alone += bench.translations()
        with bench.drawing():
            during += bench.translations()
    return {
        "/translate p99 alone, ms": 1000 * percentile(alone, 0.99),
        "/translate p99 while drawing, ms": 1000 * percentile(during, 0.99),
        "growth of p99, %": 100 * (percentile(during, 0.99) / percentile(alone, 0.99) - 1),
        "growth of the median, %": 100 * (statistics.median(during) / statistics.median(alone) - 1),
    }


def main() -> None:
    """Measure and print."""
    options = _options()
    bundles = [manifest.parent for manifest in sorted(options.models_dir.glob("*/manifest.json"))]
    if not bundles:
        sys.exit(f"{options.models_dir}: there is no model bundle in it, which is a folder with a manifest.json")
    with serving("translucent", bundles) as server:
        url = f"http://127.0.0.1:{server.port}"
        models = httpx.get(f"{url}/models").json()["models"]
        model = next((each for each in models if each["architecture"] == "transformer"), None)
        if model is None:  # only a Transformer has layers to choose from
            sys.exit(f"{options.models_dir}: none of its models is a Transformer")
        pair = {key: model[key] for key in ("source", "target")} | {"model": model["name"]}
        benches = [Bench(url, pair, tokens) for tokens in options.tokens]
        found = {"load": os.getloadavg()[0], "first figure, s": timed(lambda: benches[0].figure("svg", 0))}
        for bench in benches:
            found |= measure(bench, server.pid)
        if not options.figures_only:
            found |= contrast(benches[0])
        for name, value in found.items():
            print(f"{name:36} {value:8.2f}")  # noqa: T201


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.figures", description=__doc__, formatter_class=_Formatter)
    parser.add_argument("models_dir", nargs="?", type=Path, default=Path("models"), help="folder of the model bundles")
    parser.add_argument("--tokens", type=int, nargs="+", default=[20, 40], help="tokens on each side of a figure")
    parser.add_argument("--figures-only", action="store_true", help="leave out the translations beside figures")
    return parser.parse_args()


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description, and shows the defaults of options."""


if __name__ == "__main__":
    main()
