"""Links between the subwords of a run's training pairs, made by eflomal; guided attention is trained with them."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from training.alignment.eflomal import word_links
from training.data.dataset import EncodedPairs, Side, load_corpora
from training.data.link_table import LinkTable
from training.data.prepare import prepare
from training.recipe import Recipe
from training.runs.fingerprint import Prepared
from training.runs.folder import RunFolder

EPOCHS = 3


def prepare_with_links(recipe: Recipe, folder: RunFolder, mirror: Path | None) -> None:
    """Prepare a run folder, and link its pairs if the recipe guides attention; what is there is kept.

    Raises PreparedError if the folder was prepared with other values.
    """
    if folder.prepared.exists():
        Prepared.load(folder.prepared).require(recipe)
    else:
        prepare(recipe, folder, mirror, folder.downloads, word_links)
    linked = all(folder.links(corpus.name).exists() for corpus in recipe.corpora)
    if recipe.optimisation.guided_alignment is not None and not linked:
        make_links(folder.path)


def make_links(run: Path) -> dict[str, float]:
    """Align the subwords of a run's training pairs; returns each corpus' share of linked target tokens.

    Of a corpus with a low weight, only the pairs that ``EPOCHS`` epochs draw are aligned; the others stay unguided.
    The two directions of eflomal are symmetrised by grow-diag-final-and, as in Garg et al. 2019 (1909.02074). The
    end tokens of both sides are linked to each other. Raises AlignmentError when eflomal is missing or fails.
    """
    folder = RunFolder(run)
    recipe = folder.load_recipe()
    corpora = load_corpora(recipe, folder)
    chosen = [
        _seen(len(group), corpus.weight * EPOCHS, recipe.seed)
        for corpus, group in zip(recipe.corpora, corpora, strict=True)
    ]
    aligned = list(zip(corpora, chosen, strict=True))
    sources = [line for corpus, pairs in aligned for line in _lines(corpus.source, pairs)]
    targets = [line for corpus, pairs in aligned for line in _lines(corpus.target, pairs)]
    found = iter(word_links(sources, targets))  # guidance need not be perfect
    linked = {}
    for config, corpus, pairs in zip(recipe.corpora, corpora, chosen, strict=True):
        links = [frozenset[tuple[int, int]]()] * len(corpus)
        for pair in pairs.tolist():
            ends = (len(corpus.source[pair]) - 1, len(corpus.target[pair]) - 1)
            links[pair] = next(found) | {ends}
        table = LinkTable.of(links)
        table.save(folder.links(config.name), corpus)
        linked[config.name] = _linked_share(table, corpus)
    return linked


def _seen(size: int, epochs: float, seed: int) -> npt.NDArray[np.int64]:
    """Return the pairs of a corpus that are aligned: those that the first epochs draw, ascending."""
    count = min(size, math.ceil(size * epochs))
    return np.sort(np.random.default_rng(seed).permutation(size)[:count])


def _lines(side: Side, pairs: npt.NDArray[np.int64]) -> list[str]:
    """Return sentences as their subword ids, without the end token."""
    return [" ".join(map(str, side[i][:-1])) for i in pairs.tolist()]


def _linked_share(table: LinkTable, corpus: EncodedPairs) -> float:
    linked = sum(len(np.unique(table[i][:, 1])) for i in range(len(table)))
    return linked / max(1, int(corpus.target.offsets[-1]))  # a corpus may be development data as a whole
