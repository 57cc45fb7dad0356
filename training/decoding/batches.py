"""Padded batches of sentences of similar length, and the evaluation mode of a network."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from service.bundle.vocabulary import EOS
from training.data.batching import cut, pad
from training.networks.build import Network

BATCH_TOKENS = 4096
"""Source positions of a batch, including padding, for all beams."""


@contextmanager
def evaluating(network: Network) -> Iterator[torch.device]:
    """Switch off dropout and gradients in this context; yield the network's device."""
    before = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield next(network.parameters()).device
    finally:
        network.train(before)


def pad_sources(sources: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return ids without end tokens as a padded int64 [B, S] with end tokens, and their lengths, int64 [B]."""
    padded, lengths = pad([[*source, EOS] for source in sources])
    return padded.to(device), lengths.to(device)


def length_groups(sources: Sequence[Sequence[int]], rows_each: int = 1) -> Iterator[list[int]]:
    """Yield indices in batches of similar length, longest first, so that a batch that is too big fails at once."""
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    for start, stop in cut([rows_each * (len(sources[i]) + 1) for i in order], BATCH_TOKENS):
        yield order[start:stop]
