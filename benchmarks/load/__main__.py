"""`python -m benchmarks.load`: rates, lengths, mixed load; writes runs/bench/load.json and a table of the docs."""

import argparse
import asyncio
import contextlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.arrivals import fine_rates, percentile, poisson, should_raise_rate, verdict
from benchmarks.load.client import Client, RequestResult, send
from benchmarks.load.processor_time import MOST, Usage
from benchmarks.load.servers import RunningServer, serving
from benchmarks.machine import heading
from benchmarks.tables import markdown, put

Row = dict[str, Any]
LIMIT_SECONDS = 0.25
"""The limit for the 99th percentile of latency."""

SHORT = "Good morning."
SERVERS = ("translucent", "ctranslate2 x1", "ctranslate2 x2")
RECENT = 200
"""Texts; a repeated one is among so many that came before it."""
DISTURBED = 3
"""Tries of one measurement at most, if other programs disturb it."""
STREAM_SECONDS = 20.0
SHORT_RATE, LONG_RATE = 16.0, 0.8
"""Requests a second of a mixed stream: short sentences, and texts of 60 words among them."""


@dataclass(slots=True)
class ServiceUnderTest:
    """A service, its client, and the requests for it."""

    server: RunningServer
    client: Client
    texts: Sequence[str]
    fields: dict[str, object]
    roots: Sequence[int]
    """The processes of all services; what others use of the processor is noise."""
    goes_on: bool = False
    """Whether each measurement continues in the texts where the last one ended, instead of at the first text."""
    sent: int = 0

    async def at(self, rate: float, kind: str, seconds: float, seed: int) -> Row:
        """Send real sentences at this rate, again if other programs used much of the processor meanwhile."""
        for _ in range(DISTURBED):
            row = await self._once(rate, kind, seconds, seed)
            if row["other_work"] <= MOST:
                break
        return row

    async def _once(self, rate: float, kind: str, seconds: float, seed: int) -> Row:
        moments = list(poisson(rate, seconds, seed))
        texts = [self.texts[(self.sent + number) % len(self.texts)] for number in range(len(moments))]
        self.sent += len(moments) if self.goes_on else 0
        before = Usage.of(self.roots)
        answers = await send(self.client, texts, moments, self.fields)
        after = Usage.of(self.roots)
        own = after.processes[self.server.pid] - before.processes[self.server.pid]
        row = summary(self.server, kind, rate, answers) | {
            "processor_ms": round(1000 * own / max(len(answers), 1), 2),
            "other_work": round(after.others_since(before), 3),
        }
        print(row, flush=True)  # noqa: T201
        return row

    async def apart(self, texts: Sequence[str], moments: Sequence[float], kinds: tuple[str, str]) -> list[Row]:
        """Send texts at these moments; one row for the long ones and one for the short ones."""
        answers = await send(self.client, texts, moments, self.fields, seconds=60)
        long, short = ([each for each in answers if (each.text == SHORT) is short] for short in (False, True))
        return [summary(self.server, kinds[0], 0, long), summary(self.server, kinds[1], 0, short)]


def main() -> None:
    """Measure the services alternately in one run on the same cores; the others are idle meanwhile."""
    options = _options()
    corpus = load_corpus("tatoeba", options.pair, 400 if not options.repeats else 12_000)
    texts = with_repeats(corpus.sources, options.repeats) if options.repeats else corpus.sources
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(serving(name, options.bundles, options.device)) for name in options.services]
        rows = asyncio.run(_measure(servers, texts, options))
    text = f"{table(rows)}\n\n{curve(rows)}"
    if options.publish:
        put(options.section, f"{heading()}{options.note}\n\n{text}")
    print(text)  # noqa: T201


async def _measure(servers: Sequence[RunningServer], texts: Sequence[str], options: argparse.Namespace) -> list[Row]:
    fields: dict[str, object] = {"source": "en", "target": options.pair[-2:], "beam_size": options.beam}
    roots = [server.pid for server in servers]
    services = [
        ServiceUnderTest(server, Client("127.0.0.1", server.port), texts, fields, roots, goes_on=options.repeats > 0)
        for server in servers
    ]
    rows = ResultRows(options.output)
    for service in services:
        await send(service.client, texts[:20], [0.1 * number for number in range(20)], fields)
    await _search(services, rows, options)
    if not options.quick:
        for measure in (_mixed, _stream, _lengths):
            for service in services:
                rows.add(await measure(service))
    for service in services:
        await service.client.close()
    return rows


class ResultRows(list[Row]):
    """The measurements so far, which are also in a file, so that none is lost if the next one is interrupted."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def add(self, rows: Sequence[Row]) -> None:
        """Add measurements and write the file."""
        self += rows
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self, indent=1) + "\n", encoding="utf-8")


async def _search(services: Sequence[ServiceUnderTest], rows: ResultRows, options: argparse.Namespace) -> None:
    """Find the highest rate that each service sustains; all try the same rates alternately, then each its own."""
    held_rates: dict[str, list[bool]] = {service.server.name: [] for service in services}
    rates: list[float] = []
    while climbing := [service for service in services if should_raise_rate(held_rates[service.server.name])]:
        rates.append(options.first_rate * options.step ** len(rates))
        tries = await _try_rate(climbing, rates[-1], options.seconds)
        rows.add(tries)
        for name in {row["server"] for row in tries}:
            held_rates[name].append(_held([row for row in tries if row["server"] == name]))
    for service in services:
        held = [rate for rate, good in zip(rates, held_rates[service.server.name], strict=False) if good]
        highest = max(held, default=0.0)
        for rate in fine_rates(highest, options.step):
            tries = await _try_rate([service], rate, options.seconds)
            rows.add(tries)
            if not _held(tries):
                break
            highest = rate
        half = await service.at(max(highest, 1.0) / 2, "half", options.seconds, 99)
        rows.add([half, {**half, "kind": "highest", "rate": round(highest, 1)}])


async def _try_rate(services: Sequence[ServiceUnderTest], rate: float, seconds: float) -> list[Row]:
    """Send the same requests at the same moments to each service in turn, until it is clear which sustain the rate."""
    tries: dict[str, list[Row]] = {service.server.name: [] for service in services}
    for number in range(3):
        for service in services:
            own = tries[service.server.name]
            if verdict([holds(row) for row in own]) is None:
                own.append(await service.at(rate, "search", seconds, number))
                await asyncio.sleep(0.0 if holds(own[-1]) else 1.0)
    return [row for own in tries.values() for row in own]


def holds(row: Row) -> bool:
    """Return whether the 99th percentile is within the limit and no request failed."""
    return bool(row["p99_ms"] <= 1000 * LIMIT_SECONDS and row["errors"] == 0)


def _held(tries: Sequence[Row]) -> bool:
    """Return whether a service sustained a rate, by the majority of its tries."""
    return bool(verdict([holds(row) for row in tries]))


async def _mixed(service: ServiceUnderTest) -> list[Row]:
    """Send 32 long sentences at once, each on a connection of its own, and short ones soon after.

    The first short one arrives while the long ones are still being read and tokenised.
    """
    moments = [0.0] * 32 + [0.05 * (number + 1) for number in range(8)]
    long = [long_text(service.texts[5 * number :], 60) for number in range(32)]
    return await service.apart([*long, *[SHORT] * 8], moments, ("32 long", "short beside 32 long"))


async def _stream(service: ServiceUnderTest) -> list[Row]:
    """Send many short sentences and occasionally a long text."""
    long = long_text(service.texts, 60)
    due = [(moment, SHORT) for moment in poisson(SHORT_RATE, STREAM_SECONDS, 1)]
    due = sorted(due + [(moment, long) for moment in poisson(LONG_RATE, STREAM_SECONDS, 2)])
    return await service.apart(
        [text for _, text in due], [moment for moment, _ in due], ("long of a mixed stream", "short of a mixed stream")
    )


async def _lengths(service: ServiceUnderTest) -> list[Row]:
    """Measure single sentences by length in words."""
    rows = []
    for words in (5, 10, 20, 50, 100):
        text = long_text(service.texts, words)
        answers: list[RequestResult] = []
        for _ in range(5):
            answers += await send(service.client, [text], [0.0], service.fields, seconds=60)
        rows.append(summary(service.server, f"alone, {words} words", 0, answers))
    return rows


def long_text(texts: Sequence[str], words: int) -> str:
    """Return ``words`` words of real text, without the punctuation at which it would be segmented."""
    plain = (word.strip('.!?…"') for text in texts for word in text.split())
    return " ".join(word for word, _ in zip((w for w in plain if w), range(words), strict=False)) + "."


def with_repeats(texts: Sequence[str], share: float) -> list[str]:
    """Return the texts in their order, with so large a share of repeated ones among them."""
    chance = random.Random(1)
    found: list[str] = []
    for text in texts:
        while found and chance.random() < share:
            found.append(chance.choice(found[-RECENT:]))
        found.append(text)
    return found


def summary(server: RunningServer, kind: str, rate: float, answers: Sequence[RequestResult]) -> Row:
    """Return one row of `load.json`."""
    good = [answer.seconds for answer in answers if answer.good]
    return {
        "server": server.name,
        "kind": kind,
        "rate": round(rate, 1),
        "requests": len(answers),
        "p50_ms": round(1000 * percentile(good, 0.5), 1),
        "p99_ms": round(1000 * percentile(good, 0.99), 1),
        "errors": len(answers) - len(good),
        "megabytes": round(server.megabytes()),
        "seconds_to_ready": round(server.seconds_to_ready, 2),
    }


def table(rows: Iterable[Row]) -> str:
    """Return a table of all measurements except the search for the highest rate."""
    head = ("service", "what", "requests/s", "p50 ms", "p99 ms", "errors", "MB", "start, s")
    keys = ("server", "kind", "rate", "p50_ms", "p99_ms", "errors", "megabytes", "seconds_to_ready")
    lines = []
    for row in rows:
        if row["kind"] == "highest":
            lines.append([row["server"], "highest rate with p99 ≤ 250 ms", row["rate"], *["–"] * 5])
        elif row["kind"] != "search":
            lines.append([row[key] for key in keys])
    return markdown(head, lines)


def curve(rows: Iterable[Row]) -> str:
    """Return a table by rate, with a column for each service: medians of the tries."""
    tried = [row for row in rows if row["kind"] == "search"]
    servers = list(dict.fromkeys(row["server"] for row in tried))

    def cell(rate: float, server: str) -> str:
        found = [row for row in tried if row["rate"] == rate and row["server"] == server]
        medians = [percentile([row[key] for row in found], 0.5) for key in ("p99_ms", "processor_ms")]
        return f"{medians[0]:.0f} ({medians[1]:.1f})" if found else "–"

    lines = [[rate, *(cell(rate, server) for server in servers)] for rate in sorted({row["rate"] for row in tried})]
    return markdown(("requests/s: p99 ms (processor ms a request)", *servers), lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path, help="served by ours; the first also by the other")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "load.json")
    parser.add_argument("--pair", default="en-fr")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=8.0, help="at each rate, two or three times")
    parser.add_argument("--first-rate", type=float, default=50.0)
    parser.add_argument("--step", type=float, default=1.12, help="factor from one rate to the next")
    parser.add_argument("--services", nargs="*", default=list(SERVERS), help="also: translucent x2, translucent cached")
    parser.add_argument("--repeats", type=float, default=0.0, help="share of texts that came shortly before")
    parser.add_argument("--quick", action="store_true", help="rates only")
    parser.add_argument("--publish", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument("--section", default="load", help="of docs/benchmarks.md, with --publish")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--note", default="", help="added to the line above the table")
    options = parser.parse_args()
    if not options.bundles:
        options.bundles = [ROOT / "models" / "transformer-en-fr"]
    return options


if __name__ == "__main__":
    main()
