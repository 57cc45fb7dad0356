"""Which token would make a hypothesis repeat itself for ever: the service's rule (ADR 7), for evaluation.

For every period up to ``MAX_PERIOD`` it counts for how many tokens in a row each has equalled the one a period before.
A token that brings the count to its limit, one more copy and ``FURTHER`` tokens, is forbidden, so no four tokens in a
row occur a third time. A source that repeats itself raises the limits to twice its own longest run.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

MAX_PERIOD = 16
FURTHER = 3


def limits(source: Sequence[int]) -> list[int]:
    """Return the limit of each period, 1 to ``MAX_PERIOD``, for a source (ids with the end token)."""
    own = 2 * longest_run(source)
    return [max(period + FURTHER, own) for period in range(1, MAX_PERIOD + 1)]


def longest_run(ids: Sequence[int]) -> int:
    """Return the most consecutive tokens that equal the one p places before, over all periods p; 0 below three."""
    longest = 0
    for period in range(1, min(MAX_PERIOD, len(ids) - 1) + 1):
        run = 0
        for place in range(period, len(ids)):
            run = run + 1 if ids[place] == ids[place - period] else 0
            longest = max(longest, run)
    return longest if longest >= FURTHER else 0


def forbid(logprobs: Tensor, ids: Tensor, most: Tensor) -> None:
    """Set the log-probabilities [A, K, V] of forbidden tokens to minus infinity.

    ``ids`` int64 [A, K, T]: the tokens so far; ``most`` int64 [A, MAX_PERIOD]: the limits of each sentence.
    """
    steps = ids.shape[2]
    for period in range(1, min(MAX_PERIOD, steps - 1) + 1):
        same = ids[:, :, period:] == ids[:, :, :-period]
        run = same.flip(-1).cumprod(-1).sum(-1)  # [A, K]: how many of the last tokens in a row
        sentences, beams = (run + 1 >= most[:, period - 1, None]).nonzero(as_tuple=True)
        logprobs[sentences, beams, ids[sentences, beams, steps - period]] = float("-inf")


def limits_of(source: Tensor, lengths: Tensor) -> Tensor:
    """Return the limits of padded sources, [B, S] and [B] → int64 [B, MAX_PERIOD]."""
    rows = zip(source.tolist(), lengths.tolist(), strict=True)
    return torch.tensor([limits(row[:length]) for row, length in rows], device=source.device)
