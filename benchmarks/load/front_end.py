"""`python -m benchmarks.load.front_end`: the processor time of a request in the HTTP process, by part.

The model answers at once what it answered before, and the client is another process that sends one request after the
other, so the time of the thread that serves is that of the front end alone. Each figure is that of the fastest round:
other work on the machine only adds to a round. The whole is measured without any instrument; then the functions of
`PARTS` are, each with a clock around it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import http.client
import inspect
import json
import pickle
import pkgutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.machine import heading
from benchmarks.tables import markdown
from service.api.state import Service
from service.bundle.load import Bundle
from service.engine import (
    EngineSettings,
    EventListener,
    LoadedWorker,
    QueueStatus,
    Registry,
    SentenceJob,
    SentenceResult,
    Worker,
    WorkerState,
    ignores_stages,
    load_worker,
)
from service.engine_process import packing
from service.engine_process.protocol import Done, Translate
from service.logs import configure_logging
from service.metrics import Metrics
from service.server.uvicorn_server import Server
from service.settings import Settings

Spent = defaultdict[str, float]  # seconds by part
# Each part and the functions that do it. Those of `WHOLE` contain others.
PARTS = {
    "segments and tokens": ("service.engine.translation.sentence_runs:SentenceRuns.segment",),
    "the text of the translation": ("service.engine.translation.sentence_runs:SentenceRuns.assemble",),
    "messages: pickling": (f"{__name__}:packed", f"{__name__}:unpacked"),
    "the language of the text": ("service.api.state:Service.language_warnings",),
    "fields: JSON and validation": ("service.api.dependencies:read_fields", "service.api.dependencies:parse"),
    "the answer's JSON": ("service.api.translation:answer", "service.api.translation:JSONResponse.render"),
    "metrics": (*(f"service.metrics:Metrics.{name}" for name in ("record", "request_started", "request_finished")),),
    "log line": ("service.api.middleware.request_log:log_often",),
}
WHOLE = {
    "application": ("service.api.middleware.request_log:RequestLogMiddleware.__call__",),
    "access and body": ("service.api.middleware.access:HeadAccessMiddleware.__call__",),
    "route": ("service.api.direct_route:DirectDispatch.__call__",),
    "translation": ("service.engine.translation.translator:Translator.translate",),
}


class RecordedWorker:
    """Satisfies SentenceWorker: asks the model once about a sentence, and answers at once from then on."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._answers: dict[SentenceJob, bytes] = {}
        self.alive, self.state, self.queue_status = True, WorkerState.RUNNING, QueueStatus()

    @property
    def heartbeat(self) -> float:
        """Return the present time."""
        return time.monotonic()

    def start(self) -> None:
        """Start the model."""
        self._worker.start()

    def stop(self, drain: float = 0.0) -> None:
        """Stop the model."""
        self._worker.stop(drain)

    def retire(self) -> None:
        """Stop the model."""
        self._worker.retire()

    def close(self) -> None:
        """Stop the model."""
        self._worker.close()

    def check_room(self, deadline: float | None = None) -> None:
        """Accept everything."""

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Answer in the next turn of the event loop, with the messages of an engine process."""
        packed(Translate(1, tuple(range(len(jobs))), tuple(jobs)))
        return [self._answer(job) for job in jobs]

    def submit_scoring(self, job: Any) -> Any:
        """Ask the model."""
        return self._worker.submit_scoring(job)

    def _answer(self, job: SentenceJob) -> Future[SentenceResult]:
        own = replace(job, deadline=None, fresh=False)
        if own not in self._answers:
            self._answers[own] = packed(Done(1, self._worker.submit(own).result(30)))
        future: Future[SentenceResult] = Future()
        asyncio.get_running_loop().call_soon(future.set_result, unpacked(self._answers[own]).result)
        return future


def packed(message: Any) -> bytes:
    """Return a message as a channel sends it."""
    return pickle.dumps([packing.packed(message)], pickle.HIGHEST_PROTOCOL)


def unpacked(message: bytes) -> Any:
    """Return a message as a channel receives it."""
    return packing.unpacked(pickle.loads(message)[0])


@contextlib.contextmanager
def front_end(bundle: Path) -> Iterator[Server]:
    """Yield a server whose model is recorded."""
    configure_logging("info", "json")

    def opened(found: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[Any]:
        loaded = load_worker(found, settings, on_event)
        return LoadedWorker(RecordedWorker(loaded.worker), loaded.placement)

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / bundle.name).symlink_to(bundle.resolve())
        settings = Settings(models_dir=Path(folder), host="127.0.0.1", port=0)
        metrics = Metrics()
        registry = Registry(
            settings.models_dir, EngineSettings(), ignores_stages(lambda event: metrics.record(event)), opened
        )
        registry.load()
        yield Server(Service(settings, registry, metrics), registry)


async def measure(server: Server, texts: Sequence[str], rounds: int) -> list[tuple[float, Spent]]:
    """Return the processor seconds of a request, round by round, and those of its parts in instrumented rounds."""
    serving = asyncio.create_task(server.serve())
    while not (server.started and server.service.ready):
        await asyncio.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    found = []
    for number in range(2 * rounds + 1):
        spent: Spent = defaultdict(float)
        with instrumented(spent) if number > rounds else contextlib.nullcontext():
            found.append((await one_round(port, texts), spent))
    server.should_exit = True
    await serving
    return found[1:]  # the first round records the answers


async def one_round(port: int, texts: Sequence[str]) -> float:
    """Return the processor seconds of a request."""
    command = [sys.executable, "-m", "benchmarks.load.front_end", "--client", str(port)]
    client = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=-1, stdout=-1)
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(json.dumps(list(texts)).encode() + b"\n")
    await client.stdout.readline()  # it has read the texts
    before = time.thread_time()
    client.stdin.write(b"begin\n")
    await client.stdout.readline()
    seconds = time.thread_time() - before
    await client.wait()
    return seconds / len(texts)


def ask(port: int) -> None:
    """Translate the texts of the standard input one after the other: the client, in a process of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.connect()
    bodies = [json.dumps({"q": text, "source": "en", "target": "fr"}) for text in json.loads(sys.stdin.readline())]
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    for body in bodies:
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    print("answered", flush=True)  # noqa: T201


@contextlib.contextmanager
def instrumented(spent: Spent) -> Iterator[None]:
    """Add the processor seconds of every part to `spent` while this context lasts."""
    with contextlib.ExitStack() as stack:
        for part, names in (PARTS | WHOLE).items():
            for name in names:
                module, _, path = name.partition(":")
                holder, _, attribute = path.rpartition(".")
                owner = pkgutil.resolve_name(f"{module}:{holder}" if holder else module)
                before = getattr(owner, attribute)
                setattr(owner, attribute, clocked(before, part, spent))
                stack.callback(setattr, owner, attribute, before)
        yield


def clocked(work: Callable[..., Any], part: str, spent: Spent) -> Callable[..., Any]:
    """Return a function that adds its processor seconds to a part; of a coroutine, all until it ends."""
    clock = time.thread_time

    @functools.wraps(work)
    async def later(*arguments: Any, **named: Any) -> Any:
        began = clock()
        try:
            return await work(*arguments, **named)
        finally:
            spent[part] += clock() - began

    @functools.wraps(work)
    def now(*arguments: Any, **named: Any) -> Any:
        began = clock()
        try:
            return work(*arguments, **named)
        finally:
            spent[part] += clock() - began

    return later if inspect.iscoroutinefunction(work) else now


def table(rounds: Sequence[tuple[float, Spent]], requests: int) -> str:
    """Return a table of microseconds a request: the whole, then its parts."""
    plain = min(seconds for seconds, spent in rounds if not spent)
    clocked_rounds = [spent for _, spent in rounds if spent]
    least = {part: min(spent[part] for spent in clocked_rounds) / requests for part in PARTS | WHOLE}
    rows: list[list[object]] = [["a request, without clocks", f"{1e6 * plain:.0f}"]]
    rows += [[part, f"{1e6 * least[part]:.0f}"] for part in (*PARTS, *WHOLE)]
    return markdown(("part", "processor time, microseconds"), rows)


def main() -> None:
    """Print the table, or be the client."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=ROOT / "models" / "transformer-en-fr")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--client", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        ask(options.client)
        return
    texts = load_corpus("tatoeba", "en-fr", 400).sources
    with front_end(options.bundle) as server:
        rounds = uvloop.run(measure(server, texts, options.rounds))
    print(heading())  # noqa: T201
    print(table(rounds, len(texts)))  # noqa: T201


if __name__ == "__main__":
    main()
