"""Tracing with OpenTelemetry over OTLP/HTTP; the standard variables OTEL_* set the address and the interval."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode

from service import __version__
from service.engine import EngineEvent, EventListener, StageDone
from service.logs import get_logger
from service.tracing import TracingError

log = get_logger(__name__)

CLOSE_SECONDS = 3.0  # an unreachable collector must not delay the end of the process
ACCEPTED = {
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
}
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


class RequestSpan:
    """The span of one request."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.trace_id = trace.format_trace_id(span.get_span_context().trace_id) if span.is_recording() else None

    def finish(self, method: str, route: str | None, status: int, figures: Mapping[str, str | int | None]) -> None:
        """Record the outcome of the request; `route` is a template, and figures that are None are left out."""
        label = method if method in METHODS else "_OTHER"
        shown = method if method in METHODS else "HTTP"
        self._span.update_name(shown if route is None else f"{shown} {route}")
        attributes = {"http.request.method": label, "http.route": route, "http.response.status_code": status, **figures}
        self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)


class OpenTelemetry:
    """Spans of one provider: one for each request, and under it one for each stage."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("translucent", __version__)

    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """Give a request's span, which continues its caller's trace and is the parent of the stages inside."""
        span = self._tracer.start_span("request", propagate.extract(headers), SpanKind.SERVER)
        # Exceptions may quote the text of a user; the application answers them, and `finish` records the status.
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            yield RequestSpan(span)

    def stage(self, stage: StageDone) -> None:
        """Add a span with the stage's times to the span of its request; do nothing outside of a request."""
        if not trace.get_current_span().is_recording():
            return
        attributes: dict[str, str | int] = {f"translucent.{name}": count for name, count in stage.figures.items()}
        if stage.model is not None:
            attributes["translucent.model"] = stage.model
        began = _wall_clock(stage.began)
        span = self._tracer.start_span(stage.stage, attributes=attributes, start_time=began)
        span.end(began + round((stage.ended - stage.began) * 1e9))

    def listening(self, listener: EventListener) -> EventListener:
        """Return a listener that traces the stages of calls and passes every event on."""

        def hear(event: EngineEvent) -> None:
            if isinstance(event, StageDone):
                self.stage(event)
            listener(event)

        return hear

    def close(self) -> None:
        """Send the remaining spans and stop the thread that sends."""
        # The provider has no limit of its own; its remaining attempts end with the process.
        closing = threading.Thread(target=self._provider.shutdown, name="tracing-close", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        if closing.is_alive():
            log.warning("traces were lost: the collector did not accept them in time", seconds=CLOSE_SECONDS)


def _wall_clock(moment: float) -> int:
    """Return a moment of time.monotonic in nanoseconds since 1970."""
    return time.time_ns() - round((time.monotonic() - moment) * 1e9)


def open_tracing() -> OpenTelemetry:
    """Return the tracer of the environment; raise TracingError for a protocol that is not supported."""
    for name, only in ACCEPTED.items():
        if os.environ.get(name, only).strip().lower() not in ("", only):
            raise TracingError(f"{name} must be {only} or unset: this server can send traces in no other way.")
    resource = Resource.create({"service.name": "translucent", "service.version": __version__})
    provider = TracerProvider(resource=resource.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OpenTelemetry(provider)
