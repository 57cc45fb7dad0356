"""Scoring of given translations by teacher forcing (forced decoding)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from service.bundle.vocabulary import EOS
from training.data.batching import collate
from training.decoding.batches import evaluating, length_groups
from training.networks.build import Network


@dataclass(frozen=True, slots=True)
class Scored:
    """The network's scores of a given translation of T tokens, including the end token."""

    logprobs: npt.NDArray[np.float32]
    """[T]."""
    ranks: npt.NDArray[np.int64]
    """[T], 1 for the most likely token."""
    attention: npt.NDArray[np.float32]
    """Cross attention [L, H, T, S]: row t belongs to the step that produces token t."""


def score_targets(network: Network, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Scored]:
    """Score given targets by teacher forcing, in their order; ids have no end tokens on either side."""
    results: dict[int, Scored] = {}
    longer = [max(s, t, key=len) for s, t in zip(sources, targets, strict=True)]
    with evaluating(network) as device:
        for group in length_groups(longer):
            results.update(zip(group, _score_group(network, sources, targets, group, device), strict=True))
    return [results[index] for index in range(len(sources))]


def _score_group(
    network: Network,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    group: list[int],
    device: torch.device,
) -> Iterator[Scored]:
    closed = [[np.array([*side[i], EOS], np.uint16) for i in group] for side in (sources, targets)]
    batch = collate(closed[0], closed[1]).to(device)
    decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
    logits = network.logits(decoded.hidden).float()  # [B, T, V]
    chosen = logits.gather(-1, batch.target_out[:, :, None])  # [B, T, 1]
    logprobs = (chosen[:, :, 0] - logits.logsumexp(-1)).cpu().numpy()
    ranks = ((logits > chosen).sum(-1) + 1).cpu().numpy()
    weights = decoded.cross_attention.float().cpu().numpy()
    for row, (source, target) in enumerate(
        zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    ):
        yield Scored(logprobs[row, :target], ranks[row, :target], weights[row, :, :, :target, :source])
