"""The restarts of the models of an engine process; service.engine has the rule for one of them."""

from __future__ import annotations

from typing import Literal

from service.engine import Restarts


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
