"""`python -m benchmarks.exactness`: mixed requests get the same bytes however the server is configured.

The same requests go to servers with 1 and 3 engine processes, with and without the cache, many at once, so that every
sentence runs in other company each time.
"""

import argparse
import asyncio
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.servers import serving

REPEATED = 0.3  # the share of requests whose text has come before
CONFIGURATIONS = {
    "1 engine process": {"TRANSLUCENT_ENGINE_PROCESSES": "1", "TRANSLUCENT_CACHE_MB": "0"},
    "3 engine processes": {"TRANSLUCENT_ENGINE_PROCESSES": "3", "TRANSLUCENT_CACHE_MB": "0"},
    "1 engine process, cache": {"TRANSLUCENT_ENGINE_PROCESSES": "1", "TRANSLUCENT_CACHE_MB": "64"},
    "3 engine processes, cache": {"TRANSLUCENT_ENGINE_PROCESSES": "3", "TRANSLUCENT_CACHE_MB": "64"},
}
PLAIN: dict[str, Any] = {"source": "en", "target": "fr"}
KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"beam_size": 1},
    {"alternatives": 2},
    {"details": True},
    {"beam_size": 1, "details": True},
    {"format": "html"},
    {"glossary": {"house": "demeure", "time": "heure"}},
    {"max_length": 6},
)


class Request(NamedTuple):
    """A request to one path."""

    path: str
    fields: dict[str, Any]


def mixed_requests(texts: Sequence[str], count: int, **others: Any) -> list[Request]:
    """Return requests of every kind, some of whose texts come again; `others` are fields of every request."""
    chance = random.Random(1)
    plain = {**PLAIN, **others}
    requests: list[Request] = []
    used: list[str] = []
    while len(requests) < count:
        text = chance.choice(used) if used and chance.random() < REPEATED else chance.choice(texts)
        used.append(text)
        kind = chance.randrange(len(KINDS) + 2)
        if kind < len(KINDS):
            fields = {**plain, **KINDS[kind]}
            shown = f"<p>{text} <b>{chance.choice(used)}</b></p>" if "format" in fields else text
            requests.append(Request("/translate", {"q": shown, **fields}))
        elif kind == len(KINDS):
            some = [text, *chance.choices(used, k=2), f"There were {chance.randrange(10_000)} of them. {text}"]
            requests.append(Request("/translate", {"q": some, **plain}))
        else:
            requests.append(Request("/attention", {"text": text, **plain}))
    chance.shuffle(requests)
    return requests


async def answers_of(url: str, requests: Sequence[Request], together: int = 24) -> list[bytes]:
    """Return the body of every answer; so many requests are in flight at a time."""
    free = asyncio.Semaphore(together)

    async def one(client: httpx.AsyncClient, request: Request) -> bytes:
        async with free:
            answer = await client.post(request.path, json=request.fields)
            answer.raise_for_status()
            return answer.content

    limits = httpx.Limits(max_connections=together)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        return await asyncio.gather(*(one(client, request) for request in requests))


def differences(requests: Sequence[Request], one: Sequence[bytes], other: Sequence[bytes]) -> list[str]:
    """Return the paths and fields, without texts, of the requests whose answers differ."""
    return [
        f"{request.path} {sorted(request.fields)}"
        for request, first, second in zip(requests, one, other, strict=True)
        if first != second
    ]


def main() -> None:
    """Compare all configurations with the first one, and print what differs."""
    options = _options()
    requests = mixed_requests(load_corpus("tatoeba", "en-fr", 600).sources, options.count)
    expected: list[bytes] | None = None
    for name, settings in CONFIGURATIONS.items():
        with serving("translucent", [options.bundle], **settings) as server:
            answers = asyncio.run(answers_of(f"http://127.0.0.1:{server.port}", requests))
            counts = _lookups(server.port)
        expected = expected or answers
        unlike = differences(requests, expected, answers)
        print(  # noqa: T201
            f"{name}: {len(answers)} answers, {len(unlike)} differ; {counts}"
        )
        for each in unlike[:10]:
            print("   ", each)  # noqa: T201


def _lookups(port: int) -> str:
    text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    found = re.findall(r'translucent_cache_sentences_total\{.*result="(\w+)"\} (\S+)', text)
    return ", ".join(f"{result} {float(count):.0f}" for result, count in found) or "no cache"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=ROOT / "models" / "transformer-en-fr")
    parser.add_argument("--count", type=int, default=1_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
