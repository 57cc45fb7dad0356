"""R-Drop asks two draws of dropout to predict alike, and nothing of a network without dropout."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from tests.training.lightning.conftest import TOY
from training.config import load_recipe
from training.data.batching import collate
from training.lightning.module import Losses, TranslationModule


def losses(prepared: Path, *changes: str, sampled: int = 0) -> Losses:
    """What one batch of two pairs costs an untrained network that is being trained."""
    tokenizer = Tokenizer.from_file(str(prepared / "toy" / "tokenizer.json"))
    module = TranslationModule(load_recipe(TOY, list(changes)), tokenizer, []).train()
    pairs = [np.array(tokenizer.encode(text).ids, np.uint16) for text in ("We read.", "Nous lisons un livre.")]
    torch.manual_seed(1)
    return module.losses(collate(pairs, pairs), sampled)


@pytest.mark.parametrize("sampled", [0, 50])
def test_without_dropout_it_changes_nothing(prepared: Path, sampled: int) -> None:
    plain = losses(prepared, "network.dropout=0", sampled=sampled)
    with_it = losses(prepared, "network.dropout=0", "optimisation.r_drop=5", sampled=sampled)

    assert with_it.divergence is not None
    torch.testing.assert_close(with_it.mean(), plain.mean())
    assert int(with_it.tokens) == 2 * int(plain.tokens)


def test_with_dropout_what_the_draws_differ_by_joins_the_loss(prepared: Path) -> None:
    one = losses(prepared, "network.dropout=0.3", "optimisation.r_drop=1")
    five = losses(prepared, "network.dropout=0.3", "optimisation.r_drop=5")

    assert one.divergence is not None
    assert five.divergence is not None
    assert one.divergence.item() > 0
    torch.testing.assert_close(five.mean() - one.mean(), 4 * one.divergence)
