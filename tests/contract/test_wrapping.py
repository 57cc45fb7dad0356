"""Training and service tokenise long sentences alike, so they cut them at the same places."""

import pytest
import tokenizers

from service.bundle.manifest import SpecialIds
from service.bundle.wrapping import join
from service.engine.text.segmentation import SegmentationOptions, segment_text
from service.engine.text.tokenizer import Tokenizer
from training.data.subwords import train_tokenizer
from training.decoding.beam_search import SearchOptions
from training.decoding.translate import segments_of
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
    """Return a vocabulary so small that most words are several pieces or bytes."""
    made = train_tokenizer([WORDS, "l'été naïve café"] * 3, VocabularyConfig(size=330))
    made.encode_special_tokens = True
    return made


@pytest.mark.parametrize("wrap", [8, 24, 48, 128])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_both_cut_at_the_same_places(tokenizer: tokenizers.Tokenizer, sentence: str, wrap: int) -> None:
    segmentation = SegmentationOptions("en", wrap, 256, split=False)
    expected = segment_text(sentence, Tokenizer(tokenizer, SpecialIds(0, 1, 2)), segmentation)
    found = segments_of(sentence, tokenizer, SearchOptions(max_length=256, wrap_tokens=wrap))
    assert [(segment.start, segment.end) for segment in found] == [
        (sentence.start, sentence.end) for sentence in expected
    ]
    assert [segment.ids for segment in found] == [sentence.ids for sentence in expected]


def test_parts_are_joined_with_what_stood_between_them(tokenizer: tokenizers.Tokenizer) -> None:
    found = segments_of(WORDS, tokenizer, SearchOptions(max_length=256, wrap_tokens=24))
    spans = [(segment.start, segment.end) for segment in found]
    assert len(found) > 2
    assert join(WORDS, spans, [WORDS[start:end] for start, end in spans]).text == WORDS
    assert join("", [], []).text == ""
    assert join("12 - 34", [], []).text == "12 - 34"
    assert segments_of("12 - 34", tokenizer, SearchOptions()) == []
