"""What can be wrong with training data, said so that a person can act on it."""


class CorpusError(ValueError):
    """A corpus that cannot be found, fetched or read."""
