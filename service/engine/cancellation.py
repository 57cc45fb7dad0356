"""Work in a thread that ends early when nobody waits for its result any more: loops over texts ask for that.

Cancellation of a task does not reach a thread. `service.engine.thread_pools` gives each piece of work a token, and ends
it when the task that waits for the work is cancelled, as for a disconnected client or at a deadline.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")


class WaitToken:
    """Whether somebody still waits for the result of a piece of work."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


current_wait: ContextVar[WaitToken | None] = ContextVar("current_wait", default=None)


def check_wanted() -> None:
    """Raise CancelledError if nobody waits for the result of the work that calls this."""
    token = current_wait.get()
    if token is not None and token.ended:
        raise CancelledError


def while_wanted(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, each of which is some work, as long as somebody waits for the result."""
    for item in items:
        check_wanted()
        yield item
