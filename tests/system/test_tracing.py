"""Traces of a real server, as a collector receives them; and a collector that is away."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.made_up_bundles import write_made_up_bundles
from tests.support.server import running

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TEXT = {"q": "My secret. Another secret.", "source": "en", "target": "fr"}


class Collector(ThreadingHTTPServer):
    """Takes spans as OpenTelemetry's collector does, by OTLP over HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def wait_for(self, root: str, seconds: float = 30) -> ExportTraceServiceRequest:
        """Everything received, once a span of that name is among it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            request = ExportTraceServiceRequest()
            for body in list(self.bodies):
                request.MergeFromString(body)
            if root in {span.name for span in spans_of(request)}:
                return request
            time.sleep(0.05)
        raise AssertionError(f"{root} never came")


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def spans_of(request: ExportTraceServiceRequest) -> list[Any]:
    return [span for one in request.resource_spans for scope in one.scope_spans for span in scope.spans]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_collector_gets_the_stages_and_may_go_away(collector: Collector, tmp_path: Path) -> None:
    models = write_made_up_bundles(tmp_path)
    environment = {
        "TRANSLUCENT_TRACING": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_SERVICE_NAME": "my-translations",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with running("-m", "service", "serve", "--models-dir", str(models), "--device", "cpu", **environment) as server:
        headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
        assert httpx.post(f"{server.url}/translate", json=TEXT, headers=headers, timeout=60).status_code == 200
        received = collector.wait_for("POST /translate")

        collector.server_close()
        assert httpx.post(f"{server.url}/translate", json=TEXT, timeout=60).status_code == 200
        server.signal()
        assert server.exit_code(120) == 0

    spans = {span.name: span for span in spans_of(received)}
    assert set(spans) == {"POST /translate", "accept", "tokenize", "queue", "encode", "decode", "detokenize"}
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    root = spans.pop("POST /translate")
    assert root.parent_span_id.hex() == CALLER
    assert {span.parent_span_id for span in spans.values()} == {root.span_id}
    ends = [
        spans[name].end_time_unix_nano for name in ("accept", "tokenize", "queue", "encode", "decode", "detokenize")
    ]
    assert ends == sorted(ends)
    [resource] = {resource.resource.SerializeToString() for resource in received.resource_spans}
    assert b"my-translations" in resource
    assert not any(b"secret" in body for body in collector.bodies)
