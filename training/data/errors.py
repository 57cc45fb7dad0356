"""Errors in training data."""


class CorpusError(ValueError):
    """A corpus cannot be found, fetched or read."""
