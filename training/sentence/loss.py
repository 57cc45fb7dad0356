"""The loss: softmax over translations, cross-entropies of the classes, and the penalty on overlapping hops."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, nll_loss

from training.sentence.network import SentenceOutput
from training.sentence.recipe import SentenceOptimisation


class PairKeys(NamedTuple):
    """The labels of the 2 · P sentences of a batch: P of the first languages, then their translations."""

    sentences: Tensor
    """int64 [2P]: a hash of each sentence; equal sentences are not each other's negatives."""
    languages: Tensor
    """int64 [2P]."""
    domains: Tensor
    """int64 [2P]."""


class Losses(NamedTuple):
    """The parts of the loss, unweighted."""

    matching: Tensor
    language: Tensor
    domain: Tensor
    penalty: Tensor

    def total(self, config: SentenceOptimisation) -> Tensor:
        """Return the weighted sum."""
        return (
            config.matching_weight * self.matching
            + config.language_weight * self.language
            + config.domain_weight * self.domain
            + config.penalty * self.penalty
        )


def losses(output: SentenceOutput, keys: PairKeys, config: SentenceOptimisation) -> Losses:
    """Return the parts of the loss of a batch of P pairs, whose sentences are 2 · P rows."""
    return Losses(
        matching(output.embedding, keys.sentences, config),
        nll_loss(output.languages, keys.languages),
        nll_loss(output.domains, keys.domains),
        overlap(output.attention).mean(),
    )


def matching(embeddings: Tensor, sentences: Tensor, config: SentenceOptimisation) -> Tensor:
    """Return the additive-margin softmax loss in both directions (1902.08564, equation 5).

    embeddings [2P, D] of length 1; sentences int64 [2P]. Another pair with an equal sentence on either side is left
    out of a pair's negatives, since it would be a right answer.
    """
    first, second = embeddings.chunk(2)
    first_keys, second_keys = sentences.chunk(2)
    pairs = torch.arange(len(first), device=first.device)
    scores = config.scale * (first @ second.T - config.margin * torch.eye(len(first), device=first.device))
    same = (first_keys[:, None] == first_keys) | (second_keys[:, None] == second_keys)
    same.fill_diagonal_(False)
    scores = scores.masked_fill(same, -torch.inf)
    return (cross_entropy(scores, pairs) + cross_entropy(scores.T, pairs)) / 2


def overlap(attention: Tensor) -> Tensor:
    """Return ‖A Aᵀ − I‖²_F of each sentence (equation 8): [B, r, N] → [B]."""
    gram = attention @ attention.transpose(1, 2)
    difference = gram - torch.eye(gram.shape[-1], device=gram.device)
    return difference.square().sum(dim=(1, 2))
