"""Traces of requests: what the application tells a tracer, and the tracer that does nothing, which is the default.

OpenTelemetry, an optional dependency, is loaded only when tracing is switched on. No span holds text of a user: names
of stages and models, counts, times, statuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from service.engine import CallStage, EventListener

if TYPE_CHECKING:
    from service.settings import Settings

Figures = Mapping[str, str | int | None]


class TracingError(Exception):
    """Traces cannot be sent as configured; the message says what to change."""


class RequestSpan:
    """One request; this one is not traced."""

    trace_id: str | None = None

    def finish(self, method: str, route: str | None, status: int, figures: Figures) -> None:
        """Say what became of the request; `route` is a template, and figures that are None are left out."""


class Tracing:
    """Traces nothing."""

    def request(self, headers: Mapping[str, str]) -> AbstractContextManager[RequestSpan]:
        """Return a request, which goes on with its caller's trace and is the parent of the stages inside."""
        return nullcontext(RequestSpan())

    def stage(self, stage: CallStage) -> None:
        """Record a stage of the request that the calling task belongs to."""

    def listening(self, listener: EventListener) -> EventListener:
        """Return a listener for the engine's events that traces the stages of calls and hands every event on."""
        return listener

    def close(self) -> None:
        """Send what has not been sent yet; blocks for a few seconds at most."""


def start_tracing(settings: Settings) -> Tracing:
    """Return the tracer that the settings ask for; raises TracingError."""
    if not settings.tracing:
        return Tracing()
    try:
        from service.tracing.otel import open_tracing
    except ImportError as error:
        raise TracingError(
            f"TRANSLUCENT_TRACING needs the module {error.name}; install Translucent with its extra `tracing`."
        ) from None
    return open_tracing()
