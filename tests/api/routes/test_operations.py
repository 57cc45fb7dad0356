"""Models, languages, health, metrics and the book."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.api.state import Service
from service.engine.events import (
    LoadChanged,
    Measured,
    RequestRejected,
    RunFailed,
    SentenceFinished,
    SentencesCancelled,
    StageDone,
    StepDone,
)
from service.engine.model_info import WorkerState
from service.metrics import Metrics
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry


async def test_languages_list_every_target_and_themselves(client: Client) -> None:
    answer = await client.request("GET", "/languages", data={"api_key": "x"})  # some clients send a form
    assert answer.json() == [
        {"code": "de", "name": "German", "targets": ["de"], "formality": True},
        {"code": "en", "name": "English", "targets": ["de", "en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["fr"], "formality": True},
    ]


async def test_models_say_where_they_run_and_what_they_are(client: Client) -> None:
    models = (await client.get("/models")).json()["models"]
    assert [model["name"] for model in models] == ["bahdanau-en-fr", "transformer-en-de", "transformer-en-fr"]
    assert [model["default"] for model in models] == [False, True, True]
    assert models[0]["provider"] == "CPUExecutionProvider"
    assert models[0]["digest"].startswith("sha256:")
    assert models[0]["limits"] == {"source_tokens": 256, "target_tokens": 256}


async def test_the_brief_list_of_models_leaves_out_how_they_were_trained(client: Client) -> None:
    whole = (await client.get("/models")).json()["models"]
    assert all(set(model["card"]) == {"recipe"} for model in whole)
    brief = (await client.get("/models?brief=true")).json()["models"]
    assert brief == [{**model, "card": {}} for model in whole]
    answer = await client.get("/models?brief=maybe")
    assert (answer.status_code, answer.json()["param"]) == (400, "brief")


async def test_liveness_does_not_look_at_the_engine(client: Client, registry: DummyRegistry) -> None:
    await registry.stop(0)
    for path in ("/health", "/health/live"):
        answer = await client.request("GET", path, content=b"{}", headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_readiness_follows_the_engine_and_the_drain(
    client: Client, registry: DummyRegistry, service: Service
) -> None:
    registry["bahdanau-en-fr"].worker.state = WorkerState.DEAD  # the others are enough
    assert (await client.get("/health/ready")).json() == {"status": "ready"}
    text = (await client.get("/metrics")).text
    assert 'translucent_model_ready{model="bahdanau-en-fr"} 0.0' in text
    assert 'translucent_model_ready{model="transformer-en-fr"} 1.0' in text
    service.draining = True
    answer = await client.get("/health/ready")
    assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
    assert answer.headers["connection"] == "close"
    service.draining = False
    await registry.stop(0)
    answer = await client.get("/health/ready")
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert answer.headers["retry-after"] == "1"
    assert "translucent_ready 0.0" in (await client.get("/metrics")).text


async def test_metrics_are_what_prometheus_reads(client: Client) -> None:
    await client.post("/translate", json={"q": "a secret", "source": "en", "target": "fr"})
    await client.get("/some/secret/path?q=secret")
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"translucent_http_requests", "translucent_http_request_seconds", "translucent_build_info"} <= families
    assert "secret" not in answer.text
    assert 'route="unmatched"' in answer.text
    await client.post("/translate", content=b"a" * 30_000)
    await client.request("METHOD1", "/1", headers={"X-Request-ID": "id1"})
    text = (await client.get("/metrics")).text
    assert 'translucent_http_requests_total{method="POST",route="/translate",status="413"} 1.0' in text
    assert 'translucent_http_errors_total{code="body_too_large"} 1.0' in text
    assert 'method="other"' in text
    assert not any(name in text for name in ("METHOD1", "id1"))  # what clients make up makes no series
    bounds = re.findall(r'request_seconds_bucket{le="([^"]+)",route="/translate"', answer.text)
    assert (bounds[0], bounds[-2], bounds[-1]) == ("0.005", "10.0", "+Inf")


def test_the_engines_events_become_metrics() -> None:
    metrics, name = Metrics(), "transformer-en-fr"

    def samples() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        families = text_string_to_metric_families(metrics.render().decode())
        return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}

    metrics.show_models(DummyRegistry().models())
    model = ("model", name)
    assert samples()["translucent_rows_in_use", (model,)] == 0
    for event in (
        LoadChanged(name, 8, 2, 1),
        StepDone(name, 8, 0.004),
        SentenceFinished(name, 5, 7, 0.02, 0.3, -0.4, "eos", -0.6, True),
        SentenceFinished(name, 0, 0, 0.0, 0.0, -0.2, "eos", -0.2, False),
        Measured(name, "source_coverage", 0.75),
        SentencesCancelled(name, 1),
        RequestRejected(name, "overloaded"),
        RequestRejected(name, "a text of somebody"),
        RunFailed(name),
        StageDone(name, "tokenize", 1.0, 1.001),
        StageDone(name, "tea", 1.0, 1.001),
    ):
        metrics.record(event)
    found = samples()
    expected = {
        ("translucent_rows_in_use", (model,)): 8,
        ("translucent_sentences_in_flight", (model,)): 2,
        ("translucent_queued_sentences", (model,)): 1,
        ("translucent_batch_rows_count", (model,)): 1,
        ("translucent_step_seconds_count", (model,)): 1,
        ("translucent_sentences_total", (("finish_reason", "eos"), model)): 2,
        ("translucent_tokens_total", (model, ("side", "source"))): 5,
        ("translucent_tokens_total", (model, ("side", "target"))): 7,
        ("translucent_queue_seconds_sum", (model,)): 0.02,
        ("translucent_compute_seconds_sum", (model,)): 0.3,
        ("translucent_sentence_surprisal_nats_sum", (model,)): pytest.approx(0.8),
        ("translucent_sentence_surprisal_nats_bucket", (("le", "0.5"), model)): 1,
        ("translucent_sentences_repeating_total", (model,)): 1,
        ("translucent_source_coverage_sum", (model,)): 0.75,
        ("translucent_sentences_cancelled_total", (model,)): 1,
        ("translucent_rejected_total", (model, ("reason", "overloaded"))): 1,
        ("translucent_rejected_total", (model, ("reason", "other"))): 1,
        ("translucent_engine_failures_total", (model,)): 1,
        ("translucent_stage_seconds_count", (model, ("stage", "tokenize"))): 1,
        ("translucent_stage_seconds_count", (model, ("stage", "other"))): 1,
    }
    assert {key: found.get(key) for key in expected} == expected
    info = next(labels for name, labels in found if name == "translucent_model_info" and model in labels)
    assert ("provider", "CPUExecutionProvider") in info


async def test_the_book_is_sent_with_its_contents(client: Client) -> None:
    contents = await client.get("/learn", follow_redirects=True)
    assert contents.status_code == 200
    assert contents.url.path == "/learn/"
    assert 'href="01-pooling.html"' in contents.text
    page = await client.get("/learn/01-pooling.html")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "<math" in page.text
    assert '<a href="01-pooling.html" aria-current="page">' in page.text
    assert '<a href="00-overview.html" rel="prev">' in page.text
    assert '<a href="02-scores.html" rel="next">' in page.text
    assert 'rel="prev"' not in (await client.get("/learn/00-overview.html")).text
    assert 'href="../web/pooling.html"' in page.text


async def test_nothing_else_is_sent(client: Client) -> None:
    for path in ("/learn/nothing.html", "/learn/..%2Findex.html", "/learn/01-pooling.md"):
        assert (await client.get(path)).status_code == 404
