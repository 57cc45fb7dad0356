"""When something that ended is started again: soon, later each time while that does not help, then no more."""

from __future__ import annotations

from typing import Literal

STABLE_SECONDS = 60.0  # after which a life counts as a success
FIRST_DELAY, MOST_DELAY = 0.1, 30.0  # seconds
MOST_IN_A_ROW = 6


class Restarts:
    """The restarts of one process or model; it reads no clock."""

    def __init__(self, begun: float) -> None:
        self.in_a_row = 0  # restarts after which it did not last
        self._begun = begun

    def begins(self, now: float) -> None:
        """Note that it was started."""
        self._begun = now

    def ended(self, now: float) -> float | None:
        """Note that it ended; give the seconds to wait before it is started again, None for not any more."""
        if now - self._begun >= STABLE_SECONDS:
            self.in_a_row = 0
        if self.in_a_row >= MOST_IN_A_ROW:
            return None
        delay = min(FIRST_DELAY * 4**self.in_a_row, MOST_DELAY)
        self.in_a_row += 1
        return float(delay)


class Revivals:
    """Which models of a process are being loaded again, and when those that failed will be; it reads no clock."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self._restarts: dict[int, Restarts] = {}
        self._due: dict[int, float] = {}

    def since(self, number: int) -> float | None:
        """Return since when a model is being loaded anew; None where it is not."""
        return self._since.get(number)

    def begins(self, number: int, now: float) -> None:
        """Note that a model is being loaded anew."""
        self._due.pop(number, None)
        self._since[number] = now

    def ends(self, number: int) -> None:
        """Note that a model has been loaded anew."""
        self._since.pop(number, None)

    def forget(self, number: int) -> None:
        """Forget a model."""
        self._since.pop(number, None)
        self._restarts.pop(number, None)
        self._due.pop(number, None)

    def failed(self, number: int, now: float) -> float | Literal["waits", "due", "never"]:
        """Say what is to be done about a model that has failed: the seconds to wait, at first, or whether to go on."""
        if number not in self._due:
            restarts = self._restarts.setdefault(number, Restarts(now))
            delay = restarts.ended(now)
            if delay is None:
                return "never"
            restarts.begins(now + delay)
            self._due[number] = now + delay
            return delay
        return "due" if now >= self._due[number] else "waits"
