"""The rule that ends a beam search, for the service and for training (docs/adr/0006-how-a-search-ends.md).

A search of K hypotheses, of which the n best are wanted, ends at the maximum length, and by one of two scores:
- `score_to_win`: no live hypothesis could reach it, even if its next `lookahead_tokens` tokens were certain;
- `score_to_go_on`: no live hypothesis would exceed it if it ended now.

`early_stopping` says when the second one is known, in the terms of transformers: true, false and "never". None is our
own rule, which looks two tokens ahead; the others look ahead up to the maximum length, so that only hypotheses that
cannot win any more are given up before K are finished.
"""

from collections.abc import Sequence

from service.bundle.limits import LOOKAHEAD_TOKENS
from service.bundle.manifest import EarlyStopping

_UNKNOWN = float("-inf")
"""The search continues for every live hypothesis."""


def lookahead_tokens(early_stopping: EarlyStopping | None, max_length: int) -> int:
    """Return the number of tokens that are assumed to be certain for a live hypothesis that is behind."""
    return LOOKAHEAD_TOKENS if early_stopping is None else max_length


def score_to_win(finished: Sequence[float], n_best: int) -> float:
    """Return the score of the worst of the n best finished hypotheses; -inf before there are n."""
    return _UNKNOWN if len(finished) < n_best else sorted(finished, reverse=True)[n_best - 1]


def score_to_go_on(
    finished: Sequence[float], n_best: int, beam_size: int, early_stopping: EarlyStopping | None
) -> float:
    """Return the score that a live hypothesis must exceed as it is; -inf before K are finished.

    It is the score to win by our own rule, the worst of the K best with false, out of reach with true, and always -inf
    with "never". A greedy search (K = 1) ends with its first hypothesis by every rule.
    """
    if len(finished) < beam_size or (early_stopping == "never" and beam_size > 1):
        return _UNKNOWN
    if early_stopping is True:
        return float("inf")
    return score_to_win(finished, n_best if early_stopping is None else beam_size)
