"""A cheap load generator: raw HTTP/1.1 over persistent connections, one request at a time on each.

It runs in the process of the measurement, not in that of the server. It reads only the status line, two headers and
the length of an answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

IDLE_SECONDS = 3.0  # an older idle connection is not reused: the server may be about to close it
LOST, EXTRA, BROKEN = "lost", "extra", "broken"


@dataclass(slots=True)
class Outcome:
    """The outcome of one request; seconds count from the moment it was due and from the moment it was sent."""

    status: int | str  # of the answer; LOST: the connection ended without one
    since_due: float
    since_sent: float
    retry_after: bool


@dataclass(slots=True)
class Tally:
    """The outcomes of all requests."""

    sent: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    extra: int = 0  # bytes or answers without a request


class Connection(asyncio.Protocol):
    """One connection; `ask` when it is idle."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._due = self._sent = 0.0
        self._waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it

    def ask(self, request: bytes, due: float) -> None:
        """Send one request."""
        assert self._transport is not None
        assert not self._waiting
        self._due, self._sent, self._waiting = due, time.perf_counter(), True
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Read until an answer is complete."""
        if not self._waiting:
            self.pool.tally.extra += 1
            return
        self._buffer = self._buffer + data if self._buffer else data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        lines = self._buffer[:head].lower()
        at = lines.find(b"\r\ncontent-length:")
        length = int(lines[at + 17 : (lines + b"\r\n").find(b"\r\n", at + 2)]) if at >= 0 else 0
        whole = head + 4 + length
        if len(self._buffer) < whole:
            return
        self.pool.tally.extra += len(self._buffer) > whole
        self._buffer = b""
        self._done(int(lines[9:12]), b"\r\nretry-after:" in lines)
        if b"\r\nconnection: close" in lines:
            self.close()
        else:
            self.idle_since = time.perf_counter()
            self.pool.idle.append(self)

    def connection_lost(self, _error: Exception | None) -> None:
        """Record a missing answer as lost."""
        if self._waiting:
            self._done(LOST, retry_after=False)
        self._transport = None

    @property
    def usable(self) -> bool:
        """Return whether it is open and was used recently enough."""
        fresh = time.perf_counter() - self.idle_since < IDLE_SECONDS
        return fresh and self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()

    def _done(self, status: int | str, retry_after: bool) -> None:
        self._waiting = False
        now = time.perf_counter()
        outcome = Outcome(status, now - self._due, now - self._sent, retry_after)
        self.pool.tally.outcomes.append(outcome)
        self.pool.answered(outcome)


class Pool:
    """As many connections as concurrent requests; the most recently used one is reused first."""

    def __init__(self, port: int, answered: Callable[[Outcome], None] = lambda _: None) -> None:
        self.tally = Tally()
        self.idle: list[Connection] = []
        self.answered = answered
        self._port = port
        self._opening: set[asyncio.Task[None]] = set()

    @property
    def open(self) -> int:
        """Return the number of requests that have no answer yet."""
        return self.tally.sent - len(self.tally.outcomes)

    def send(self, request: bytes, due: float) -> None:
        """Send a request without waiting."""
        self.tally.sent += 1
        while self.idle:
            connection = self.idle.pop()
            if connection.usable:
                connection.ask(request, due)
                return
            connection.close()
        task = asyncio.create_task(self._on_a_new_one(request, due))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _on_a_new_one(self, request: bytes, due: float) -> None:
        begun = time.perf_counter()
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(lambda: Connection(self), "127.0.0.1", self._port)
        except OSError:
            outcome = Outcome(BROKEN, time.perf_counter() - due, time.perf_counter() - begun, retry_after=False)
            self.tally.outcomes.append(outcome)
            self.answered(outcome)
            return
        connection.ask(request, due)

    async def close(self, seconds: float) -> None:
        """Wait up to `seconds` for open answers, then close all idle connections."""
        end = time.perf_counter() + seconds
        while self.open and time.perf_counter() < end:
            await asyncio.sleep(0.05)
        for connection in self.idle:
            connection.close()
