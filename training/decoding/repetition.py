"""Forbids tokens with which a hypothesis would repeat itself without end; `service.bundle.repetition` has the rule."""

import torch
from torch import Tensor

from service.bundle.repetition import MAX_PERIOD, run_limits


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
    return torch.tensor([run_limits(row[:length]).tolist() for row, length in rows], device=source.device)
