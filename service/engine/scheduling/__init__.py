"""Continuous batching: the choice of sentences and threads, and the refusal of requests."""
