"""Prometheus metrics of the server: its HTTP side, the engine's events, and the engine processes."""

from service.metrics.series import CONTENT_TYPE, Metrics

__all__ = ["CONTENT_TYPE", "Metrics"]
