"""`python -m benchmarks.load.processor_time`: the processor time of a request in each process.

Processor time is hardly disturbed by other work on the machine, so that two versions can be compared there too.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.arrivals import percentile, poisson
from benchmarks.load.client import Answer, Client, send
from benchmarks.load.servers import Server, process_tree, serving
from benchmarks.machine import heading
from benchmarks.tables import markdown


class Spent(NamedTuple):
    """The processor time of a server while it answered requests, in milliseconds a request."""

    http: float  # the process that answers HTTP, all its threads
    engine: float  # the engine processes, all their threads


def main() -> None:
    """Measure the service round by round and print a table."""
    options = _options()
    texts = load_corpus("tatoeba", "en-fr", 400).sources
    settings = dict(setting.split("=", 1) for setting in options.settings)
    with serving("translucent", [options.bundle], **settings) as server:
        client = Client("127.0.0.1", server.port)
        asyncio.run(send(client, texts[:50], [0.02 * number for number in range(50)], _fields(options)))
        rounds = [asyncio.run(_round(server, texts, options, number)) for number in range(options.rounds)]
    print(heading())  # noqa: T201
    print(table(rounds))  # noqa: T201


async def _round(
    server: Server, texts: Sequence[str], options: argparse.Namespace, number: int
) -> tuple[Spent, list[Answer]]:
    client = Client("127.0.0.1", server.port)
    before = process_times(server.pid)
    answers = await send(client, texts, poisson(options.rate, options.seconds, number), _fields(options))
    await client.close()
    return spent(server.pid, before, process_times(server.pid), len(answers)), answers


def spent(http: int, before: Mapping[int, float], after: Mapping[int, float], requests: int) -> Spent:
    """Return the time between two measurements, divided by the requests; `http` is the process that answers HTTP."""
    times = {pid: 1000 * (seconds - before.get(pid, 0.0)) / requests for pid, seconds in after.items()}
    own = times.pop(http)
    return Spent(own, sum(times.values()))


def process_times(pid: int) -> dict[int, float]:
    """Return the processor time, in seconds, of a process and of each of its descendants."""
    return {
        process: sum(
            int((task / "schedstat").read_text(encoding="ascii").split()[0])
            for task in Path(f"/proc/{process}/task").iterdir()
        )
        / 1e9
        for process in process_tree(pid)
    }


def table(rounds: Sequence[tuple[Spent, list[Answer]]]) -> str:
    """Return one row for each round."""
    lines = []
    for number, (each, answers) in enumerate(rounds, 1):
        seconds = [answer.seconds for answer in answers if answer.good]
        lines.append(
            [
                *(number, len(answers), len(answers) - len(seconds)),
                *(f"{1000 * percentile(seconds, share):.0f}" for share in (0.5, 0.99)),
                *(f"{each.http:.3f}", f"{each.engine:.3f}"),
            ]
        )
    head = ("round", "requests", "errors", "p50 ms", "p99 ms", "HTTP process ms", "engine processes ms")
    return markdown(head, lines)


def _fields(options: argparse.Namespace) -> dict[str, object]:
    return {"source": "en", "target": "fr", "beam_size": options.beam}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=ROOT / "models" / "transformer-en-fr")
    parser.add_argument("--rate", type=float, default=150.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--settings", nargs="*", default=[], metavar="TRANSLUCENT_X=Y")
    return parser.parse_args()


if __name__ == "__main__":
    main()
