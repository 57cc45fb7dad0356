"""What training evaluates is what the service translates: both cut long sentences at the same places."""

from __future__ import annotations

import pytest
import tokenizers

from service.bundle.manifest import SpecialIds
from service.engine.registry import WRAP_TOKENS
from service.engine.text.segmented_text import SegmentationOptions, segment_text
from service.engine.text.tokenizer import Tokenizer
from training.data.subwords import train_tokenizer
from training.decoding import wrapping
from training.recipe import VocabularyConfig

WORDS = "the small cat, which had come home late, saw a house; and then (nobody knows why) it slept again"
SENTENCES = [
    WORDS,
    " ".join([WORDS] * 4),
    f"  {WORDS} : {WORDS}!  ",
    "one two three " * 20,
    "l'été, naïve café e\u0301te\u0301, " * 8,
    "猫が家に帰ってきて、とても眠かった。" * 3,
    "antidisestablishmentarianism " * 3,
    "short.",
    "12 - 34 ...",
]


@pytest.fixture(scope="module")
def tokenizer() -> tokenizers.Tokenizer:
    """A vocabulary so small that most words are several pieces or bytes."""
    made = train_tokenizer([WORDS, "l'été naïve café"] * 3, VocabularyConfig(size=330))
    made.encode_special_tokens = True
    return made


@pytest.mark.parametrize("wrap", [8, 24, 48, 128])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_both_cut_at_the_same_places(tokenizer: tokenizers.Tokenizer, sentence: str, wrap: int) -> None:
    segmentation = SegmentationOptions("en", wrap, 256, split=False)
    expected = segment_text(sentence, Tokenizer(tokenizer, SpecialIds(0, 1, 2)), segmentation)
    found = wrapping.segments(tokenizer, sentence, wrap, 256)
    assert [(segment.start, segment.end) for segment in found] == expected.spans
    assert [(*segment.ids, 2) for segment in found] == [segment.ids for segment in expected.segments]


def test_both_wrap_from_the_same_length_on() -> None:
    assert wrapping.WRAP_TOKENS == WRAP_TOKENS


def test_parts_are_joined_with_what_stood_between_them(tokenizer: tokenizers.Tokenizer) -> None:
    found = wrapping.segments(tokenizer, WORDS, 24, 256)
    assert len(found) > 2
    assert wrapping.join(WORDS, found, [WORDS[segment.start : segment.end] for segment in found]) == WORDS
    assert wrapping.join("", [], []) == ""
    assert wrapping.join("12 - 34", [], []) == "12 - 34"
