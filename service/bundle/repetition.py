"""The rule that prevents endless repetition in a translation.

A hypothesis ends in a cycle of period p if each of its last tokens equals the one p positions before it. For every
period up to MAX_PERIOD the rule counts for how many tokens in a row that has held. It forbids a token that would bring
the count to the limit of its period, one more copy and FURTHER tokens: no four tokens in a row occur a third time. A
source that repeats itself ("ha ha ha …", "1000000000000") may be repeated: the limits are then raised to twice its own
longest run. The end token is never forbidden, because it never occurs inside a hypothesis.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MAX_PERIOD = 16  # longest cycle that is noticed, in tokens
FURTHER = 3
LEAST_RUN = 1 + FURTHER  # the lowest limit
_LIMITS: npt.NDArray[np.int32] = np.arange(1 + FURTHER, MAX_PERIOD + FURTHER + 1, dtype=np.int32)


def run_limits(source_ids: Sequence[int]) -> npt.NDArray[np.int32]:
    """Return the limit of each period, [MAX_PERIOD], for the translation of a source."""
    return np.maximum(_LIMITS, np.int32(2 * longest_run(source_ids)))


def longest_run(ids: Sequence[int]) -> int:
    """Return the most consecutive tokens that equal the one p positions before them, over all p; 0 for short runs.

    Runs of fewer than three tokens count as 0, because they could not raise any limit.
    """
    if len(ids) - len(set(ids)) < 3:
        return 0
    tokens = np.asarray(ids)
    same = np.zeros((MAX_PERIOD, len(tokens)), bool)
    for period in range(1, min(MAX_PERIOD, len(tokens) - 1) + 1):
        same[period - 1, period:] = tokens[period:] == tokens[:-period]
    if not (same[:, 2:] & same[:, 1:-1] & same[:, :-2]).any():
        return 0
    longest, run = np.zeros(MAX_PERIOD, np.int64), np.zeros(MAX_PERIOD, np.int64)
    for column in same.T:
        run = (run + 1) * column
        longest = np.maximum(longest, run)
    return int(longest.max())
