"""Decides which batch of its beam width a sentence joins, so that few long sentences do not widen the rows of many.

The memory of all sentences of a batch is padded to the longest source, so one source of 150 tokens beside 63 of 12
makes a step three times as long. Long sentences therefore run in a batch of their own if the padding costs more than
the second step. A sentence's numbers do not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

BATCHES = 2  # of one beam width


class Running(NamedTuple):
    """The sentences of a batch and the longest source among them, in tokens; (0, 0) if it is empty."""

    sentences: int
    longest: int

    def cost(self, step_cost: int) -> int:
        """Return the cost of a step, in source positions."""
        return step_cost + self.sentences * self.longest if self.sentences else 0

    def joined(self, sources: Sequence[int]) -> Running:
        """Return the batch after sentences of these lengths, longest first, have joined."""
        return Running(self.sentences + len(sources), max(self.longest, sources[0])) if sources else self


def choose_batches(sources: Sequence[int], running: tuple[Running, Running], step_cost: int | None) -> list[int]:
    """Return the number of the batch, 0 or 1, for each joining sentence, given the lengths of their sources.

    The long ones join one batch and the short ones the other, cut where the next steps of both cost least.
    `step_cost` is the cost of another step, in padded source positions; None: steps are never split.
    """
    all_in_first = [0] * len(sources)
    if step_cost is None:
        return all_in_first
    longest = max(*sources, running[0].longest)
    if not running[1].sentences and (len(sources) + running[0].sentences) * longest <= step_cost:
        return all_in_first  # a second step costs more than all positions
    order = sorted(range(len(sources)), key=lambda index: -sources[index])
    lengths = [sources[index] for index in order]
    _, cut, wide = min(_choices(lengths, running, step_cost))
    chosen = all_in_first
    for place, index in enumerate(order):
        chosen[index] = wide if place < cut else 1 - wide
    return chosen


def _choices(
    lengths: Sequence[int], running: tuple[Running, Running], step_cost: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (cost, cut, batch of the long ones) for every cut of the lengths, longest first."""
    cuts = [cut for cut in range(1, len(lengths)) if lengths[cut] != lengths[cut - 1]]
    for cut in (0, *cuts, len(lengths)):
        for wide in range(BATCHES):
            after = running[wide].joined(lengths[:cut]), running[1 - wide].joined(lengths[cut:])
            yield sum(batch.cost(step_cost) for batch in after), cut, wide
