"""Decides when a process or model restarts: soon, with longer delays while it keeps failing, then not any more."""

from __future__ import annotations

from typing import Literal

STABLE_SECONDS = 60.0  # of running, after which a start counts as a success
FIRST_DELAY, MOST_DELAY = 0.1, 30.0  # seconds
MOST_IN_A_ROW = 6


class Restarts:
    """The restarts of one process or model; it reads no clock."""

    def __init__(self, begun: float) -> None:
        self.in_a_row = 0  # consecutive restarts that did not last
        self._begun = begun

    def begins(self, now: float) -> None:
        """Record a start."""
        self._begun = now

    def ended(self, now: float) -> float | None:
        """Record an end; return the seconds until the next start, or None to give up."""
        if now - self._begun >= STABLE_SECONDS:
            self.in_a_row = 0
        if self.in_a_row >= MOST_IN_A_ROW:
            return None
        delay = min(FIRST_DELAY * 4**self.in_a_row, MOST_DELAY)
        self.in_a_row += 1
        return float(delay)


class ModelRestarts:
    """The models of a process that are being loaded again, and the times for failed ones; it reads no clock."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self._restarts: dict[int, Restarts] = {}
        self._due: dict[int, float] = {}

    def since(self, number: int) -> float | None:
        """Return the time since when a model is being loaded again; None if it is not."""
        return self._since.get(number)

    def begins(self, number: int, now: float) -> None:
        """Record that a model is being loaded again."""
        self._due.pop(number, None)
        self._since[number] = now

    def ends(self, number: int) -> None:
        """Record that a model has been loaded again."""
        self._since.pop(number, None)

    def forget(self, number: int) -> None:
        """Forget a model."""
        self._since.pop(number, None)
        self._restarts.pop(number, None)
        self._due.pop(number, None)

    def failed(self, number: int, now: float) -> float | Literal["waits", "due", "never"]:
        """Return the action for a failed model: at first the seconds to wait, then whether it is time, or never."""
        if number not in self._due:
            restarts = self._restarts.setdefault(number, Restarts(now))
            delay = restarts.ended(now)
            if delay is None:
                return "never"
            restarts.begins(now + delay)
            self._due[number] = now + delay
            return delay
        return "due" if now >= self._due[number] else "waits"
