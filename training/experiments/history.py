"""The history of a run, read from its log: losses, BLEU and speed by update."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_LINE = re.compile(r"update=(\d+) (.*)")
_TIME = re.compile(r"^(\S+ [\d:]+),\d+ update=(\d+) train_loss=")
_VALUE = re.compile(r"([\w/.-]+)=(\S+)")


@dataclass(frozen=True, slots=True)
class Point:
    """One value at one update."""

    update: int
    value: float


History = dict[str, list[Point]]
"""The values of each name, such as ``train_loss`` and ``dev_bleu``, by update."""


def read_history(log: Path) -> History:
    """Return what a run's ``train.log`` recorded; of an update that was repeated after a kill, the last values."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for line in log.read_text(encoding="utf-8").splitlines():
        match = _LINE.search(line)
        for name, value in _VALUE.findall(match[2]) if match else ():
            assert match is not None
            found[name][int(match[1])] = float(value)
    return {name: [Point(update, by[update]) for update in sorted(by)] for name, by in found.items()}


def read_times(log: Path) -> dict[int, datetime]:
    """Return when each update's training loss was logged; of an update repeated after a kill, the last time."""
    found = map(_TIME.match, log.read_text(encoding="utf-8").splitlines())
    return {int(match[2]): datetime.fromisoformat(match[1]) for match in found if match}
