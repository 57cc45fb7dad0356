"""When something that ended is started again: soon, later each time while that does not help, then no more. Pure."""

from __future__ import annotations

STABLE_SECONDS = 60.0  # after which a life counts as a success
FIRST_DELAY, MOST_DELAY = 0.1, 30.0  # seconds
MOST_IN_A_ROW = 6


class Restarts:
    """The restarts of one process or model; told the time, reads no clock."""

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
