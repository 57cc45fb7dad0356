"""What it costs to read and write a document: processor time and memory, each measured in a process of its own.

As a program: for each file whose name and length come in a line before it, a line with the costs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, Self

SECONDS = 10
MEMORY = 3 << 30


class Cost(NamedTuple):
    """The processor seconds and the megabytes above those of an idle process, and what became of the file."""

    seconds: float
    megabytes: float
    outcome: str


class Meter:
    """A process that measures documents."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def cost(self, name: str, data: bytes) -> Cost:
        """Return what a document costs."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        asked.write(f"{name} {len(data)}\n".encode() + data)
        asked.flush()
        return Cost(*json.loads(answered.readline()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _kilobytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def _measured(name: str, data: bytes) -> Cost:
    from service.documents.errors import DocumentError
    from service.documents.format import ReadOptions, check_segments, format_of

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    idle, begun, outcome = _kilobytes("VmRSS"), time.thread_time(), "written"
    options = ReadOptions("fr")
    try:
        document = format_of(name).read(data, options)
        check_segments(document.segments, options.limits)
        document.write([f"{segment} more" for segment in document.segments])
    except DocumentError:
        outcome = "refused"
    except MemoryError:
        return Cost(0, MEMORY >> 20, "out of memory")
    except Exception as error:
        outcome = repr(error)[:200]
    return Cost(time.thread_time() - begun, (_kilobytes("VmHWM") - idle) / 1024, outcome)


def main() -> None:
    """Measure files until there are no more, each in a child."""
    from service.documents import format as formats

    for each in formats.FORMATS:
        if "pdf" not in each.reader:
            __import__(f"service.documents.formats.{each.reader.partition(':')[0]}")
    while line := sys.stdin.buffer.readline():
        name, size = line.split()
        data = sys.stdin.buffer.read(int(size))
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.write(theirs, json.dumps(_measured(name.decode(), data)).encode())
            os._exit(0)
        os.close(theirs)
        answer = os.read(ours, 10_000)
        os.close(ours)
        os.waitpid(child, 0)
        sys.stdout.write(f"{answer.decode() or json.dumps(Cost(SECONDS, 0, 'killed'))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
