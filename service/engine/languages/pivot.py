"""Chooses the pairs that are translated in two legs, through a pivot language.

A pair is pivoted only if no model translates it directly.
"""

from __future__ import annotations

from collections.abc import Set

Pair = tuple[str, str]  # source and target language


def pivoted_pairs(direct: Set[Pair], pivot: str | None) -> frozenset[Pair]:
    """Return the pairs without a model of their own whose two legs, into the pivot and out of it, have one each.

    `direct` are the pairs that models translate. Without a pivot there are none.
    """
    into = {source for source, target in direct if target == pivot}
    out_of = {target for source, target in direct if source == pivot}
    return frozenset(
        (source, target) for source in into for target in out_of if source != target and (source, target) not in direct
    )
