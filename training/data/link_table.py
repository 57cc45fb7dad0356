"""The links between source and target tokens of training pairs, for guided attention, in flat arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from training.data.dataset import EncodedPairs
from training.runs.fingerprint import PreparedError


@dataclass(frozen=True, slots=True)
class LinkTable:
    """The links of a corpus: ``pairs`` [links, 2] (source, target) of all sentences, ``offsets`` [sentences + 1]."""

    pairs: npt.NDArray[np.uint16]
    offsets: npt.NDArray[np.int64]

    @staticmethod
    def of(sentences: Sequence[Collection[tuple[int, int]]]) -> LinkTable:
        """Return the table of a corpus, given the set of links of each sentence pair."""
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(links) for links in sentences], out=offsets[1:])
        flat = [link for links in sentences for link in sorted(links)]
        return LinkTable(np.array(flat, np.uint16).reshape(-1, 2), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> npt.NDArray[np.uint16]:
        return self.pairs[self.offsets[index] : self.offsets[index + 1]]

    def save(self, path: Path, corpus: EncodedPairs) -> None:
        """Write one compressed .npz, with the fingerprint of the ``corpus`` that the links belong to."""
        np.savez_compressed(path, pairs=self.pairs, offsets=self.offsets, of=np.array(corpus.fingerprint))

    @staticmethod
    def load(path: Path, corpus: EncodedPairs) -> LinkTable:
        """Read what ``save`` wrote for this ``corpus``.

        Raises FileNotFoundError with the command that makes it, PreparedError if the links belong to other text.
        """
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: guided alignment needs `python -m training links RUN` first")
        with np.load(path) as data:
            table = LinkTable(data["pairs"], data["offsets"])
            of = str(data.get("of"))
        if of != corpus.fingerprint:
            raise PreparedError(f"{path} does not belong to the prepared text: run `python -m training links` again")
        return table


def attention_targets(links: Iterable[npt.NDArray[np.uint16]], target: int, source: int) -> Tensor:
    """Return the targets of guided attention, float32 [B, T, S]: a target token's weight is divided among its links.

    Rows of target tokens without a link are zero.
    """
    rows = list(links)
    target_weights = torch.zeros(len(rows), target, source)
    for row, pairs in enumerate(rows):
        places = torch.from_numpy(pairs.astype(np.int64))
        target_weights[row, places[:, 1], places[:, 0]] = 1.0
    return target_weights / target_weights.sum(-1, keepdim=True).clamp_min(1.0)
