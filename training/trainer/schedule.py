"""The learning-rate schedule, and what else changes from update to update. The functions have no side effects."""

import math

from training.recipe import OptimisationConfig


def last_update(config: OptimisationConfig, ended_at: int | None = None) -> int:
    """Return the last update of a run: ``max_updates``, or the end of a cooldown that patience began earlier.

    ``ended_at``: the update at which patience ended, if it did.
    """
    if ended_at is None:
        return config.max_updates
    return min(config.max_updates, ended_at + config.cooldown_updates)


def rate_factor(update: int, config: OptimisationConfig, last: int | None = None) -> float:
    """Return the factor of the peak learning rate at an update (0-based).

    It rises linearly in the warm-up, then stays (``constant_rate``) or falls with the inverse square root of the update
    (1706.03762, equation 3), and falls to zero in the ``cooldown_updates`` before the ``last`` update (``max_updates``
    by default).
    """
    step = update + 1
    factor = min(step / config.warmup_updates, 1.0 if config.constant_rate else math.sqrt(config.warmup_updates / step))
    remaining = (config.max_updates if last is None else last) - update
    if config.cooldown_updates and remaining < config.cooldown_updates:
        factor *= max(0.0, remaining / config.cooldown_updates)
    return factor


def sampled_pieces(update: int, config: OptimisationConfig, last: int | None = None) -> int:
    """Return the number of random pieces of the softmax at an update (0-based); 0: the whole vocabulary."""
    whole = config.whole_softmax_updates
    at_the_end = config.cooldown_updates if whole is None else whole
    remaining = (config.max_updates if last is None else last) - update
    return 0 if remaining <= at_the_end else config.sampled_pieces


def soft_share(done: float, until: float) -> float:
    """Return the share of soft steps of hard attention, which falls from 1 to 0 at ``until``, a share of training."""
    return max(0.0, 1 - done / until) if until else 0.0
