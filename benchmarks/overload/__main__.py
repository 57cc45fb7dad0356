"""`python -m benchmarks.overload --minutes 5 --factor 5`: writes runs/bench/overload.json and a part of the docs."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.arrivals import percentile, poisson
from benchmarks.load.servers import Server, serving
from benchmarks.machine import heading
from benchmarks.overload.client import Outcome, Pool
from benchmarks.tables import markdown, put
from service.settings import Settings

REFUSAL_SECONDS = 0.05  # limit for the median time of refusals
TOGETHER = 128  # concurrent requests while the capacity is measured: more than a batch holds
DESCRIPTORS = 30_000
SENTENCES = 1000


def main() -> None:
    """Run the benchmark, write and print the result; exit with 1 if a condition does not hold."""
    options = _options()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))
    environment = {} if options.deadline is None else {"TRANSLUCENT_REQUEST_TIMEOUT_SECONDS": str(options.deadline)}
    deadline = Settings(**({} if options.deadline is None else {"request_timeout_seconds": options.deadline}))
    with serving("translucent", options.bundles, **environment) as server:
        result = uvloop.run(_measure(server, options, deadline.request_timeout_seconds))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    text = table(result)
    if options.publish:
        put("overload", f"{heading()}{options.note}\n\n{text}")
    print(json.dumps(result, indent=1))  # noqa: T201
    print(text)  # noqa: T201
    raise SystemExit(0 if all(result["holds"].values()) else 1)


async def _measure(server: Server, options: argparse.Namespace, deadline: float) -> dict[str, Any]:
    sources = load_corpus("tatoeba", options.pair, SENTENCES).sources
    requests = [request_of(text, options) for text in sources]
    capacity = options.capacity or await _capacity(server, requests, options.calibrate)
    print(f"capacity: {capacity:.1f} requests a second", flush=True)  # noqa: T201
    rate, before = options.factor * capacity, server.megabytes()
    pool = Pool(server.port)
    cpu, own, begun = processor_seconds(server), time.process_time(), time.perf_counter()
    most, peak = 0, before
    due = poisson(rate, 60 * options.minutes, options.seed)
    for number, moment in enumerate(due):
        ahead = begun + moment - time.perf_counter()
        if ahead > 0 or number % 32 == 0:
            await asyncio.sleep(max(0.0, ahead))
            most = max(most, pool.open)
        if number % 1000 == 0:
            peak = max(peak, server.megabytes())
        pool.send(requests[number % len(requests)], begun + moment)
    wall = time.perf_counter() - begun
    spent = {name: round(value / wall, 2) for name, value in processor_seconds(server, cpu).items()}
    own = time.process_time() - own
    await pool.close(deadline + 10)
    during = {"server_cores": spent, "client_cores": round(own / wall, 2), "most_open": most}
    memory = {"megabytes": [round(each) for each in (before, max(peak, server.megabytes()))]}
    return {
        "capacity": round(capacity, 1),
        "rate": round(rate, 1),
        "seconds": round(wall, 1),
        "deadline": deadline,
        **summary(pool, deadline),
        **during,
        **memory,
    }


async def _capacity(server: Server, requests: Sequence[bytes], seconds: float) -> float:
    """Return how many requests a second are answered while requests are always waiting."""
    numbers = iter(range(10**9))

    def again(_: Outcome) -> None:
        if time.perf_counter() < end:
            pool.send(requests[next(numbers) % len(requests)], time.perf_counter())

    pool = Pool(server.port, again)
    begun = time.perf_counter()
    end = begun + 1.25 * seconds
    for _ in range(TOGETHER):
        pool.send(requests[next(numbers) % len(requests)], begun)
    await asyncio.sleep(0.25 * seconds)  # the batch fills, memory grows
    first, since = len(pool.tally.outcomes), time.perf_counter()
    await asyncio.sleep(seconds)
    answered, ended = len(pool.tally.outcomes) - first, time.perf_counter()
    await pool.close(60)
    bad = Counter(outcome.status for outcome in pool.tally.outcomes if outcome.status != 200)
    if bad:
        raise RuntimeError(f"the capacity cannot be measured: {bad}")
    return answered / (ended - since)


def request_of(text: str, options: argparse.Namespace) -> bytes:
    """Return the bytes of a request."""
    fields = {"q": text, "source": "en", "target": options.pair[-2:], "beam_size": options.beam}
    body = json.dumps(fields).encode()
    head = f"POST /translate HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def summary(pool: Pool, deadline: float) -> dict[str, Any]:
    """Return the outcomes of all requests, and whether each condition holds."""
    outcomes = pool.tally.outcomes
    served = [each for each in outcomes if each.status in (200, 504)]  # accepted, with any result
    refused = [each for each in outcomes if each.status == 503]
    statuses = Counter(str(each.status) for each in outcomes) + Counter({"none": pool.open})
    times = [each.since_due for each in served]
    refusals = [each.since_due for each in refused]
    return {
        "sent": pool.tally.sent,
        "answers": dict(sorted(statuses.items())),
        "extra_answers": pool.tally.extra,
        "accepted_seconds": _percentiles(times),
        "refused_ms": _percentiles([1000 * each for each in refusals]),
        "refused_ms_since_sent": _percentiles([1000 * each.since_sent for each in refused]),
        "holds": {
            "p99 of accepted within the deadline": percentile(times, 0.99) <= deadline,
            "half of the refusals within 50 ms": not refused or percentile(refusals, 0.5) <= REFUSAL_SECONDS,
            "every refusal says Retry-After": all(each.retry_after for each in refused),
            "nothing but 200, 503 and 504": set(statuses) <= {"200", "503", "504"},
            "exactly one answer each": pool.tally.sent == len(outcomes) and not pool.tally.extra,
        },
    }


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
    return {name: round(percentile(values, share), 3) if values else None for name, share in shares.items()}


def processor_seconds(server: Server, before: dict[str, float] | None = None) -> dict[str, float]:
    """Return the processor time of the server's busiest threads since `before`; the main thread is the event loop."""
    ticks: dict[str, float] = {}
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        fields = (task / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        name = "event loop" if task.name == str(server.pid) else f"thread {task.name}"
        ticks[name] = (int(fields[11]) + int(fields[12])) / 100 - (before or {}).get(name, 0.0)
    if before is None:
        return ticks
    return dict(sorted(ticks.items(), key=lambda item: -item[1])[:3])


def table(result: dict[str, Any]) -> str:
    """Return the table for the documentation."""
    return markdown(("what", "measured"), list(_lines(result)))


def _lines(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    accepted, refused = result["accepted_seconds"], result["refused_ms"]
    yield "capacity, requests/s", f"{result['capacity']}"
    yield "sent, requests/s for how long", f"{result['rate']} for {result['seconds']:.0f} s: {result['sent']} requests"
    yield "answers by status", ", ".join(f"{status}: {count}" for status, count in result["answers"].items())
    yield "accepted: p50 / p99 / longest, s", f"{accepted['p50']} / {accepted['p99']} / {accepted['most']}"
    yield "deadline, s", f"{result['deadline']:g}"
    yield "refused: p50 / p99 / longest, ms", f"{refused['p50']} / {refused['p99']} / {refused['most']}"
    yield "answers without a request", f"{result['extra_answers']}"
    yield "most concurrent requests", f"{result['most_open']}"
    yield "memory before / most, MB", " / ".join(map(str, result["megabytes"]))
    cores = ", ".join(f"{name} {value}" for name, value in result["server_cores"].items())
    yield "cores: server, client", f"{cores}; {result['client_cores']}"
    for promise, held in result["holds"].items():
        yield promise, "yes" if held else "**no**"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--factor", type=float, default=5.0, help="times the capacity")
    parser.add_argument("--capacity", type=float, help="requests a second, instead of measuring it")
    parser.add_argument("--calibrate", type=float, default=20.0, help="seconds for which the capacity is measured")
    parser.add_argument("--deadline", type=float, help="TRANSLUCENT_REQUEST_TIMEOUT_SECONDS, instead of the default")
    parser.add_argument("--pair", default="en-fr")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "overload.json")
    parser.add_argument("--publish", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument("--note", default="", help="added to the line above the table")
    options = parser.parse_args()
    if not options.bundles:
        options.bundles = sorted(path.parent for path in (ROOT / "models").glob("*/manifest.json"))
    return options


if __name__ == "__main__":
    main()
