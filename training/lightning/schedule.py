"""What changes from update to update, the learning rate above all: pure functions."""

from __future__ import annotations

import math

from training.config import OptimisationConfig


def rate_factor(update: int, config: OptimisationConfig) -> float:
    """What the peak rate is multiplied by at an update (0-based).

    Linear warm-up, then the inverse square root of the update (1706.03762, equation 3), and over the last
    ``cooldown_updates`` a straight line to zero.
    """
    step = update + 1
    factor = min(step / config.warmup_updates, math.sqrt(config.warmup_updates / step))
    remaining = config.max_updates - update
    if config.cooldown_updates and remaining < config.cooldown_updates:
        factor *= max(0.0, remaining / config.cooldown_updates)
    return factor


def sampled_pieces(update: int, config: OptimisationConfig) -> int:
    """How many random pieces stand for the rest of the vocabulary at an update (0-based); 0: the whole softmax."""
    whole = config.whole_softmax_updates
    last = config.cooldown_updates if whole is None else whole
    return 0 if config.max_updates - update <= last else config.sampled_pieces
