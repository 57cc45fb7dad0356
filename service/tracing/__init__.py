"""Traces of requests with OpenTelemetry, an optional dependency that is loaded only if tracing is on.

No span holds text of a user, only names of stages and models, counts, times and statuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.extras import installation

if TYPE_CHECKING:
    from service.settings import Settings
    from service.tracing.otel import OpenTelemetry


class TracingError(Exception):
    """Traces cannot be sent as configured; the message says what to change."""


def start_tracing(settings: Settings) -> OpenTelemetry | None:
    """Return the tracer of the settings, None without tracing; raise TracingError."""
    if not settings.tracing:
        return None
    try:
        from service.tracing.otel import open_tracing
    except ImportError as error:
        raise TracingError(f"TRANSLUCENT_TRACING needs the module {error.name}: {installation('tracing')}.") from None
    return open_tracing()
