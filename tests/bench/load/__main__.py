"""`python -m tests.bench.load`: rates, lengths, mixed load; writes runs/bench/load.json and a table of the docs."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.bench.corpora import ROOT, load_corpus
from tests.bench.load.arrivals import next_rate, percentile, poisson
from tests.bench.load.client import Answer, Client, send
from tests.bench.load.servers import Server, serving
from tests.bench.machine import heading
from tests.bench.tables import markdown, put

Row = dict[str, Any]
LIMIT_SECONDS = 0.25
"""What 99 of 100 requests must not exceed."""


def main() -> None:
    """Measure the services in one run, on the same cores, one after the other."""
    options = _options()
    rows: list[Row] = []
    corpus = load_corpus("tatoeba", options.pair, 400)
    for name in ("translucent", "ctranslate2", "ctranslate2 x2"):
        with serving(name, options.bundles) as server:
            rows += asyncio.run(_measure(server, corpus.sources, options))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    text = table(rows)
    if options.publish:
        put("load", f"{heading()}{options.note}\n\n{text}")
    print(text)  # noqa: T201


async def _measure(server: Server, texts: Sequence[str], options: argparse.Namespace) -> list[Row]:
    client = Client("127.0.0.1", server.port)
    fields: dict[str, object] = {"source": "en", "target": options.pair[-2:], "beam_size": options.beam}
    rows: list[Row] = []

    async def at(rate: float, kind: str, seed: int) -> Row:
        answers = await send(client, texts, poisson(rate, options.seconds, seed), fields)
        row = summary(server, kind, rate, answers)
        print(row, flush=True)  # noqa: T201
        return row

    await send(client, texts[:20], [0.1 * number for number in range(20)], fields)
    held, failed = 0.0, None
    for attempt in range(options.attempts):
        rate = next_rate(held, failed, options.first_rate)
        row = await at(rate, "search", attempt)
        rows.append(row)
        if row["p99_ms"] <= 1000 * LIMIT_SECONDS and row["errors"] == 0:
            held = rate
        else:
            failed = rate
            await asyncio.sleep(1.0)
    rows.append(await at(max(held, 1.0) / 2, "half", 99))
    rows.append({**rows[-1], "kind": "highest", "rate": round(held, 1)})
    if not options.quick:
        rows += await _mixed(server, client, texts, fields)
        rows += await _lengths(server, client, texts, fields)
    await client.close()
    return rows


async def _mixed(server: Server, client: Client, texts: Sequence[str], fields: dict[str, object]) -> list[Row]:
    """32 long sentences at once, and a short one that comes while they are being translated."""
    long, short = long_text(texts, 60), "Good morning."
    moments = [0.0] * 32 + [0.15 + 0.05 * number for number in range(6)]
    answers = await send(client, [long] * 32 + [short] * 6, moments, fields, patience=60)
    rows = [summary(server, "32 long", 0, [each for each in answers if each.text == long])]
    return [*rows, summary(server, "short beside 32 long", 0, [each for each in answers if each.text == short])]


async def _lengths(server: Server, client: Client, texts: Sequence[str], fields: dict[str, object]) -> list[Row]:
    """A sentence alone, by its length in words."""
    rows = []
    for words in (5, 10, 20, 50, 100):
        text = long_text(texts, words)
        answers: list[Answer] = []
        for _ in range(5):
            answers += await send(client, [text], [0.0], fields, patience=60)
        rows.append(summary(server, f"alone, {words} words", 0, answers))
    return rows


def long_text(texts: Sequence[str], words: int) -> str:
    """So many words of real text, without the marks at which it would be cut into sentences."""
    plain = (word.strip('.!?…"') for text in texts for word in text.split())
    return " ".join(word for word, _ in zip((w for w in plain if w), range(words), strict=False)) + "."


def summary(server: Server, kind: str, rate: float, answers: Sequence[Answer]) -> Row:
    """One row of `load.json`."""
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
    """Everything but the search for the highest rate."""
    head = ("service", "what", "requests/s", "p50 ms", "p99 ms", "errors", "MB", "start, s")
    keys = ("server", "kind", "rate", "p50_ms", "p99_ms", "errors", "megabytes", "seconds_to_ready")
    lines = []
    for row in rows:
        if row["kind"] == "highest":
            lines.append([row["server"], "highest rate with p99 ≤ 250 ms", row["rate"], *["–"] * 5])
        elif row["kind"] != "search":
            lines.append([row[key] for key in keys])
    return markdown(head, lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path, help="served by ours; the first also by the other")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "load.json")
    parser.add_argument("--pair", default="en-fr")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10.0, help="at each rate")
    parser.add_argument("--attempts", type=int, default=9, help="rates to try")
    parser.add_argument("--first-rate", type=float, default=10.0)
    parser.add_argument("--quick", action="store_true", help="rates only")
    parser.add_argument("--publish", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument("--note", default="", help="added to the line above the table")
    options = parser.parse_args()
    if not options.bundles:
        options.bundles = [ROOT / "models" / "transformer-en-fr"]
    return options


if __name__ == "__main__":
    main()
