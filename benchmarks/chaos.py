"""`python -m benchmarks.chaos`: 10,000 hostile calls, then a normal one; writes runs/bench/chaos.json.

Fails unless the normal request works, every gauge is back at zero, no answer was a 5xx (except 503 and 504),
and the server's memory is within a tenth of its first reading. Before that reading the server gets its largest possible
load and a fifth of the same calls, because it keeps buffers for its largest batch so far, which is not a leak.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT
from benchmarks.load.servers import Server, serving

GROWTH = 0.10
TOGETHER = 32  # concurrent calls
QUIET_SECONDS = 60.0  # the gauges must be zero within this time
WARM_UP = 0.2  # share of the calls made before the first reading of memory
GAUGES = ("rows_in_use", "queued_sentences", "sentences_in_flight", "http_requests_in_flight")
GOOD = {"q": "I lost my keys.", "source": "en", "target": "fr"}
LONG = "I lost my keys and went home, where he was calm. " * 60
LIMIT = 1_048_576  # bytes of a body

Caller = Callable[["Attacker"], Awaitable[None]]


def request(body: bytes, path: str = "/translate", kind: str = "application/json", length: int | None = None) -> bytes:
    """Return the bytes of a request; `length` is its Content-Length, correct or not."""
    size = len(body) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nHost: chaos\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\r\n"
    return head.encode() + body


def json_request(path: str = "/translate", **fields: object) -> bytes:
    """Return the bytes of a valid request."""
    return request(json.dumps({**GOOD, **fields}).encode(), path)


class Attacker:
    """A client that makes one call and records the status of the answer."""

    def __init__(self, server: Server, chance: random.Random) -> None:
        self.server, self.chance = server, chance
        self.status = "none"  # the client did not wait for an answer, or none came

    async def send(self, *parts: bytes, pause: float = 0.0, wait: float = 30.0) -> None:
        """Send bytes on a connection of its own, with pauses; disconnect after `wait` seconds."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)
            if wait > 0:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n"), wait)
                self.status = head.split(b" ")[1].decode("ascii", "replace") if head.startswith(b"HTTP/") else "garbage"
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a server may close on us
        finally:
            if self.chance.random() < 0.5:
                writer.transport.abort()  # reset the connection instead of closing it
            else:
                writer.close()


async def leave_while_it_runs(a: Attacker) -> None:
    """Send a large request and disconnect."""
    await a.send(json_request(q=[LONG] * a.chance.randint(1, 4)), pause=a.chance.uniform(0, 0.3), wait=0)


async def leave_a_stream(a: Attacker) -> None:
    """Read the beginning of a stream and disconnect."""
    await a.send(json_request("/translate/stream", q=LONG), pause=a.chance.uniform(0, 0.3), wait=0.2)


async def leave_attention(a: Attacker) -> None:
    """Request attention and disconnect."""
    fields = {"text": GOOD["q"], "source": "en", "target": "fr", "layer": "all", "head": "all"}
    await a.send(request(json.dumps(fields).encode(), "/attention"), pause=a.chance.uniform(0, 0.1), wait=0)


async def leave_while_sending(a: Attacker) -> None:
    """Send only a part of the body and disconnect."""
    whole = json_request(q=LONG)
    await a.send(whole[: a.chance.randrange(20, len(whole))], pause=a.chance.uniform(0, 0.05), wait=0)


async def dribble(a: Attacker) -> None:
    """Send a request in small pieces."""
    whole = json_request()
    size = a.chance.randint(5, 40)
    await a.send(*(whole[at : at + size] for at in range(0, len(whole), size)), pause=0.01)


async def half_a_head(a: Attacker) -> None:
    """Begin a request line and wait."""
    await a.send(b"POST /translate HTTP/1.1\r\nHost: chaos\r\nX-Slow:", pause=a.chance.uniform(0, 1.0), wait=0)


async def garbage(a: Attacker) -> None:
    """Send bytes that are not HTTP."""
    await a.send(a.chance.randbytes(a.chance.randint(1, 4000)), wait=0.5)


async def broken_http(a: Attacker) -> None:
    """Send malformed HTTP."""
    kinds = (
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nabcde",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n0\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /attention?text=\xff&source=en&target=fr HTTP/1.1\r\nHost: x\r\n\r\n",
    )
    await a.send(a.chance.choice(kinds), wait=0.5)


async def broken_fields(a: Attacker) -> None:
    """Send malformed JSON, or JSON that is not a valid request."""
    kinds = (
        *(b"{", b"[]", b"null", b'"q"', b"\xff\xfe", b"[" * 9000, b'{"q":' * 2000 + b"1" + b"}" * 2000),
        *(b'{"q":"\\ud800","source":"en","target":"fr"}', b'{"q":5,"source":"en","target":"fr"}'),
        *(b'{"q":"a","source":"zz","target":"fr"}', b'{"q":"a","source":"en","target":"fr","beam_size":999}'),
    )
    await a.send(request(a.chance.choice(kinds), a.chance.choice(("/translate", "/detect", "/translate/stream"))))


async def random_path(a: Attacker) -> None:
    """Request a path that does not exist."""
    await a.send(
        f"GET /{a.chance.getrandbits(64):x} HTTP/1.1\r\nHost: x\r\nX-Request-ID: {a.chance.random()}\r\n\r\n".encode()
    )


async def oversized(a: Attacker) -> None:
    """Send more bytes than are accepted, or only a Content-Length that says so."""
    if a.chance.random() < 0.5:
        await a.send(request(b"", length=a.chance.randint(LIMIT + 1, 2**40)))
    else:
        await a.send(json_request(q="a" * (LIMIT + 1)))


async def too_many_characters(a: Attacker) -> None:
    """Send a body within the limit whose text is too long."""
    await a.send(json_request(q="a " * 60_000))


async def strange_text(a: Attacker) -> None:
    """Send random Unicode characters, also inside markup."""
    text = "".join(
        chr(a.chance.choice((a.chance.randrange(1, 0xD800), a.chance.randrange(0xE000, 0x110000)))) for _ in range(300)
    )
    html = a.chance.random() < 0.5
    await a.send(json_request(q=f"<b>{text}</b>" if html else text, format="html" if html else "text"), wait=10)


async def many_methods(a: Attacker) -> None:
    """Send requests with unsupported or unknown methods."""
    method = a.chance.choice(("PUT", "DELETE", "TRACE", "BREW", f"M{a.chance.getrandbits(32)}"))
    await a.send(f"{method} /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode(), wait=1)


CALLERS: tuple[Caller, ...] = (
    *(leave_while_it_runs, leave_a_stream, leave_attention, leave_while_sending, dribble, half_a_head, garbage),
    *(broken_http, broken_fields, random_path, oversized, too_many_characters, strange_text, many_methods),
)


async def attack(server: Server, calls: int, seed: int) -> dict[str, Counter[str]]:
    """Make ``calls`` hostile calls; return the number of answers by kind of call and status."""
    found: dict[str, Counter[str]] = {caller.__name__: Counter() for caller in CALLERS}
    numbers = iter(range(calls))

    async def one_after_the_other() -> None:
        for number in numbers:
            caller = CALLERS[number % len(CALLERS)]
            attacker = Attacker(server, random.Random(f"{seed} {number}"))
            try:
                await asyncio.wait_for(caller(attacker), 60)
            except (OSError, TimeoutError) as error:
                attacker.status = type(error).__name__
            found[caller.__name__][attacker.status] += 1

    await asyncio.gather(*(one_after_the_other() for _ in range(TOGETHER)))
    return found


async def fill(server: Server) -> None:
    """Give the server its largest load: long texts with details, more than it accepts at once."""
    bodies = [json_request(q=f"{number}. {LONG}", details=True, beam_size=4) for number in range(2 * TOGETHER)]
    statuses = [status for status, _ in await asyncio.gather(*(ask(server, body, 180) for body in bodies))]
    assert set(statuses) <= {200, 503}, Counter(statuses)


async def ask(server: Server, data: bytes, wait: float = 30) -> tuple[int, str]:
    """Make one valid call; return status and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), wait)
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await asyncio.wait_for(reader.readexactly(int(length[1])), wait) if length else b""
    finally:
        writer.close()
    return int(head.split(b" ")[1]), body.decode()


async def gauges(server: Server) -> dict[str, float]:
    """Return the sums of the gauges; our own request is not counted."""
    _, text = await ask(server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    found = {}
    for name in GAUGES:
        samples = re.findall(rf"^translucent_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        found[name] = sum(map(float, samples)) - (name == "http_requests_in_flight")
    return found


async def at_rest(server: Server) -> dict[str, float]:
    """Wait for every gauge to be zero; return the last reading."""
    end = time.monotonic() + QUIET_SECONDS
    while any((last := await gauges(server)).values()) and time.monotonic() < end:
        await asyncio.sleep(0.2)
    return last


async def run(server: Server, calls: int, seed: int, readings: int) -> dict[str, Any]:
    """Warm up, read, attack, read again."""
    begun = time.perf_counter()
    warm = int(WARM_UP * calls)
    await fill(server)
    await attack(server, warm, seed)
    await at_rest(server)
    megabytes = [server.megabytes()]
    found: dict[str, Counter[str]] = {}
    for number in range(readings):
        part = calls // readings + (number < calls % readings)
        for kind, statuses in (await attack(server, part, seed + 1 + number)).items():
            found.setdefault(kind, Counter()).update(statuses)
        last = await at_rest(server)
        megabytes.append(server.megabytes())
    status, body = await ask(server, json_request())
    ours = sum(count for each in found.values() for status, count in each.items() if status in ("500", "502"))
    growth = megabytes[-1] / megabytes[0] - 1
    return {
        "calls": calls,
        "warm_up_calls": warm,
        "seconds": round(time.perf_counter() - begun),
        "answers": {kind: dict(sorted(statuses.items())) for kind, statuses in found.items()},
        "megabytes": [round(value, 1) for value in megabytes],
        "growth": round(growth, 4),
        "gauges": last,
        "next_request": [status, body],
        "holds": {
            "the next normal request works": status == 200 and "translatedText" in body,
            "gauges are back at zero": not any(last.values()),
            "memory within 10 %": growth <= GROWTH,
            "no server error": ours == 0,
        },
    }


def main() -> None:
    """Run the benchmark, write and print the result; exit with 1 if a condition does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readings", type=int, default=5, help="of the memory, on the way")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "chaos.json")
    options = parser.parse_args()
    bundles = options.bundles or sorted(path.parent for path in (ROOT / "models").glob("*/manifest.json"))
    with serving("translucent", bundles, TRANSLUCENT_BODY_TIMEOUT_SECONDS="5") as server:
        result = asyncio.run(run(server, options.calls, options.seed, options.readings))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1, ensure_ascii=False))  # noqa: T201
    raise SystemExit(0 if all(result["holds"].values()) else 1)


if __name__ == "__main__":
    main()
