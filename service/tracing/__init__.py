"""Traces of requests: the interface of a tracer, and the tracer that does nothing, which is the default.

OpenTelemetry is an optional dependency and is loaded only if tracing is on. No span holds text of a user, only names
of stages and models, counts, times and statuses.
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
    """One request, without a trace."""

    trace_id: str | None = None

    def finish(self, method: str, route: str | None, status: int, figures: Figures) -> None:
        """Record the outcome of the request; `route` is a template, and figures that are None are left out."""


class Tracing:
    """A tracer that traces nothing."""

    active = False  # whether stages are of use

    def request(self, headers: Mapping[str, str]) -> AbstractContextManager[RequestSpan]:
        """Return a request's span, which continues its caller's trace and is the parent of the stages inside."""
        return nullcontext(RequestSpan())

    def stage(self, stage: CallStage) -> None:
        """Record a stage of the request that the calling task belongs to."""

    def listening(self, listener: EventListener) -> EventListener:
        """Return a listener for the engine's events that traces the stages of calls and passes every event on."""
        return listener

    def close(self) -> None:
        """Send the spans that have not been sent yet; this blocks for a few seconds at most."""


def start_tracing(settings: Settings) -> Tracing:
    """Return the tracer of the settings; raise TracingError."""
    if not settings.tracing:
        return Tracing()
    try:
        from service.tracing.otel import open_tracing
    except ImportError as error:
        raise TracingError(
            f"TRANSLUCENT_TRACING needs the module {error.name}; install Translucent with its extra `tracing`."
        ) from None
    return open_tracing()
