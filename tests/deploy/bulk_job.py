"""Proof of the bulk job: so many lines through Ray Data, byte for byte what the command line gives, all workers busy.

    RAY_PYTHON=ray/bin/python python -m tests.deploy.bulk_job --model models/bahdanau-en-fr --lines 100000

The lines are made up, the same ones each time. The command line translates the same lines in as many
processes as there are workers, each its part of the file. Everything is thrown away afterwards but the report.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RAY_ENVIRONMENT = {
    **os.environ,
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "300",
    "OMP_NUM_THREADS": "1",
}
BUSY = 0.9  # least share of the time that every worker has a batch in hand
SUBJECTS = ("I", "my sister", "the old man", "nobody", "a friend of mine", "the teacher", "everyone here", "this dog")
VERBS = ("lost", "found", "wants to see", "cannot forget", "has never seen", "sold", "is looking for", "paid for")
OBJECTS = ("the keys", "a small house", "his car", "the red book", "your letter", "some bread", "an answer", "it")
ENDINGS = (".", "!", " yesterday.", " near the river.", ", but it was too late.", " because of the weather.")
ODD = ("", "  ", "Tabs\tand spaces  ", "A carriage return\r", "A line separator\u2028inside", "Ünïcödé 😀 中文")


def made_up(count: int) -> list[str]:
    """Sentences of our own, different lengths, the same ones each time, and a few odd lines."""
    chance = random.Random(6)
    lines = list(ODD[:count])
    while len(lines) < count:
        clauses = [
            " ".join(map(chance.choice, (SUBJECTS, VERBS, OBJECTS))) for _ in range(chance.choice((1, 1, 1, 2, 3)))
        ]
        line = " and ".join(clauses) + chance.choice(ENDINGS)
        lines.append(line[0].upper() + line[1:])
    return lines


def write(path: Path, lines: Sequence[str]) -> Path:
    """Write one line each, nothing but a line feed after it."""
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return path


def command_line(
    model: Path, lines: Sequence[str], parts: int, folder: Path, options: Sequence[str]
) -> tuple[bytes, dict[str, float]]:
    """Return the translations of `translucent translate`, and its seconds."""
    size = -(-len(lines) // parts)
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    running = []
    for part in range(parts):
        source = write(folder / f"lines.{part}", lines[part * size : (part + 1) * size])
        command = [sys.executable, "-m", "service", "translate", "--model", str(model)]
        command += ["--input", str(source), "--output", str(folder / f"expected.{part}"), *options]
        running.append(subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}))
    codes = [process.wait() for process in running]
    assert codes == [0] * parts, f"translucent translate ended with {codes}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    took = {"seconds": round(time.perf_counter() - began, 1), "processor_seconds": round(spent, 1)}
    return b"".join((folder / f"expected.{part}").read_bytes() for part in range(parts)), took


def with_ray(
    model: Path, lines: Sequence[str], workers: int, folder: Path, options: Sequence[str]
) -> tuple[bytes, dict[str, Any]]:
    """Return the translations of the Ray job, and its report on the workers."""
    source, output, report = write(folder / "lines", lines), folder / "output", folder / "report.json"
    command = [os.environ.get("RAY_PYTHON", sys.executable), "-m", "deploy.ray.bulk", "--model", str(model)]
    command += ["--input", str(source), "--output", str(output), "--report", str(report), "--workers", str(workers)]
    done = subprocess.run(
        [*command, *options], cwd=ROOT, env=RAY_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return output.read_bytes(), json.loads(report.read_text("utf-8"))


def prove(model: Path, lines: Sequence[str], workers: int, beam_size: int | None = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = [] if beam_size is None else ["--beam-size", str(beam_size)]
        output, job = with_ray(model, lines, workers, folder, options)
        expected, alone = command_line(model, lines, workers, folder, options)
    pairs = zip(output.split(b"\n"), expected.split(b"\n"), strict=False)
    shares = [worker["occupied_share"] for worker in job["workers"]]
    return {
        "model": model.name,
        "beam_size": beam_size,
        "lines": len(lines),
        "distinct_lines": len(set(lines)),
        "same_bytes": output == expected,
        "different_lines": sum(one != other for one, other in pairs),
        "all_workers_busy": len(shares) == workers and min(shares) >= BUSY,
        "ray": job,
        "command_line": alone,
    }


def main() -> int:
    """Print the report; exit code 1 where the bytes differ or a worker was idle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="a bundle's folder")
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--beam-size", type=int, help="default: the model's")
    options = parser.parse_args()
    report = prove(options.model.resolve(), made_up(options.lines), options.workers, options.beam_size)
    print(json.dumps(report, indent=1))  # noqa: T201 - a command's output
    return 0 if report["same_bytes"] and report["all_workers_busy"] else 1


if __name__ == "__main__":
    sys.exit(main())
