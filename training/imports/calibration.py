"""Sentences for the calibration and comparison of an imported model: the user's, or made up of its own subwords."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from service.bundle.vocabulary import EOS, PAD
from training.decoding.batches import evaluating, length_groups
from training.decoding.greedy import greedy
from training.export.quantise import IdPair
from training.imports.source import ImportedModel
from training.networks.interface import Network

PAIRS = 200
LONGEST = 96
"""Tokens of a sentence: enough for every kind of activation, and fast with a large vocabulary."""


def encode_sources(model: ImportedModel, texts: Sequence[str]) -> list[list[int]]:
    """Return the ids of texts as the service makes them, for each target in turn; longer ones are cut."""
    encoded = [model.source.tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    return [_framed(model, number, ids) for number, ids in enumerate(filter(None, encoded))]


def made_up_sources(model: ImportedModel, count: int = PAIRS) -> list[list[int]]:
    """Return random subwords with a fixed seed, for imports without text."""
    generator = np.random.default_rng(0)
    pieces = model.source.producible[model.source.producible != EOS]
    lengths = generator.integers(2, 33, count)
    return [_framed(model, number, generator.choice(pieces, length).tolist()) for number, length in enumerate(lengths)]


def _framed(model: ImportedModel, number: int, ids: Sequence[int]) -> list[int]:
    """Return the ids of a text with the prefix of one of the targets and the end token, at most LONGEST."""
    prefix, end = model.targets[number % len(model.targets)].prefix, [EOS] * model.source_end
    return [*prefix, *ids[: LONGEST - len(prefix) - len(end)], *end]


def own_pairs(model: ImportedModel, network: Network, sources: Sequence[Sequence[int]]) -> list[IdPair]:
    """Return sources with the network's own greedy translations, each with </s> at its end."""
    found = translate_rows(model, network, sources)
    return [
        (np.array(source, np.uint16), np.array([*ids, EOS], np.uint16))
        for source, ids in zip(sources, found, strict=True)
    ]


def translate_rows(
    model: ImportedModel, network: Network, sources: Sequence[Sequence[int]], allowed: Sequence[Tensor] | None = None
) -> list[list[int]]:
    """Return greedy translations of sources as they are given, of at most LONGEST tokens.

    ``allowed``, a bool [V] for each source: the tokens that its translation may contain; None: all.
    """
    found: dict[int, list[int]] = {}
    with evaluating(network) as device:
        for group in length_groups(sources):
            rows = [sources[index] for index in group]
            lengths = torch.tensor([len(row) for row in rows], device=device)
            padded = torch.full((len(rows), int(lengths.max())), PAD, device=device)
            for place, row in enumerate(rows):
                padded[place, : len(row)] = torch.tensor(row)
            only = None if allowed is None else torch.stack([allowed[index] for index in group]).to(device)
            translations = greedy(network, padded, lengths, min(LONGEST, model.max_tokens), only)
            found.update(zip(group, translations, strict=True))
    return [found[index] for index in range(len(sources))]
