"""`python -m benchmarks.load.footprint`: memory and start of the service, by the number of engine processes.

Memory is that of all processes, with shared memory counted once. The processor time of the start is hardly disturbed by
other work on the machine; the seconds until the server is ready are.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.arrivals import percentile
from benchmarks.load.client import Client, send
from benchmarks.load.processor_time import process_times
from benchmarks.load.servers import serving
from benchmarks.machine import heading
from benchmarks.tables import markdown


def main() -> None:
    """Print one row for each number of engine processes."""
    options = _options()
    texts = load_corpus("tatoeba", "en-fr", 400).sources
    rows = [row(options.bundles, processes, texts, options) for processes in options.processes]
    print(heading())  # noqa: T201
    head = ("engine processes", "ready, s", "processor time until then, s", "MB then", f"MB after {options.requests}")
    print(markdown(head, rows))  # noqa: T201


def row(bundles: Sequence[Path], processes: int, texts: Sequence[str], options: argparse.Namespace) -> list[object]:
    """Return the medians of several starts."""
    found = [start(bundles, processes, texts, options) for _ in range(options.rounds)]
    medians = [percentile(column, 0.5) for column in zip(*found, strict=True)]
    return [processes, *(f"{value:.{digits}f}" for value, digits in zip(medians, (2, 2, 0, 0), strict=True))]


def start(bundles: Sequence[Path], processes: int, texts: Sequence[str], options: argparse.Namespace) -> list[float]:
    """Return the seconds to ready, the processor time of that, and the megabytes before and after requests."""
    with serving("translucent", list(bundles), TRANSLUCENT_ENGINE_PROCESSES=str(processes)) as server:
        spent, idle = sum(process_times(server.pid).values()), server.megabytes()
        client = Client("127.0.0.1", server.port)
        fields: dict[str, object] = {"source": "en", "target": "fr", "beam_size": options.beam}
        moments = [number / options.rate for number in range(options.requests)]
        answers = asyncio.run(send(client, texts, moments, fields, seconds=60))
        assert all(answer.good for answer in answers), "a request was not answered"
        return [server.seconds_to_ready, spent, idle, server.megabytes()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path, default=[ROOT / "models" / "transformer-en-fr"])
    parser.add_argument("--processes", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--requests", type=int, default=480)
    parser.add_argument("--rate", type=float, default=80.0, help="requests a second")
    parser.add_argument("--rounds", type=int, default=1, help="starts of each")
    parser.add_argument("--beam", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
