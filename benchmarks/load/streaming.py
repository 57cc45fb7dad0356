"""`python -m benchmarks.load.streaming`: first token and cost per token of streams, by length.

A stream is alone on the server. The processor time is that of all processes; it is hardly disturbed by other work on
the machine.
"""

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.__main__ import long_text
from benchmarks.load.arrivals import percentile
from benchmarks.load.processor_time import process_times
from benchmarks.load.servers import Server, serving
from benchmarks.machine import heading
from benchmarks.tables import markdown

WORDS = (5, 10, 20, 40, 60)
_SCORINGS = re.compile(rb'^translucent_stage_seconds_count\{.*stage="score".*\} (\S+)$', re.MULTILINE)


class Stream(NamedTuple):
    """One stream: when its tokens came, in seconds since the request, and what it cost."""

    moments: tuple[float, ...]
    seconds: float
    processor_seconds: float


def main() -> None:
    """Stream texts of several lengths and print one row for each."""
    options = _options()
    texts = load_corpus("tatoeba", "en-fr", 400).sources
    with serving("translucent", [options.bundle]) as server, _client(server) as client:
        stream(client, server, long_text(texts, 10))  # the first stream warms up
        rows = [
            row(words, *measure(client, server, [long_text(texts[7 * at :], words) for at in range(options.rounds)]))
            for words in WORDS
        ]
    print(heading())  # noqa: T201
    head = ("words", "tokens", "first token ms", "ms a token after it", "p99", "processor ms a token", "scoring runs")
    print(markdown(head, rows))  # noqa: T201


def measure(client: httpx.Client, server: Server, texts: Sequence[str]) -> tuple[list[Stream], float]:
    """Return the streams of texts, and the number of scoring runs a stream."""
    before = scorings(client)
    streams = [stream(client, server, text) for text in texts]
    return streams, (scorings(client) - before) / len(texts)


def stream(client: httpx.Client, server: Server, text: str) -> Stream:
    """Stream one text."""
    fields = {"q": text, "source": "en", "target": "fr"}
    spent, begun = process_times(server.pid), time.perf_counter()
    moments: list[float] = []
    with client.stream("POST", "/translate/stream", json=fields) as answer:
        answer.raise_for_status()
        moments.extend(time.perf_counter() - begun for line in answer.iter_lines() if line == "event: token")
    seconds = time.perf_counter() - begun
    after = process_times(server.pid)
    return Stream(tuple(moments), seconds, sum(after.values()) - sum(spent.values()))


def row(words: int, streams: Sequence[Stream], scored: float) -> list[object]:
    """Return the row of one length: medians over the streams."""
    gaps = [later - earlier for each in streams for earlier, later in zip(each.moments, each.moments[1:], strict=False)]
    tokens = [float(len(each.moments)) for each in streams]
    spent = [each.processor_seconds / len(each.moments) for each in streams]
    after = [(each.moments[-1] - each.moments[0]) / max(len(each.moments) - 1, 1) for each in streams]
    return [
        *(
            words,
            f"{percentile(tokens, 0.5):.0f}",
            f"{1000 * percentile([each.moments[0] for each in streams], 0.5):.1f}",
        ),
        *(f"{1000 * percentile(after, 0.5):.2f}", f"{1000 * percentile(gaps, 0.99):.2f}"),
        *(f"{1000 * percentile(spent, 0.5):.2f}", f"{scored:.1f}"),
    ]


def scorings(client: httpx.Client) -> float:
    """Return how many scoring runs the server has made."""
    return sum(float(count) for count in _SCORINGS.findall(client.get("/metrics").content))


def _client(server: Server) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=ROOT / "models" / "transformer-en-fr")
    parser.add_argument("--rounds", type=int, default=12, help="texts of each length")
    return parser.parse_args()


if __name__ == "__main__":
    main()
