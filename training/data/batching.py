"""Batches of pairs of similar length within a token budget, in an order that depends only on the seed and the epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from training.data import padding
from training.data.dataset import EncodedPairs, Entries, Ids, epoch_entries
from training.data.link_table import LinkTable, attention_targets
from training.data.padding import PaddedPairs, pad_pairs


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded ids of B pairs, S source and T target positions."""

    source: Tensor
    """int64 [B, S]; each row ends with the end token."""
    source_lengths: Tensor
    """int64 [B]."""
    target_in: Tensor
    """int64 [B, T]: begin token, then the target without its end token."""
    target_out: Tensor
    """int64 [B, T]: the target with its end token."""
    target_lengths: Tensor
    """int64 [B]."""
    links: Tensor | None = None
    """float32 [B, T, S]: the targets of guided attention; a row sums to one, or to zero if its target is unknown."""

    def to(self, device: torch.device) -> Batch:
        """Return the same batch on another device."""
        return self._each(lambda array: array.to(device))

    def twice(self) -> Batch:
        """Return the pairs twice, all of them and then all again: 2 B rows."""
        return self._each(lambda array: torch.cat([array, array]))

    def _each(self, changed: Callable[[Tensor], Tensor]) -> Batch:
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: changed(array) for name, array in arrays.items() if array is not None})


def plan_epoch(
    corpora: Sequence[EncodedPairs], weights: Sequence[float], batch_tokens: int, seed: int, epoch: int
) -> list[Entries]:
    """Cut an epoch into batches whose padded target and source each stay within ``batch_tokens``.

    Pairs are sorted by length with random ties, so that neighbours differ from epoch to epoch and padding is small.
    Then whole batches are shuffled. The order depends only on the arguments, so resuming needs only a position.
    """
    entries = epoch_entries([len(corpus) for corpus in corpora], weights, seed, epoch)
    random = np.random.default_rng((seed, epoch, 1))
    entries = entries[random.permutation(len(entries))]
    source = np.concatenate([corpus.source.lengths for corpus in corpora])
    target = np.concatenate([corpus.target.lengths for corpus in corpora])
    first = np.cumsum([0, *(len(corpus) for corpus in corpora)])[entries[:, 0]]
    source, target = source[first + entries[:, 1]], target[first + entries[:, 1]]
    order = np.lexsort((source, target))
    longest = np.maximum(source, target)[order].tolist()
    batches = [entries[order[start:stop]] for start, stop in cut(longest, batch_tokens)]
    return [batches[i] for i in random.permutation(len(batches))]


def cut(lengths: Sequence[int], budget: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of batches of neighbours that stay within a budget once they are padded."""
    start, longest = 0, 0
    for i, length in enumerate(lengths):
        longest_here = max(longest, length)
        if i > start and (i - start + 1) * longest_here > budget:
            yield start, i
            start, longest_here = i, length
        longest = longest_here
    if lengths:
        yield start, len(lengths)


def collate(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Pad pairs, which end with the end token, into one batch."""
    return batch_of(pad_pairs(sources, targets))


def batch_of(pairs: PaddedPairs) -> Batch:
    """Return padded pairs as tensors."""
    return Batch(*(torch.from_numpy(getattr(pairs, field.name)) for field in fields(pairs)))


def pad(sentences: Sequence[Ids] | Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return ids int64 [B, N], padded at the end, and lengths int64 [B]."""
    padded, lengths = padding.pad(sentences)
    return torch.from_numpy(padded), torch.from_numpy(lengths)


class TokenBatches:
    """An endless stream of batches for one of several processes, which can start anywhere."""

    def __init__(
        self,
        corpora: Sequence[EncodedPairs],
        weights: Sequence[float],
        batch_tokens: int,
        seed: int,
        links: Sequence[LinkTable] | None = None,
    ) -> None:
        self._corpora, self._weights, self._links = corpora, weights, links
        self._batch_tokens, self._seed = batch_tokens, seed

    def stream(self, position: int = 0, rank: int = 0, processes: int = 1) -> Iterator[Batch]:
        """Yield this process' batches, beginning with its ``position``-th since the start of training."""
        epoch, skipped = 0, 0
        while True:
            plan = plan_epoch(self._corpora, self._weights, self._batch_tokens, self._seed, epoch)
            mine = plan[rank : len(plan) - len(plan) % processes : processes]
            if not mine:
                raise ValueError(f"{len(plan)} batches an epoch are too few for {processes} processes")
            for entries in mine[max(0, position - skipped) :]:
                yield self._collate(entries)
            skipped += len(mine)
            epoch += 1

    def _collate(self, entries: Entries) -> Batch:
        chosen = [(self._corpora[corpus], pair) for corpus, pair in entries.tolist()]
        batch = collate([c.source[i] for c, i in chosen], [c.target[i] for c, i in chosen])
        if self._links is None:
            return batch
        links = (self._links[corpus][pair] for corpus, pair in entries.tolist())
        return replace(batch, links=attention_targets(links, batch.target_out.shape[1], batch.source.shape[1]))


def ordered_batches(pairs: EncodedPairs, batch_tokens: int) -> Iterator[tuple[list[int], Batch]]:
    """Yield (indices, batch) over all pairs, shortest first, for development loss and decoding."""
    order = np.lexsort((pairs.source.lengths, pairs.target.lengths))
    longest = np.maximum(pairs.source.lengths, pairs.target.lengths)[order].tolist()
    for start, stop in cut(longest, batch_tokens):
        chosen = order[start:stop].tolist()
        yield chosen, collate([pairs.source[i] for i in chosen], [pairs.target[i] for i in chosen])
