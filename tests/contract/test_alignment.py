"""Training measures what the service gives: both find the same tokens in each word."""

import pytest
import tokenizers

from service.bundle.alignment import white_space_words
from service.bundle.manifest import SpecialIds
from service.engine.attention.alignment import group
from service.engine.text.tokenizer import Tokenizer
from training.data.subwords import train_tokenizer
from training.evaluation.scored_pairs import tokens_of_words
from training.recipe import VocabularyConfig

SENTENCES = [
    "I can't see the 12 houses .",
    "Je ne  vois pas l’ami\u00a0! ",
    " 👩‍👩‍👧 naïve café 日本語 x",
    "a",
    "« Bonjour », dit-il ( 3,5 % ).",
    "word -- and … more ▁ marks",
    "zero\u200b width \u200bspace",
]


@pytest.fixture(scope="module")
def tokenizer() -> tokenizers.Tokenizer:
    """Return a vocabulary so small that most words are several pieces or bytes."""
    return train_tokenizer(SENTENCES[:2] * 3, VocabularyConfig(size=330))


@pytest.mark.parametrize("text", SENTENCES)
def test_both_find_the_same_tokens_in_each_word(tokenizer: tokenizers.Tokenizer, text: str) -> None:
    tokens = Tokenizer(tokenizer, SpecialIds(0, 1, 2)).tokens(text)
    expected = group(tokens, white_space_words(text))
    assert tokens_of_words(text, tokenizer.encode(text).offsets) == expected
