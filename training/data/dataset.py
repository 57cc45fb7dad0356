"""Encoded sentence pairs in two flat arrays, so that a million of them take megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from service.bundle.vocabulary import EOS
from training.data.cleaning import Pair
from training.recipe import Recipe
from training.runs.fingerprint import hash_of
from training.runs.folder import RunFolder

Ids = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Side:
    """The sentences of one language: ``ids`` [total] of all sentences, ``offsets`` [sentences + 1] of their starts."""

    ids: Ids
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the tokens of each sentence, including the end token [sentences]."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """A corpus as token ids; each sentence ends with the end token."""

    source: Side
    target: Side

    def __len__(self) -> int:
        return len(self.source)

    def save(self, path: Path) -> None:
        """Write one uncompressed .npz."""
        arrays = {
            "source_ids": self.source.ids,
            "source_offsets": self.source.offsets,
            "target_ids": self.target.ids,
            "target_offsets": self.target.offsets,
        }
        np.savez(path, **arrays)  # type: ignore[arg-type]

    @property
    def fingerprint(self) -> str:
        """Return a hash of all ids and sentence boundaries."""
        arrays = (self.source.ids, self.source.offsets, self.target.ids, self.target.offsets)
        return hash_of(*(np.ascontiguousarray(array).data for array in arrays))

    @staticmethod
    def load(path: Path) -> EncodedPairs:
        """Read what ``save`` wrote."""
        with np.load(path) as data:
            return EncodedPairs(
                Side(data["source_ids"], data["source_offsets"]), Side(data["target_ids"], data["target_offsets"])
            )


def load_corpora(recipe: Recipe, folder: RunFolder) -> list[EncodedPairs]:
    """Return the training pairs of a run, one corpus of its recipe after the other."""
    return [EncodedPairs.load(folder.corpus(corpus.name)) for corpus in recipe.corpora]


def encode_pairs(
    pairs: Sequence[Pair], tokenizer: Tokenizer, max_tokens: int, subword_dropout: float = 0.0
) -> EncodedPairs:
    """Encode text pairs; pairs with more than ``max_tokens`` on either side are left out.

    With ``subword_dropout`` the sources are cut by BPE-dropout (1910.13267), which leaves out each merge with that
    probability. `tokenizers` uses its own random numbers, so two calls differ.
    """
    with _merges_left_out(tokenizer, subword_dropout):
        sources = [e.ids for e in tokenizer.encode_batch_fast([source for source, _ in pairs])]
    targets = [e.ids for e in tokenizer.encode_batch_fast([target for _, target in pairs])]
    fitting = [i for i in range(len(pairs)) if len(sources[i]) < max_tokens and len(targets[i]) < max_tokens]
    return EncodedPairs(encoded_side([sources[i] for i in fitting]), encoded_side([targets[i] for i in fitting]))


@contextmanager
def _merges_left_out(tokenizer: Tokenizer, probability: float) -> Iterator[None]:
    if not probability:  # words have no merges
        yield
        return
    tokenizer.model.dropout = probability
    try:
        yield
    finally:
        tokenizer.model.dropout = None


def encoded_side(sentences: Sequence[Sequence[int]]) -> Side:
    """Return sentences, given without end tokens, as one side of a corpus."""
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum([len(sentence) + 1 for sentence in sentences], out=offsets[1:])
    ids = np.fromiter((i for sentence in sentences for i in (*sentence, EOS)), np.uint16, count=int(offsets[-1]))
    return Side(ids, offsets)


Entries = npt.NDArray[np.int64]
"""[pairs, 2]: the corpus, and the pair in it."""


def epoch_entries(sizes: Sequence[int], weights: Sequence[float], seed: int, epoch: int) -> Entries:
    """Return the pairs of an epoch: each ``floor(weight)`` times, and the fraction of the weight at random.

    Returns [pairs, 2] in corpus order. The result depends only on the arguments.
    """
    random = np.random.default_rng((seed, epoch, 0))
    parts = []
    for corpus, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
        whole, fraction = divmod(weight, 1)
        drawn = random.permutation(size)[: round(fraction * size)]
        pairs = np.concatenate([np.tile(np.arange(size), int(whole)), np.sort(drawn)])
        parts.append(np.stack([np.full(len(pairs), corpus), pairs], axis=1))
    return np.concatenate(parts).astype(np.int64)
