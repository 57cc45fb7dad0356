"""The context of one request, shared by the middleware, the error handlers and the routes."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.types import Scope

from service.engine import DeadlineExceeded, ModelInfo

Result = TypeVar("Result")

KEY = "translucent.context"
CONNECTION = "translucent.connection"  # the key of a ClientConnection in the scope
# The engine enforces the deadline itself. The grace period is for an engine that hangs.
GRACE_SECONDS = 0.5
ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)  # it is written to the log
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


class ClientDisconnected(Exception):
    """The client disconnected before its answer; its work has been cancelled."""


class ClientConnection:
    """The connection of one request: our own server puts it into the scope, so that no task need wait for its end."""

    __slots__ = ("_on_lost", "arrived", "lost")

    def __init__(self) -> None:
        self.lost = False
        self.arrived = False  # whether the whole request has arrived, so that no wait for it needs a limit
        self._on_lost: Callable[[], None] | None = None

    def watch(self, on_lost: Callable[[], None] | None) -> None:
        """Call a function when the connection is lost, at once if it is lost already; None: call nothing."""
        self._on_lost = on_lost
        if self.lost and on_lost is not None:
            on_lost()

    def lose(self) -> None:
        """Record that the connection is lost."""
        self.lost = True
        if self._on_lost is not None:
            self._on_lost()


@dataclass(slots=True)
class RequestContext:
    """Identity and figures of one request; holds no text of the user."""

    request_id: str
    seconds: float  # from its start to its deadline
    address: str  # of the client, or its IPv6 network, which limits count; in no log
    trace_id: str | None = None
    started: float = field(default_factory=time.monotonic)
    status: int | None = None  # of the answer, once it has begun
    answered: bool = False  # whether the last part of the answer was sent
    error_code: str | None = None
    model: str | None = None
    pivot: str | None = None  # the language between two legs
    key: str | None = None  # the name of the API key
    key_hash: str | None = None  # SHA-256 of the API key
    texts: int | None = None
    characters: int | None = None

    @property
    def deadline(self) -> float:
        """Return the time at which the engine gives up, on time.monotonic."""
        return self.started + self.seconds

    async def wait_for(self, work: Awaitable[Result]) -> Result:
        """Return the result of some work; raise DeadlineExceeded soon after the deadline, even if the engine hangs."""
        try:
            async with asyncio.timeout(self.deadline + GRACE_SECONDS - time.monotonic()) as limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            raise DeadlineExceeded(
                f"The request was not finished within {self.seconds:g} seconds; send less text, or try again later."
            ) from None

    def count(self, texts: Sequence[str], model: str | None = None) -> None:
        """Record the amount of text in the request, and the model that translates it."""
        self.texts, self.characters = len(texts), sum(map(len, texts))
        self.model = model

    def record_legs(self, models: Sequence[ModelInfo]) -> None:
        """Record the models that translate: one, or both legs through a pivot language."""
        self.model = ", ".join(info.name for info in models)
        if len(models) > 1:
            self.pivot = models[0].target_language


def new_request_id(offered: str | None) -> str:
    """Return the client's own X-Request-ID if it is short and plain, otherwise a new one."""
    return offered if offered is not None and ACCEPTED_ID.fullmatch(offered) else os.urandom(16).hex()


def trace_id_of(traceparent: str | None) -> str | None:
    """Return the trace id in a caller's `traceparent` header (W3C Trace Context)."""
    match = TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
    return match[1] if match else None


def context_of(scope: Scope) -> RequestContext:
    """Return the context of a request, which the outermost middleware created."""
    context = scope[KEY]
    assert isinstance(context, RequestContext)
    return context


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header by its name in small letters; the first of several."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None
