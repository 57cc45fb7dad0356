"""Decides when a process or model restarts: soon, with longer delays while it keeps failing, then not any more."""

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
