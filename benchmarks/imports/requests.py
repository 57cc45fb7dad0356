"""Requests a second over HTTP: our server with an import, and a server of CTranslate2 with the same checkpoint."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.load.client import Client
from benchmarks.load.servers import serving

CALLERS = 16
"""Callers of which each sends its next request when it has the answer to the last one."""
SERVERS = ("translucent", "ctranslate2 x1", "ctranslate2 x2")


class Rate(NamedTuple):
    """Requests a second of one server at one beam width: the median over the rounds."""

    server: str
    beam: int
    requests: float
    failed: int


def measure_requests(bundle: Path, texts: Sequence[str], beams: Sequence[int], rounds: int, longest: int) -> list[Rate]:
    """Return the requests a second of each server, which are measured in turns."""
    fields: dict[str, object] = {"source": "en", "target": "fr", "max_length": longest}
    rates: dict[tuple[str, int], list[tuple[float, int]]] = {}
    for _ in range(rounds):
        for name in SERVERS:
            with serving(name, [bundle.resolve()]) as server:
                for beam in beams:
                    client = Client("127.0.0.1", server.port)
                    found = asyncio.run(_closed_loop(client, texts, fields | {"beam_size": beam}))
                    rates.setdefault((name, beam), []).append(found)
    return [
        Rate(name, beam, statistics.median(rate for rate, _ in found), sum(failed for _, failed in found))
        for (name, beam), found in rates.items()
    ]


async def _closed_loop(client: Client, texts: Sequence[str], fields: dict[str, object]) -> tuple[float, int]:
    """Send every text once, from all callers together; return requests a second, and how many were not answered 200."""
    await client.translate(texts[0], fields)  # opens what is opened at the first request
    left, good = iter(texts), 0

    async def caller() -> None:
        nonlocal good
        for text in left:
            answered = await client.translate(text, fields)
            good += answered  # not in one line, which would read the sum before it waits

    begun = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    seconds = time.perf_counter() - begun
    await client.close()
    return len(texts) / seconds, len(texts) - good
