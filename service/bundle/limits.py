"""Limits of lengths and of the search, for the service and for training; every count includes the end token."""

WRAP_TOKENS = 128
"""Sentences of more tokens are translated in parts, unless the manifest gives another number.

Models accept more, but have been trained on few sentences of that length.
"""

SPARE_TOKENS = 8
"""A translation may be twice as long as its source and this much longer."""

SOURCE_STEP = 8
"""Source positions are padded to a multiple of this.

Capacities then change seldom, and a context is summed in the same order in any batch: ONNX Runtime's product of one row
adds seven remaining positions in another order than eight.
"""

LOOKAHEAD_TOKENS = 2
"""Beam search waits so many tokens for a live hypothesis that is behind."""


def length_limit(source_tokens: int, target_limit: int, requested: int | None = None) -> int:
    """Return the most tokens that a search may choose: ``requested``, or a limit that depends on the source.

    One of the ``target_limit`` places that the model has is kept for the end token of a translation that is cut off:
    attention is computed over a closed one.
    """
    return min(2 * source_tokens + SPARE_TOKENS if requested is None else requested, target_limit - 1)


MOST_SLOTS = 16
"""A step on a GPU returns a token and the place of a hypothesis in its beam as one number, token * MOST_SLOTS + place.

As float32 it is exact for a million tokens.
"""

IMPOSSIBLE = -1e8
"""Log-probabilities below this mean "never": graphs write large negative numbers for <pad> and <s>."""


def step_candidates(beam_size: int) -> int:
    """Return how many of the likeliest tokens of a row a step on a GPU returns: as many as any search reads."""
    return max(2 * beam_size, 5)
