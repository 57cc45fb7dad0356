"""Prometheus metrics of the HTTP side and of the engine. The engine reports its events to Metrics.record.

The values of labels are bounded: loaded models, served languages, routes of the application, status codes, and fixed
words. Client addresses, API keys, request paths and texts are never labels.
"""

import platform
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TypeVar

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from service import __version__
from service.engine import (
    LEAST_ATTENTION,
    EngineError,
    EngineEvent,
    LoadChanged,
    Measured,
    ModelInfo,
    ModelState,
    RequestRejected,
    RunFailed,
    SentenceFinished,
    SentencesCancelled,
    SentencesLookedUp,
    StageDone,
    StepDone,
)
from service.metrics.processes import EngineProcessCollector

Kind = TypeVar("Kind", Counter, Gauge, Histogram)

CONTENT_TYPE = CONTENT_TYPE_LATEST  # of the text that Metrics.render returns
LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STEP = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
STAGE = (0.0001, 0.0005, *STEP[1:], 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 512)
SURPRISAL = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
COVERAGE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
QUALITY = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
STAGES = frozenset({"tokenize", "encode", "score", "detokenize", "view"})
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
OTHER = "other"

# The text of each series, and its labels.
COUNTERS = {
    "http_requests": ("Requests, by route, method and status of the answer", "route", "method", "status"),
    "http_errors": ("Error answers, by error code", "code"),
    "connections_cut_off": ("Connections that were refused or cut off, by reason", "reason"),
    "log_lines_dropped": ("Log lines of the HTTP process that were dropped, because they were not read in time",),
    "model_changes": ("Bundles that were loaded or unloaded while the server was running, by result", "result"),
    "engine_restarts": ("Engine processes and models that ended and were restarted or given up", "what"),
    "document_processes_lost": (
        "Processes of documents that crashed or were killed: of one document that broke a limit, or the zygote",
        "process",
    ),
    "sentences_cancelled": ("Sentences cancelled because the client disconnected", "model"),
    "rejected": ("Requests that were refused, and sentences past their deadline, by reason", "model", "reason"),
    "engine_failures": ("Failed runs of the model; every sentence of the batch fails with its run", "model"),
    "sentences": ("Translated sentences", "model", "finish_reason"),
    "tokens": ("Tokens of translated sentences, including the end token", "model", "side"),
    "cache_sentences": (
        "Sentences that were looked up in the cache: hit (finished before), shared (equal to another of the request) "
        "or miss",
        *("model", "result"),
    ),
    "sentences_repeating": ("Translations that repeat a sequence of four tokens", "model"),
}
GAUGES = {
    "build_info": ("Version of the service, always 1", "version", "python"),
    "http_requests_in_flight": ("Requests in progress",),
    "api_keys_readable": ("1 if the file of API keys can be read, or if there is none",),
    "ready": ("1 if /health/ready answers that the server is ready",),
    "model_ready": ("1 if the model accepts requests", "model"),
    "model_info": (
        "Loaded models with their properties, always 1",
        *("model", "version", "architecture", "source", "target", "digest", "precision"),
        *("device", "device_wanted", "provider"),
    ),
    "queued_sentences": ("Sentences waiting to join the batch", "model"),
    "sentences_in_flight": ("Sentences in the running batch", "model"),
    "rows_in_use": ("Rows (hypotheses of sentences) in the running batch", "model"),
}
# The buckets first.
HISTOGRAMS: dict[str, tuple[tuple[float, ...], str, tuple[str, ...]]] = {
    "http_request_seconds": (LATENCY, "Time from the first byte of a request to the end of its answer", ("route",)),
    "queue_seconds": (LATENCY, "Time of a sentence in the queue", ("model",)),
    "compute_seconds": (LATENCY, "Time of a sentence in the encoder and the batch", ("model",)),
    "stage_seconds": (STAGE, "Time of each stage of the engine", ("model", "stage")),
    "step_seconds": (STEP, "Time of one decoder step", ("model",)),
    "batch_rows": (ROWS, "Rows decoded together in one step", ("model",)),
    # Negated, because rate() needs a sum of the histogram that only grows.
    "sentence_surprisal_nats": (SURPRISAL, "Negative mean log-probability of a translation's tokens", ("model",)),
    "sentence_quality": (
        QUALITY,
        "Probability that a reader would call a translated sentence usable; only for models that give a quality",
        ("model",),
    ),
    "source_coverage": (
        COVERAGE,
        "Share of a sentence's source tokens whose attention, summed over the translation, is at least "
        f"{LEAST_ATTENTION:g}; only for translations whose attention was requested",
        ("model",),
    ),
}
# The values of a label that are fixed words: they begin at zero, and anything else is counted as OTHER.
WORDS = {
    "connections_cut_off": (
        *("head_timeout", "unread", "url_too_long", "headers_too_large", "invalid_http"),
        *("too_many_connections", "too_many_from_address"),
    ),
    "model_changes": ("added", "replaced", "unloaded", "refused"),
    "engine_restarts": ("process", "model", "given_up"),
    "document_processes_lost": ("document", "zygote"),
}


def engine_codes(root: type[EngineError] = EngineError) -> set[str]:
    """Return the codes of all engine errors: the possible reasons of a refusal."""
    return {root.code}.union(*(engine_codes(child) for child in root.__subclasses__()))


def _series_of(families: Mapping[str, Kind]) -> Callable[..., Kind]:
    """Return a function from a name and values of labels to the series; it remembers them, as they change often."""

    @cache
    def series(name: str, *labels: str) -> Kind:
        return families[name].labels(*labels) if labels else families[name]

    return series


class Metrics:
    """All metrics, in a registry of their own, so that one process can hold several applications."""

    def __init__(self) -> None:
        # The `_created` series would double the number of series, and no dashboard uses them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.engine_processes = EngineProcessCollector()
        self.registry.register(self.engine_processes)
        self._reasons = engine_codes()
        counters = {
            name: Counter(f"translucent_{name}", text, labels, registry=self.registry)
            for name, (text, *labels) in COUNTERS.items()
        }
        self._gauges = {
            name: Gauge(f"translucent_{name}", text, labels, registry=self.registry)
            for name, (text, *labels) in GAUGES.items()
        }
        histograms = {
            name: Histogram(f"translucent_{name}", text, labels, registry=self.registry, buckets=buckets)
            for name, (buckets, text, labels) in HISTOGRAMS.items()
        }
        self._counter = _series_of(counters)
        self._gauge = _series_of(self._gauges)
        self._histogram = _series_of(histograms)
        for name, words in WORDS.items():
            for word in words:
                self._counter(name, word)
        self._gauge("build_info", __version__, platform.python_version()).set(1)
        self._gauge("api_keys_readable").set(1)

    # The HTTP side.

    def count(self, name: str, *labels: str) -> None:
        """Count an event that is no request and none of the engine; an unexpected word of WORDS is counted as OTHER."""
        if name in WORDS and labels[0] not in WORDS[name]:
            labels = (OTHER,)
        self._counter(name, *labels).inc()

    def log_lines_dropped(self, lines: int) -> None:
        """Count log lines that were dropped."""
        self._counter("log_lines_dropped").inc(lines)

    def show(self, name: str, value: float) -> None:
        """Publish a value that has no labels."""
        self._gauge(name).set(value)

    def request_started(self) -> None:
        """Count a request that arrived."""
        self._gauge("http_requests_in_flight").inc()

    def request_finished(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer by the template of its route, never the path; 499: the client disconnected."""
        self._gauge("http_requests_in_flight").dec()
        self._counter("http_requests", route, method if method in METHODS else OTHER, str(status)).inc()
        self._histogram("http_request_seconds", route).observe(seconds)

    def show_states(self, states: Iterable[ModelState]) -> None:
        """Publish which models accept requests; models that are no longer served have no series."""
        family = self._gauges["model_ready"]
        family.clear()
        for state in states:
            family.labels(state.name).set(1 if state.ready else 0)

    def show_models(self, models: Iterable[ModelInfo]) -> None:
        """Publish which models are loaded and create their series, so that rates start from zero."""
        family = self._gauges["model_info"]
        family.clear()
        for info in models:
            family.labels(
                *(info.name, info.version, info.architecture, ",".join(info.sources), ",".join(info.targets)),
                *(info.digest, info.precision, info.device, info.device_wanted, info.provider),
            ).set(1)
            for gauge in ("queued_sentences", "sentences_in_flight", "rows_in_use"):
                self._gauge(gauge, info.name)
            for counter in ("sentences_cancelled", "engine_failures", "sentences_repeating"):
                self._counter(counter, info.name)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format, UTF-8."""
        return generate_latest(self.registry)

    # The engine's events, from its threads; prometheus_client has its own locks.

    def record(self, event: EngineEvent) -> None:
        """Record an event of the engine; one that has no metric is ignored."""
        match event:
            case StepDone(model, rows, seconds):
                self._histogram("batch_rows", model).observe(rows)
                self._histogram("step_seconds", model).observe(seconds)
            case LoadChanged(model, rows, sentences, queued):
                self._gauge("rows_in_use", model).set(rows)
                self._gauge("sentences_in_flight", model).set(sentences)
                self._gauge("queued_sentences", model).set(queued)
            case StageDone(model=str(model), stage=stage, measured=True):
                seconds = event.ended - event.began
                self._histogram("stage_seconds", model, stage if stage in STAGES else OTHER).observe(seconds)
            case SentenceFinished():
                self._sentence_finished(event)
            case SentencesLookedUp(model, hits, shared, misses):
                self._counter("cache_sentences", model, "hit").inc(hits)
                self._counter("cache_sentences", model, "shared").inc(shared)
                self._counter("cache_sentences", model, "miss").inc(misses)
            case Measured(model, what, value):
                self._histogram(what, model).observe(value)
            case SentencesCancelled(model, sentences):
                self._counter("sentences_cancelled", model).inc(sentences)
            case RequestRejected(model, reason):
                self._counter("rejected", model, reason if reason in self._reasons else OTHER).inc()
            case RunFailed(model):
                self._counter("engine_failures", model).inc()

    def _sentence_finished(self, event: SentenceFinished) -> None:
        model = event.model
        self._counter("sentences", model, event.finish_reason).inc()
        self._counter("tokens", model, "source").inc(event.source_tokens)
        self._counter("tokens", model, "target").inc(event.target_tokens)
        self._histogram("sentence_surprisal_nats", model).observe(-event.mean_logprob)
        self._histogram("queue_seconds", model).observe(event.queue_seconds)
        self._histogram("compute_seconds", model).observe(event.compute_seconds)
        if event.repeats:
            self._counter("sentences_repeating", model).inc()
