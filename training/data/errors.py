"""Errors in training data."""


class CorpusError(ValueError):
    """A corpus that cannot be found, fetched or read."""
