"""What training measures is what the service gives: both read the same alignment from the same attention."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import tokenizers

from service.bundle.manifest import AlignmentHead, SpecialIds
from service.engine.attention import alignment as served
from service.engine.text.tokenizer import Tokenizer
from training.alignment import gold as trained
from training.alignment.head_search import Reading
from training.data.subwords import train_tokenizer
from training.recipe import VocabularyConfig

SENTENCES = [
    "I can't see the 12 houses .",
    "Je ne  vois pas l’ami\u00a0! ",
    " 👩‍👩‍👧 naïve café 日本語 x",
    "a",
    "« Bonjour », dit-il ( 3,5 % ).",
    "word -- and … more ▁ marks",
]


@pytest.fixture(scope="module")
def tokenizer() -> tokenizers.Tokenizer:
    """A vocabulary so small that most words are several pieces or bytes."""
    return train_tokenizer(SENTENCES[:2] * 3, VocabularyConfig(size=330))


@pytest.mark.parametrize("text", SENTENCES)
def test_both_find_the_same_tokens_in_each_word(tokenizer: tokenizers.Tokenizer, text: str) -> None:
    tokens = Tokenizer(tokenizer, SpecialIds(0, 1, 2)).tokens(text)
    expected = served.group(tokens, served.white_space_words(text))
    assert trained.word_groups(text, tokenizer.encode(text).offsets) == expected


@pytest.mark.parametrize("step", ["produce", "consume"])
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_both_find_the_same_links(step: Literal["produce", "consume"], threshold: float | None) -> None:
    random = np.random.default_rng(5)
    head = AlignmentHead(layer=1, head=2, step=step, threshold=threshold, aer=None, measured_on=None)
    sources, targets = [[0], [1, 2], [], [3, 4, 5]], [[0, 1], [2], [], [3]]
    for _ in range(50):
        attention = random.dirichlet(np.full(7, 0.3), (2, 3, 5)).astype(np.float32)
        expected = served.links(served.alignment_weights(attention, head), sources, targets, threshold)
        ours = Reading(1, 2, step, threshold).links(attention, targets, sources)
        assert ours == frozenset(expected)
        assert trained.pharaoh(ours) == served.pharaoh(expected)
