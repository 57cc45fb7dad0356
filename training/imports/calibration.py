"""Sentences for the calibration and comparison of an imported model: the user's, or made up of its own subwords."""

from collections.abc import Sequence

import numpy as np

from service.bundle.vocabulary import EOS
from training.export.float_graphs import FloatGraphs
from training.export.quantise import IdPair
from training.imports.source import ImportedModel

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
    prefix, end = model.source_prefix(number % len(model.targets)), [EOS] * model.source_end
    return [*prefix, *ids[: LONGEST - len(prefix) - len(end)], *end]


def own_pairs(model: ImportedModel, graphs: FloatGraphs, sources: Sequence[Sequence[int]]) -> list[IdPair]:
    """Return sources of all targets in turn with the model's own greedy translations, each with </s> at its end."""
    begins = [model.targets[number % len(model.targets)].begin for number in range(len(sources))]
    return [
        (np.array(source), np.array([*ids, EOS]))
        for source, ids in zip(sources, graphs.translate(sources, LONGEST, begins=begins), strict=True)
    ]
