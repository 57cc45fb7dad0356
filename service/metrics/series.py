"""Prometheus metrics of the HTTP side and of the engine. The engine reports its events to Metrics.record.

The values of labels are bounded: loaded models, served languages, routes of the application, status codes, and fixed
words. Client addresses, API keys, request paths and texts are never labels.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from service import __version__
from service.engine import (
    LEAST_ATTENTION,
    CoverageMeasured,
    EngineError,
    EngineEvent,
    LoadChanged,
    ModelClosed,
    ModelInfo,
    ModelOpened,
    ModelState,
    OpeningFailed,
    QualityMeasured,
    RequestRejected,
    RunFailed,
    SentenceFinished,
    SentencesCancelled,
    SentencesLookedUp,
    SentencesQueued,
    StageDone,
    StepDone,
    ValuesKept,
    ignores_stages,
)
from service.metrics.processes import EngineProcessCollector

CONTENT_TYPE = CONTENT_TYPE_LATEST  # of the text that Metrics.render returns
LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STEP = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
OPENING = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 512)
SURPRISAL = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
COVERAGE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
QUALITY = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
STAGES = frozenset({"tokenize", "encode", "score", "detokenize", "view"})
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
MODEL_CHANGES = ("added", "replaced", "unloaded", "refused")
CUT_OFF = (
    *("head_timeout", "unread", "url_too_long", "headers_too_large", "invalid_http"),
    *("too_many_connections", "too_many_from_address"),
)
RESTARTS = ("process", "model", "given_up")
LOOKUPS = ("hit", "shared", "miss")
DOCUMENT_OUTCOMES = ("done", "refused", "failed", "cancelled")
OTHER = "other"


def engine_codes(root: type[EngineError] = EngineError) -> set[str]:
    """Return the codes of all engine errors: the possible reasons of a refusal."""
    return {root.code}.union(*(engine_codes(child) for child in root.__subclasses__()))


@dataclass(frozen=True, slots=True)
class _ModelSeries:
    """The series of one model that change with every step or sentence."""

    batch_rows: Histogram
    step_seconds: Histogram
    rows: Gauge
    sentences: Gauge
    queued: Gauge
    accepted: Counter
    source_tokens: Counter
    target_tokens: Counter
    surprisal: Histogram
    queue_seconds: Histogram
    compute_seconds: Histogram
    stages: dict[str, Histogram]
    lookups: tuple[Counter, ...]  # in the order of LOOKUPS


class Metrics:
    """All metrics, in a registry of their own, so that one process can hold several applications."""

    def __init__(self) -> None:
        # The `_created` series would double the number of series, and no dashboard uses them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.engine_processes = EngineProcessCollector()
        self.registry.register(self.engine_processes)
        self._reasons = engine_codes()
        self._series: dict[str, _ModelSeries] = {}  # by model
        self._routes: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}  # by route, method and status
        self._recorders = self._recorders_by_event()
        self._define_http()
        self._define_models()
        self._define_queue()
        self._define_work()
        self._define_cache()
        self._define_health()
        self._gauge("build_info", "Version of the service, always 1", "version", "python").labels(
            __version__, platform.python_version()
        ).set(1)

    def _define_http(self) -> None:
        self._requests = self._counter(
            "http_requests", "Requests, by route, method and status of the answer", "route", "method", "status"
        )
        self._latency = self._histogram(
            "http_request_seconds", "Time from the first byte of a request to the end of its answer", LATENCY, "route"
        )
        self._in_flight = self._gauge("http_requests_in_flight", "Requests in progress")
        self._errors = self._counter("http_errors", "Error answers, by error code", "code")
        self._disconnects = self._counter("http_disconnects", "Clients that disconnected before the end of the answer")
        self._pivoted = self._counter(
            "pivoted_requests",
            "Requests that were translated in two legs through the pivot language, by language pair",
            "source",
            "target",
        )
        self._connections = self._gauge("connections", "Open connections")
        self._cut_off = self._counter(
            "connections_cut_off", "Connections that were refused or cut off, by reason", "reason"
        )
        for reason in CUT_OFF:
            self._cut_off.labels(reason)
        self._keys_readable = self._gauge(
            "api_keys_readable", "1 if the file of API keys can be read, or if there is none"
        )
        self._keys_readable.set(1)
        self._documents = self._counter("documents", "Documents, by format and outcome", "format", "outcome")
        self._limit_storage = self._counter(
            "rate_limit_storage_failures", "Failed calls to the Redis server that counts requests"
        )

    def _define_models(self) -> None:
        self._ready = self._gauge("ready", "1 if /health/ready answers that the server is ready")
        self._model_ready = self._gauge("model_ready", "1 if the model accepts requests", "model")
        self._model_info = self._gauge(
            "model_info",
            "Loaded models with their properties, always 1",
            *("model", "version", "architecture", "source", "target", "digest", "precision"),
            *("device", "device_wanted", "provider"),
        )
        self._model_open = self._gauge(
            "model_open", "1 if the model is open, 0 if it opens at its next request", "model"
        )
        self._openings = self._counter(
            "model_openings", "Models that were opened at a request (lazy loading), by result", "model", "result"
        )
        self._closings = self._counter("model_closings", "Models that were closed to free memory", "model")
        self._opening_seconds = self._histogram(
            "model_opening_seconds", "Time to open a model and warm it up", OPENING, "model"
        )
        self._changes = self._counter(
            "model_changes",
            "Bundles that were loaded or unloaded while the server was running, by result",
            "result",
        )
        for result in MODEL_CHANGES:
            self._changes.labels(result)
        self._restarts = self._counter(
            "engine_restarts", "Engine processes and models that ended and were restarted or given up", "what"
        )
        for what in RESTARTS:
            self._restarts.labels(what)

    def _define_queue(self) -> None:
        self._queued = self._gauge("queued_sentences", "Sentences waiting to join the batch", "model")
        self._sentences = self._gauge("sentences_in_flight", "Sentences in the running batch", "model")
        self._rows = self._gauge("rows_in_use", "Rows (hypotheses of sentences) in the running batch", "model")
        self._accepted = self._counter("sentences_accepted", "Sentences accepted into the queue", "model")
        self._cancelled = self._counter(
            "sentences_cancelled", "Sentences cancelled because the client disconnected", "model"
        )
        self._freed = self._counter("rows_freed", "Rows freed because the client disconnected", "model")
        self._rejected = self._counter(
            "rejected",
            "Requests that were refused, and sentences that missed their deadline, by reason",
            "model",
            "reason",
        )
        self._failures = self._counter(
            "engine_failures", "Failed runs of the model; every sentence of the batch fails with its run", "model"
        )

    def _define_work(self) -> None:
        self._finished = self._counter("sentences", "Translated sentences", "model", "finish_reason")
        self._valued = self._counter(
            "valued_sentences", "Translated sentences with values, by how these were kept", "model", "path"
        )
        self._tokens = self._counter(
            "tokens", "Tokens of translated sentences, including the end token", "model", "side"
        )
        self._queue_seconds = self._histogram("queue_seconds", "Time of a sentence in the queue", LATENCY, "model")
        self._compute_seconds = self._histogram(
            "compute_seconds", "Time of a sentence in the encoder and the batch", LATENCY, "model"
        )
        self._stage_seconds = self._histogram(
            "stage_seconds", "Time of each stage of the engine", (0.0001, 0.0005, *STEP[1:], 10.0), "model", "stage"
        )
        self._step_seconds = self._histogram("step_seconds", "Time of one decoder step", STEP, "model")
        self._batch_rows = self._histogram("batch_rows", "Rows decoded together in one step", ROWS, "model")

    def _define_cache(self) -> None:
        self._looked_up = self._counter(
            "cache_sentences",
            "Sentences that were looked up in the cache: hit (finished before), shared (with an equal sentence in "
            "flight) or miss",
            "model",
            "result",
        )
        self._cache_entries = self._gauge("cache_entries", "Translated sentences in the cache")
        self._cache_bytes = self._gauge("cache_bytes", "Memory of the translated sentences in the cache")

    def _define_health(self) -> None:
        # Negated, because rate() needs a sum of the histogram that only grows.
        self._surprisal = self._histogram(
            "sentence_surprisal_nats",
            "Negative mean log-probability of the tokens of a translation",
            SURPRISAL,
            "model",
        )
        self._quality = self._histogram(
            "sentence_quality",
            "Probability that a reader would call a translated sentence usable; only for models that give a quality",
            QUALITY,
            "model",
        )
        self._repeating = self._counter(
            "sentences_repeating", "Translations that repeat a sequence of four tokens", "model"
        )
        self._coverage = self._histogram(
            "source_coverage",
            "Share of a sentence's source tokens whose attention, summed over the translation, is at least "
            f"{LEAST_ATTENTION:g}; only for translations whose attention was requested",
            COVERAGE,
            "model",
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"translucent_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"translucent_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Iterable[float], *labels: str) -> Histogram:
        return Histogram(f"translucent_{name}", text, labels, registry=self.registry, buckets=tuple(buckets))

    # The HTTP side.

    def request_started(self) -> None:
        """Count a request that arrived."""
        self._in_flight.inc()

    def request_finished(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered, or whose client disconnected (status 499).

        `route` is the template of the route, never the path.
        """
        self._in_flight.dec()
        key = route, method if method in METHODS else OTHER, status
        series = self._routes.get(key)
        if series is None:
            series = self._requests.labels(route, key[1], str(status)), self._latency.labels(route)
            self._routes[key] = series
        series[0].inc()
        series[1].observe(seconds)
        if status == 499:
            self._disconnects.inc()

    def error_answered(self, code: str) -> None:
        """Count an error answer; codes come from our own errors, never from a client."""
        self._errors.labels(code).inc()

    def request_pivoted(self, source: str, target: str) -> None:
        """Count a request for a served pair that two models translate, through the pivot language."""
        self._pivoted.labels(source, target).inc()

    def connection_cut_off(self, reason: str) -> None:
        """Count a connection that was refused, or closed before the client had finished."""
        self._cut_off.labels(reason if reason in CUT_OFF else OTHER).inc()

    def count_connections(self, count: Callable[[], int]) -> None:
        """Call `count` for the number of connections whenever the metrics are read."""
        self._connections.set_function(count)

    def measure_cache(self, size: Callable[[], tuple[int, int]]) -> None:
        """Call `size` for the entries and bytes of the cache whenever the metrics are read."""
        self._cache_entries.set_function(lambda: size()[0])
        self._cache_bytes.set_function(lambda: size()[1])

    def api_keys_read(self, readable: bool) -> None:
        """Record whether the file of API keys could be read."""
        self._keys_readable.set(1 if readable else 0)

    def limit_storage_failed(self) -> None:
        """Count a failed call to the storage that replicas share for their rate limits."""
        self._limit_storage.inc()

    def document_finished(self, name: str, outcome: str) -> None:
        """Count a document; `name` is that of a format of this service."""
        self._documents.labels(name, outcome if outcome in DOCUMENT_OUTCOMES else OTHER).inc()

    def set_ready(self, ready: bool) -> None:
        """Record what /health/ready answers."""
        self._ready.set(1 if ready else 0)

    def show_states(self, states: Iterable[ModelState]) -> None:
        """Publish which models accept requests; models that are no longer served have no series."""
        self._model_ready.clear()
        self._model_open.clear()
        for each in states:
            self._model_ready.labels(each.name).set(1 if each.ready else 0)
            self._model_open.labels(each.name).set(0 if each.state in ("closed", "opening", "refused") else 1)

    def show_models(self, models: Iterable[ModelInfo]) -> None:
        """Publish which models are loaded and create their series, so that rates start from zero."""
        self._model_info.clear()
        for info in models:
            self._model_info.labels(
                *(
                    info.name,
                    info.version,
                    info.architecture,
                    ",".join(info.sources),
                    ",".join(info.targets),
                ),
                *(info.digest, info.precision, info.device, info.device_wanted, info.provider),
            ).set(1)
            for series in (self._queued, self._sentences, self._rows):
                series.labels(info.name)
            for counter in (self._accepted, self._cancelled, self._freed, self._failures, self._repeating):
                counter.labels(info.name)

    def model_changed(self, result: str) -> None:
        """Count a bundle that was added, replaced, unloaded or refused while the server was running."""
        self._changes.labels(result if result in MODEL_CHANGES else OTHER).inc()

    def engine_restarted(self, what: str) -> None:
        """Count an engine process or a model that was restarted or given up."""
        self._restarts.labels(what if what in RESTARTS else OTHER).inc()

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format, UTF-8."""
        return generate_latest(self.registry)

    # The engine's events, from its threads; prometheus_client has its own locks.

    @ignores_stages
    def record(self, event: EngineEvent) -> None:
        """Record an event of the engine; one that has no metric is ignored."""
        recorder = self._recorders.get(type(event))
        if recorder is not None:
            recorder(event)

    def _of_model(self, model: str) -> _ModelSeries:
        """Return the series of a model that change all the time, which takes half as long as to look each up."""
        series = self._series.get(model)
        if series is None:
            series = self._series[model] = _ModelSeries(
                batch_rows=self._batch_rows.labels(model),
                step_seconds=self._step_seconds.labels(model),
                rows=self._rows.labels(model),
                sentences=self._sentences.labels(model),
                queued=self._queued.labels(model),
                accepted=self._accepted.labels(model),
                source_tokens=self._tokens.labels(model, "source"),
                target_tokens=self._tokens.labels(model, "target"),
                surprisal=self._surprisal.labels(model),
                queue_seconds=self._queue_seconds.labels(model),
                compute_seconds=self._compute_seconds.labels(model),
                stages={stage: self._stage_seconds.labels(model, stage) for stage in STAGES},
                lookups=tuple(self._looked_up.labels(model, result) for result in LOOKUPS),
            )
        return series

    def _step_done(self, event: StepDone) -> None:
        series = self._of_model(event.model)
        series.batch_rows.observe(event.rows)
        series.step_seconds.observe(event.seconds)

    def _load_changed(self, event: LoadChanged) -> None:
        series = self._of_model(event.model)
        series.rows.set(event.rows)
        series.sentences.set(event.sentences)
        series.queued.set(event.queued)

    def _sentence_finished(self, event: SentenceFinished) -> None:
        series = self._of_model(event.model)
        self._finished.labels(event.model, event.finish_reason).inc()
        series.source_tokens.inc(event.source_tokens)
        series.target_tokens.inc(event.target_tokens)
        series.surprisal.observe(-event.mean_logprob)
        if event.repeats:
            self._repeating.labels(event.model).inc()
        series.queue_seconds.observe(event.queue_seconds)
        series.compute_seconds.observe(event.compute_seconds)

    def _stage_done(self, event: StageDone) -> None:
        stages = self._of_model(event.model).stages
        known = stages.get(event.stage)
        (self._stage_seconds.labels(event.model, OTHER) if known is None else known).observe(event.seconds)

    def _sentences_cancelled(self, event: SentencesCancelled) -> None:
        self._cancelled.labels(event.model).inc(event.sentences)
        self._freed.labels(event.model).inc(event.rows)

    def _looked_up_in_cache(self, event: SentencesLookedUp) -> None:
        counts = event.hits, event.shared, event.misses
        for series, count in zip(self._of_model(event.model).lookups, counts, strict=True):
            series.inc(count)

    def _request_rejected(self, event: RequestRejected) -> None:
        self._rejected.labels(event.model, event.reason if event.reason in self._reasons else OTHER).inc()

    def _model_opened(self, event: ModelOpened) -> None:
        self._openings.labels(event.model, "opened").inc()
        self._opening_seconds.labels(event.model).observe(event.seconds)

    def _recorders_by_event(self) -> dict[type, Callable[[Any], None]]:
        return {
            StepDone: self._step_done,
            LoadChanged: self._load_changed,
            SentenceFinished: self._sentence_finished,
            SentencesQueued: lambda event: self._of_model(event.model).accepted.inc(event.count),
            StageDone: self._stage_done,
            SentencesCancelled: self._sentences_cancelled,
            SentencesLookedUp: self._looked_up_in_cache,
            RequestRejected: self._request_rejected,
            RunFailed: lambda event: self._failures.labels(event.model).inc(),
            CoverageMeasured: lambda event: self._coverage.labels(event.model).observe(event.coverage),
            QualityMeasured: lambda event: self._quality.labels(event.model).observe(event.quality),
            ValuesKept: lambda event: self._valued.labels(event.model, event.path).inc(event.sentences),
            ModelOpened: self._model_opened,
            OpeningFailed: lambda event: self._openings.labels(event.model, "failed").inc(),
            ModelClosed: lambda event: self._closings.labels(event.model).inc(),
        }
