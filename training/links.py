"""Links between the subwords of a run's training pairs, by a statistical aligner: what guides attention."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from training.align import Links
from training.data.dataset import EncodedPairs, Side
from training.data.links import LinkTable
from training.prepare import RunFolder
from training.rival import align_both_ways, grow_diagonal


def make_links(run: Path) -> dict[str, float]:
    """Align all training pairs of a run piece by piece; returns each corpus' share of linked target tokens.

    Both directions of eflomal are joined by grow-diag-final-and, as Garg et al. 2019 (1909.02074) do; the end
    tokens of both sides are linked to each other. Raises AlignmentError when eflomal is missing or fails.
    """
    folder = RunFolder(run)
    names = [corpus.name for corpus in folder.load_recipe().corpora]
    corpora = [EncodedPairs.load(folder.corpus(name)) for name in names]
    sources = [line for corpus in corpora for line in _lines(corpus.source)]
    targets = [line for corpus in corpora for line in _lines(corpus.target)]
    found = iter(align_both_ways((sources, targets), ([], [])))
    linked = {}
    for name, corpus in zip(names, corpora, strict=True):
        ends = zip(corpus.source.lengths - 1, corpus.target.lengths - 1, strict=True)
        table = LinkTable.of([_with_ends(*next(found), (int(source), int(target))) for source, target in ends])
        table.save(folder.links(name))
        linked[name] = _linked_share(table, corpus)
    return linked


def _lines(side: Side) -> list[str]:
    """Every sentence as its piece ids, without the end token."""
    return [" ".join(map(str, side[i][:-1])) for i in range(len(side))]


def _with_ends(forward: Links, reverse: Links, ends: tuple[int, int]) -> Links:
    return grow_diagonal(forward, reverse) | {ends}


def _linked_share(table: LinkTable, corpus: EncodedPairs) -> float:
    linked = sum(len(np.unique(table[i][:, 1])) for i in range(len(table)))
    return linked / int(corpus.target.offsets[-1])
