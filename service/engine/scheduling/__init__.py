"""Continuous batching: which sentences run, in which thread, and when a request is refused."""
