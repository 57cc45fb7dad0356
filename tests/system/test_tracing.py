"""Traces of a real server, as a collector receives them; and a collector that is away."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.polling import wait_until
from tests.support.server import running
from tests.support.toy_onnx import write_speaking_bundle

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TEXT = {"q": "My secret. Another secret.", "source": "en", "target": "fr"}


class Handler(BaseHTTPRequestHandler):
    """Takes spans as OpenTelemetry's collector does, by OTLP over HTTP."""

    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def received() -> ExportTraceServiceRequest:
    """Return everything that the collector has, as one message."""
    request = ExportTraceServiceRequest()
    for body in list(Handler.bodies):
        request.MergeFromString(body)
    return request


def spans() -> dict[str, Any]:
    """Return the spans that the collector has, by name."""
    resources = received().resource_spans
    return {span.name: span for each in resources for scope in each.scope_spans for span in scope.spans}


@pytest.fixture
def collector() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()


def test_a_collector_gets_the_stages_and_may_go_away(collector: ThreadingHTTPServer, tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    environment = {
        "TRANSLUCENT_TRACING": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_SERVICE_NAME": "my-translations",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with running("-m", "service", "serve", "--models-dir", str(tmp_path), "--device", "cpu", **environment) as server:
        headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
        assert httpx.post(f"{server.url}/translate", json=TEXT, headers=headers).status_code == 200
        wait_until(lambda: "POST /translate" in spans(), 60)
        found, [resource] = spans(), {each.resource.SerializeToString() for each in received().resource_spans}

        collector.server_close()
        assert httpx.post(f"{server.url}/translate", json=TEXT).status_code == 200
        server.signal()
        assert server.exit_code(120) == 0

    stages = ["accept", "tokenize", "queue", "encode", "decode", "detokenize"]
    root = found.pop("POST /translate")
    assert set(found) == set(stages)
    assert {span.trace_id.hex() for span in (root, *found.values())} == {TRACE}
    assert root.parent_span_id.hex() == CALLER
    assert {span.parent_span_id for span in found.values()} == {root.span_id}
    ends = [found[name].end_time_unix_nano for name in stages]
    assert ends == sorted(ends)
    assert b"my-translations" in resource
    assert not any(b"secret" in body for body in Handler.bodies)
