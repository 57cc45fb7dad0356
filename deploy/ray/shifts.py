"""How much work each worker did, and how busy it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Shift:
    """The work of one worker; times are in seconds."""

    lines: int = 0
    batches: dict[float, tuple[float, float]] = field(default_factory=dict)  # by beginning: end, processor time

    @property
    def occupied(self) -> float:
        """Return how long it worked on batches."""
        return sum(ended - began for began, (ended, _) in self.batches.items())

    @property
    def processor(self) -> float:
        """Return the CPU time of its process, all threads together."""
        return sum(processor for _, processor in self.batches.values())


class Shifts:
    """Collects what the rows of a job report about their workers; each worker may use `threads` threads."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self.by_worker: dict[str, Shift] = {}

    def add_line(self, row: Mapping[str, Any]) -> None:
        """Count a translated line; every line of a batch has the same report on the batch."""
        shift = self.by_worker.setdefault(str(row["worker"]), Shift())
        shift.lines += 1
        shift.batches[float(row["began"])] = (float(row["ended"]), float(row["processor"]))

    @property
    def working_seconds(self) -> float:
        """Return the time from the first batch's start to the last one's end, over all workers; 0 without lines."""
        batches = [(began, ended) for one in self.by_worker.values() for began, (ended, _) in one.batches.items()]
        return max(ended for _, ended in batches) - min(began for began, _ in batches) if batches else 0.0

    def report(self) -> dict[str, Any]:
        """Return the whole report as numbers; shares are of the working seconds."""
        whole = self.working_seconds
        return {
            "working_seconds": round(whole, 1),
            "workers": [
                {
                    "worker": name,
                    "lines": shift.lines,
                    "occupied_share": round(shift.occupied / whole, 3),
                    "processor_seconds": round(shift.processor, 1),
                    "processor_share": round(shift.processor / whole / self.threads, 3),
                }
                for name, shift in sorted(self.by_worker.items())
            ],
        }

    def as_text(self) -> str:
        """Return one line for each worker."""
        return "".join(
            f"{one['worker']}: {one['lines']} lines, busy {one['occupied_share']:.0%} of the time, "
            f"{one['processor_seconds']} s of processor time ({one['processor_share']:.0%})\n"
            for one in self.report()["workers"]
        )
