"""Keeps the durations of the slowest tests in `tests/durations.txt`: `make durations`."""

import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[1] / "durations.txt"
MOST = 60


def processor() -> str:
    """Return the name of the processor, and the number of cores."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown processor")
    return f"{name}, {os.cpu_count()} cores"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration  # type: ignore[assignment]
    whole = f"{len(seconds)} tests, {sum(seconds.values()) / 60:.0f} minutes of them, one after the other"
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, {processor()}: {whole}", ""]
    lines += [f"{duration:7.1f} s  {test}" for test, duration in seconds.most_common(MOST)]
    KEPT.write_text("\n".join(lines) + "\n", "utf-8")
    terminalreporter.write_line(f"The slowest tests are in {KEPT}.")
