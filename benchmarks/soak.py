"""`python -m benchmarks.soak`: memory of the server after many requests; writes runs/bench/soak.json."""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.client import Client
from benchmarks.load.servers import RunningServer, serving

LIMIT_MEGABYTES, DRIFT = 450, 0.05
TOGETHER = 16
"""Concurrent requests."""


def main() -> None:
    """Warm up with the first requests, then measure; exit with 1 if memory exceeds the limit or is not flat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path)
    parser.add_argument("--first", type=int, default=10_000)
    parser.add_argument("--then", type=int, default=50_000)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "soak.json")
    options = parser.parse_args()
    bundles = options.bundles or sorted(path.parent for path in (ROOT / "models").glob("*/manifest.json"))
    with serving("translucent", bundles) as server:
        result = asyncio.run(_soak(server, options.first, options.then))
    result["seconds_to_ready"] = round(server.seconds_to_ready, 2)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))  # noqa: T201
    raise SystemExit(0 if result["flat"] and result["megabytes"][0] <= LIMIT_MEGABYTES else 1)


async def _soak(server: RunningServer, first: int, then: int) -> dict[str, Any]:
    begun = time.perf_counter()
    client = Client("127.0.0.1", server.port)
    await _send(client, first)
    megabytes = [server.megabytes()]
    for _ in range(10):
        await _send(client, then // 10)
        megabytes.append(server.megabytes())
    await client.close()
    return {
        "requests": first + then,
        "seconds": round(time.perf_counter() - begun),
        "megabytes": [round(value, 1) for value in megabytes],
        "flat": all(abs(value / megabytes[0] - 1) <= DRIFT for value in megabytes),
    }


async def _send(client: Client, count: int) -> None:
    texts = load_corpus("tatoeba", "en-fr", 2000).sources
    numbers = iter(range(count))

    async def one_after_the_other() -> None:
        for number in numbers:
            beam = 1 if number % 4 == 0 else 4
            good = await client.translate(texts[number % 2000], {"source": "en", "target": "fr", "beam_size": beam})
            assert good, "a request was not answered"

    await asyncio.gather(*(one_after_the_other() for _ in range(TOGETHER)))


if __name__ == "__main__":
    main()
