"""Turns of large requests: they begin when no other request is arriving, one in each round of the event loop.

The event loop accepts one connection in each of its rounds (libuv, since 1.45). If it also read and tokenised a large
text in each round, the thirty-third of a burst of connections would wait for thirty-two texts, however short its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import NamedTuple

LARGE = 200  # bytes of a body; smaller ones never wait
QUIET_ROUNDS = 2  # without an arrival: one round accepts a connection, and the next one reads its request
LONGEST_WAIT = 0.05  # seconds, where requests arrive all the time


class _Turn(NamedTuple):
    given: asyncio.Future[None]
    latest: float  # on time.monotonic


class Turns:
    """Lets large requests begin in the order of their arrival, after the small ones that arrive with them."""

    def __init__(self) -> None:
        self._waiting: deque[_Turn] = deque()
        self._quiet = 0  # rounds since the last arrival

    def arrived(self) -> None:
        """Record that a request has arrived."""
        self._quiet = 0

    async def take(self, size: int) -> None:
        """Wait for the turn of a request whose body has so many bytes."""
        if size < LARGE:
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._next_round, loop)
        turn = _Turn(loop.create_future(), time.monotonic() + LONGEST_WAIT)
        self._waiting.append(turn)
        await turn.given

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._waiting[0].given.done():  # cancelled: the client has left
            self._waiting.popleft()
        self._quiet += 1
        if self._waiting and (self._quiet > QUIET_ROUNDS or self._waiting[0].latest <= time.monotonic()):
            self._waiting.popleft().given.set_result(None)
        if self._waiting:
            loop.call_soon(self._next_round, loop)
