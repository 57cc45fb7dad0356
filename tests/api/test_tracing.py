"""The trace of a request has its stages and no text."""

import sys
import threading
from collections.abc import AsyncIterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from service.api.app import create_app
from service.bundle.manifest import parse_manifest
from service.engine.errors import EngineFailure
from service.metrics import Metrics
from service.settings import Settings
from service.tracing import TracingError, start_tracing
from service.tracing.otel import OpenTelemetry, open_tracing
from tests.support.api_client import Client, calling
from tests.support.fake_engine import DummyRegistry, info_of, service_of
from tests.support.fake_worker import MirrorWorker, served_by
from tests.support.manifests import manifest_document

TEXT = {"q": "I lost my secret. We were sad.", "source": "en", "target": "fr"}
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{CALLER}-01"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def worker() -> MirrorWorker:
    return MirrorWorker()


@pytest.fixture
async def client(spans: InMemorySpanExporter, worker: MirrorWorker) -> AsyncIterator[Client]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracing, registry = OpenTelemetry(provider), DummyRegistry()
    described = parse_manifest(manifest_document()), info_of("transformer-en-fr")
    registry.add(served_by(worker, *described, tracing.listening(Metrics().record)))
    async with calling(create_app(service_of(registry, Settings(body_limit=20_000), tracing=tracing))) as client:
        yield client
    provider.shutdown()


def by_name(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    finished: Sequence[ReadableSpan] = spans.get_finished_spans()
    found = {span.name: span for span in finished}
    assert len(found) == len(finished), "a stage has one span, however many sentences and tokens there are"
    return found


async def test_the_spans_of_a_request_say_what_it_was(client: Client, spans: InMemorySpanExporter) -> None:
    headers = {"traceparent": TRACEPARENT, "X-Request-ID": "my-id"}
    answer = await client.post("/translate", json={**TEXT, "details": True}, headers=headers)
    assert answer.headers["x-request-id"] == "my-id"
    found = by_name(spans)
    root = found.pop("POST /translate")
    assert root.kind is SpanKind.SERVER
    assert dict(root.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/translate",
        "http.response.status_code": 200,
        "translucent.request_id": "my-id",
        "translucent.model": "transformer-en-fr",
        "translucent.texts": 1,
        "translucent.characters": len(TEXT["q"]),
    }
    assert list(found) == ["accept", "tokenize", "queue", "encode", "decode", "score", "detokenize"]
    for name, span in found.items():
        assert (span.attributes or {}).get("translucent.model") == (None if name == "accept" else "transformer-en-fr")
    assert (found["decode"].attributes or {})["translucent.sentences"] == 2


@pytest.mark.parametrize("path", ["/translate", "/attention", "/detect", "/secret"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_no_text_is_in_any_span(client: Client, spans: InMemorySpanExporter, path: str, method: str) -> None:
    fields = {**TEXT, "text": "my secret", "model": "secret"}
    answer = await client.request(method, path, params=fields, json=fields if method == "POST" else None)
    assert answer.headers["x-request-id"]
    written = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "http.response.status_code" in written
    assert "secret" not in written


async def test_the_log_names_the_trace_where_the_caller_has_none(
    client: Client, spans: InMemorySpanExporter, capsys: pytest.CaptureFixture[str]
) -> None:
    await client.post("/translate", json=TEXT)
    context = by_name(spans)["POST /translate"].context
    assert context is not None
    assert f"{context.trace_id:032x}" in capsys.readouterr().out


async def test_failures_are_marked_and_refusals_have_their_code(
    client: Client, spans: InMemorySpanExporter, worker: MirrorWorker
) -> None:
    worker.error = EngineFailure("my secret")
    await client.post("/translate", json=TEXT)
    failed = by_name(spans)["POST /translate"]
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.events == ()
    assert (failed.attributes or {})["error.type"] == "engine_failure"
    spans.clear()
    await client.post("/translate", content=b"a" * 30_000)
    refused = by_name(spans)["POST /translate"]
    assert refused.status.status_code is StatusCode.UNSET
    assert (refused.attributes or {})["error.type"] == "body_too_large"


async def test_probes_and_unsampled_requests_are_not_traced(client: Client, spans: InMemorySpanExporter) -> None:
    for path in ("/health/ready", "/metrics", "/v2/health/live"):
        await client.get(path)
    unsampled = {"traceparent": TRACEPARENT[:-2] + "00"}
    await client.post("/translate", json=TEXT, headers=unsampled)
    assert spans.get_finished_spans() == ()


async def test_a_method_that_nobody_knows_is_not_named(client: Client, spans: InMemorySpanExporter) -> None:
    await client.request("SECRET", "/translate")
    assert (by_name(spans)["HTTP /translate"].attributes or {})["http.request.method"] == "_OTHER"


def test_tracing_is_off_by_default_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start_tracing(Settings()) is None
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "service.tracing.otel")
    with pytest.raises(TracingError, match=r"TRANSLUCENT_TRACING .*\.sdk\.trace: pip install .*\[tracing\]"):
        start_tracing(Settings(tracing=True))


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_TRACES_EXPORTER", "console")]
)
def test_a_way_of_sending_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(TracingError, match=name):
        open_tracing()


def test_a_collector_that_is_away_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider, given_up = TracerProvider(shutdown_on_exit=False), threading.Event()
    monkeypatch.setattr(provider, "shutdown", given_up.wait)
    monkeypatch.setattr("service.tracing.otel.CLOSE_SECONDS", 0.05)
    OpenTelemetry(provider).close()
    given_up.set()
    assert "traces were lost" in capsys.readouterr().out
