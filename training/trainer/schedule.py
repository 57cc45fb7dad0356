"""What changes from update to update: above all the learning rate. The functions have no side effects."""

from __future__ import annotations

import math

from training.recipe import OptimisationConfig


def last_update(config: OptimisationConfig, ended_at: int | None = None) -> int:
    """Return the update that a run ends with: ``max_updates``, or the end of the cooldown that patience began earlier.

    ``ended_at``: the update at which patience ended, if it did.
    """
    if ended_at is None:
        return config.max_updates
    return min(config.max_updates, ended_at + config.cooldown_updates)


def rate_factor(update: int, config: OptimisationConfig, last: int | None = None) -> float:
    """Return what the peak rate is multiplied by at an update (0-based).

    Linear warm-up, then the inverse square root of the update (1706.03762, equation 3), and over the
    ``cooldown_updates`` before the ``last`` update (``max_updates`` if not given) a straight line to zero.
    """
    step = update + 1
    factor = min(step / config.warmup_updates, math.sqrt(config.warmup_updates / step))
    remaining = (config.max_updates if last is None else last) - update
    if config.cooldown_updates and remaining < config.cooldown_updates:
        factor *= max(0.0, remaining / config.cooldown_updates)
    return factor


def sampled_pieces(update: int, config: OptimisationConfig, last: int | None = None) -> int:
    """How many random pieces stand for the rest of the vocabulary at an update (0-based); 0: the whole softmax."""
    whole = config.whole_softmax_updates
    at_the_end = config.cooldown_updates if whole is None else whole
    remaining = (config.max_updates if last is None else last) - update
    return 0 if remaining <= at_the_end else config.sampled_pieces
