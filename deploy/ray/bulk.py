"""Bulk translation over all machines of a Ray cluster: the engine as a library in a pool of Ray Data's actors.

    python -m deploy.ray.bulk --model models/transformer-en-fr --input lines.txt --output lines.fr --workers 8

The output has one line for each line of the input, and the same bytes as that of `translucent translate`. At the end
the command prints how busy each worker was.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import ray
from ray import cloudpickle

from deploy.ray.shifts import Shifts
from service.cli.find_model import ModelQuery, find_legs
from service.cli.lines import check_paths_differ, line_writer, read_lines
from service.engine import (
    Budget,
    EngineError,
    EngineSettings,
    ModelSettings,
    TranslationOptions,
    WorkerSettings,
    open_translator,
)

# Workers may run elsewhere: send them this file's code instead of its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

BATCH_LINES = 1024  # lines that a worker gets at once, sorted by length and translated together
CHUNK_LINES = 64
EVERYTHING = 1 << 40  # no limit: only this program fills the queue, and a file is read at once

Columns = dict[str, npt.NDArray[np.object_]]


class Worker:
    """One engine, in a process of its own."""

    def __init__(self, wanted: ModelQuery, beam_size: int | None, device: str, threads: int, split: bool) -> None:
        settings = ModelSettings(device=device, intra_threads=threads)  # type: ignore[arg-type]
        [(bundle, pair)] = find_legs(wanted, Path(), settings)
        budget = Budget(queued_sentences=EVERYTHING, queued_tokens=EVERYTHING)
        self.split = split
        decoding = bundle.manifest.decoding
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.options = TranslationOptions(beam_size=beam_size, length_penalty=decoding.length_penalty)
        self.translator = open_translator(bundle, EngineSettings(settings, WorkerSettings(budget))).for_pair(*pair)
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.translator.model.start())

    def __call__(self, batch: Columns) -> Columns:
        """Translate a batch of numbered lines; each row names the worker, its start and end, and its CPU time."""
        began, processor = time.time(), time.process_time()
        texts = [str(text) for text in batch["text"]]
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        chunks = [order[first : first + CHUNK_LINES] for first in range(0, len(order), CHUNK_LINES)]
        done = self.loop.run_until_complete(self._translate([[texts[place] for place in chunk] for chunk in chunks]))
        found: list[str] = [""] * len(texts)
        for chunk, translations in zip(chunks, done, strict=True):
            for place, text in zip(chunk, translations, strict=True):
                found[place] = text
        shift = {
            "worker": self.name,
            "began": began,
            "ended": time.time(),
            "processor": time.process_time() - processor,
        }
        said = {name: np.full(len(texts), value, dtype=object) for name, value in shift.items()}
        return {"number": batch["number"], "text": np.array(found, dtype=object), **said}

    async def _translate(self, chunks: list[list[str]]) -> list[list[str]]:
        async def one(chunk: list[str]) -> list[str]:
            found = await self.translator.translate(chunk, self.options, split=self.split)
            return [translation.text for translation in found]

        return await asyncio.gather(*map(one, chunks))


def translate(lines: list[str], options: argparse.Namespace) -> tuple[list[str], Shifts]:
    """Translate with all workers and return the lines in their order."""
    found = [""] * len(lines)
    shifts = Shifts(options.intra_threads)
    if not lines:
        return found, shifts
    rows = [{"number": number, "text": line} for number, line in enumerate(lines)]
    data = ray.data.from_items(rows, override_num_blocks=max(1, -(-len(rows) // BATCH_LINES)))
    translated = data.map_batches(
        Worker,
        fn_constructor_args=(
            *(wanted_of(options), options.beam_size, options.device, options.intra_threads),
            options.split_sentences,
        ),
        batch_size=BATCH_LINES,
        compute=ray.data.ActorPoolStrategy(size=options.workers),
        num_cpus=options.intra_threads,
        num_gpus=options.gpus_per_worker,
    )
    for row in translated.iter_rows():
        found[int(row["number"])] = str(row["text"])
        shifts.add_line(row)
    return found, shifts


def wanted_of(options: argparse.Namespace) -> ModelQuery:
    """Return the bundle, by a path that every worker understands, and the pair if it has several."""
    return ModelQuery(str(Path(options.model).resolve()), options.source, options.target)


def main() -> None:
    """Read, translate with all workers, write, and report the work of each worker."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", required=True, help="folder of a bundle, with the same path on every machine")
    parser.add_argument("--from", dest="source", help="source language of a bundle with several")
    parser.add_argument("--to", dest="target", help="target language of a bundle with several")
    parser.add_argument("--input", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--beam-size", type=int)
    parser.add_argument(
        "--split-sentences",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="translate each sentence of a line by itself",
    )
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument(
        "--intra-threads",
        type=int,
        default=1,
        help="threads that ONNX Runtime uses inside one run, in each worker",
    )
    parser.add_argument("--gpus-per-worker", type=float, default=0)
    parser.add_argument("--report", type=Path, help="JSON file for the lines and seconds of each worker")
    options = parser.parse_args()

    began = time.perf_counter()
    try:
        check_paths_differ((options.input,), (options.output, options.report))
        find_legs(wanted_of(options), Path(), ModelSettings(device="cpu"))  # fails here, with one sentence
        with read_lines(options.input, "the input") as found:
            lines = list(found)
    except EngineError as error:
        sys.exit(f"bulk: {error.message}")
    translations, shifts = translate(lines, options)
    with line_writer(options.output, "--output") as write:
        write(translations)
    report = {"lines": len(lines), "seconds": round(time.perf_counter() - began, 1), **shifts.report()}
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    sys.stderr.write(f"{report['lines']} lines in {report['seconds']} s\n{shifts.as_text()}")


if __name__ == "__main__":
    main()
