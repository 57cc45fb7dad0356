"""`python -m benchmarks.load.sizing`: memory, and the requests a second that a core can answer, by models and settings.

The requests are sent by clients that each wait for their answer. Requests a second are cores divided by the processor
time of a request, which other work on the machine disturbs little; what was really answered in the measured time is
beside it. Writes the table of docs/sizing.md with --publish.
"""

import argparse
import asyncio
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.load.client import Client
from benchmarks.load.processor_time import process_times, spent
from benchmarks.load.servers import serving
from benchmarks.machine import heading, pin_to_cores
from benchmarks.tables import markdown, put

PAGE = ROOT / "docs/sizing.md"
MODELS = ROOT / "models"
PAIRS = (
    "transformer-en-fr",
    "transformer-en-de",
    "transformer-fr-en",
    "transformer-de-en",
    "bahdanau-en-fr",
    "bahdanau-en-de",
)
WARM_UP = 40  # requests


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    name: str
    models: Sequence[str] = ("transformer-en-fr",)
    cores: int = 1
    model: str = "transformer-en-fr"
    beam: int = 4
    corpus: str = "tatoeba"
    settings: dict[str, str] = field(default_factory=dict)


CASES = (
    Case("one Transformer"),
    Case("one Transformer", cores=2),
    Case("one Transformer, beam size 1", beam=1),
    Case("one Transformer, news", corpus="newstest2014"),
    Case("one recurrent network", ("bahdanau-en-fr",), model="bahdanau-en-fr"),
    Case("all five", PAIRS),
    Case("all five", PAIRS, cores=2),
    Case(
        "all five, `TRANSLUCENT_MEMORY_LIMIT_MB`, one in use",
        PAIRS,
        settings={"TRANSLUCENT_MEMORY_LIMIT_MB": "4096"},
    ),
)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The results of a case."""

    idle_megabytes: float
    busy_megabytes: float
    milliseconds: float  # processor time of a request, all processes
    answered: float  # requests a second


def measure(case: Case, seconds: float, clients: int) -> CaseResult:
    """Start a server on the case's cores, ask it for translations, and stop it."""
    everything = os.sched_getaffinity(0)
    texts = load_corpus(case.corpus, "en-fr", 400).sources
    pin_to_cores(sorted(everything)[: case.cores])  # the server inherits it
    with serving("translucent", [MODELS / name for name in case.models], **case.settings) as server:
        pin_to_cores(everything)
        client = Client("127.0.0.1", server.port)
        fields: dict[str, object] = {"source": "en", "target": "fr", "model": case.model, "beam_size": case.beam}

        async def ask(share: Iterator[str], until: float) -> int:
            count = 0
            while time.perf_counter() < until:
                count += await client.translate(next(share), fields)
            return count

        async def all_clients(length: float) -> int:
            share, until = itertools.cycle(texts), time.perf_counter() + length
            return sum(await asyncio.gather(*(ask(share, until) for _ in range(clients))))

        async def run() -> tuple[float, int, float]:
            for text in texts[:WARM_UP]:
                await client.translate(text, fields)
            idle, before = server.megabytes(), process_times(server.pid)
            answered = await all_clients(seconds)
            used = sum(spent(server.pid, before, process_times(server.pid), answered))
            await client.close()
            return idle, answered, used

        idle, answered, milliseconds = asyncio.run(run())
        return CaseResult(idle, server.megabytes(), milliseconds, answered / seconds)


def table(rows: Sequence[tuple[Case, CaseResult]]) -> str:
    """Return one line for each case."""
    head = ("models", "cores", "MB, idle", "MB, busy", "ms a request", "requests/s", "answered/s")
    lines = [
        [
            *(case.name, case.cores, f"{one.idle_megabytes:.0f}"),
            *(f"{one.busy_megabytes:.0f}", f"{one.milliseconds:.1f}"),
            *(f"{1000 * case.cores / one.milliseconds:.0f}", f"{one.answered:.0f}"),
        ]
        for case, one in rows
    ]
    return markdown(head, lines)


def main() -> None:
    """Measure every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each case")
    parser.add_argument("--clients", type=int, default=32, help="requests in flight")
    parser.add_argument("--publish", action="store_true", help="write docs/sizing.md")
    options = parser.parse_args()
    rows = []
    for case in CASES:
        rows.append((case, measure(case, options.seconds, options.clients)))
        print(*rows[-1], flush=True)  # noqa: T201
    print(table(rows))  # noqa: T201
    if options.publish:
        put("sizing", f"{heading()}\n\n{table(rows)}", PAGE)


if __name__ == "__main__":
    main()
