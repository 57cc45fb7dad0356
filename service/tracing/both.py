"""One observer that hands every event of the engine to two."""

from __future__ import annotations

from collections.abc import Callable

from service.engine import Observer

EVENTS = tuple(name for name, value in vars(Observer).items() if callable(value) and not name.startswith("_"))


class Both(Observer):
    """Tells the first, then the second; complete by construction, whatever events there are."""

    def __init__(self, first: Observer, second: Observer) -> None:
        for name in EVENTS:
            setattr(self, name, _in_turn(getattr(first, name), getattr(second, name)))


def _in_turn(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
    def both(*arguments: object) -> None:
        first(*arguments)
        second(*arguments)

    return both
