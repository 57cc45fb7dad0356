"""Training and service tokenise alike: they find the same tokens in each word, and cut long sentences alike."""

import pytest
import tokenizers

from service.bundle.alignment import white_space_words
from service.bundle.manifest import SpecialIds
from service.engine.attention.alignment import group
from service.engine.text.segmentation import SegmentationOptions, segment_text
from service.engine.text.tokenizer import Tokenizer
from training.data.subwords import train_tokenizer
from training.decoding.beam_search import SearchOptions
from training.decoding.translate import segments_of
from training.evaluation.scored_pairs import tokens_of_words
from training.recipe import VocabularyConfig

CLAUSES = "the small cat, which had come home late, saw a house; and then (nobody knows why) it slept again"
SENTENCES = [
    *("a", "short.", "12 - 34 ...", "I can't see the 12 houses .", "Je ne  vois pas l’ami\u00a0! "),
    *(" 👩‍👩‍👧 naïve café 日本語 x", "« Bonjour », dit-il ( 3,5 % ).", "word -- and … more ▁ marks"),
    *("zero\u200b width \u200bspace", CLAUSES, " ".join([CLAUSES] * 4), f"  {CLAUSES} : {CLAUSES}!  "),
    *("one two three " * 20, "l'été, naïve café e\u0301te\u0301, " * 8, "antidisestablishmentarianism " * 3),
    "猫が家に帰ってきて、とても眠かった。" * 3,
]


@pytest.fixture(scope="module")
def library() -> tokenizers.Tokenizer:
    """Return a vocabulary so small that most words are several pieces or bytes."""
    made = train_tokenizer([CLAUSES, *SENTENCES[3:5]] * 3, VocabularyConfig(size=330))
    made.encode_special_tokens = True
    return made


@pytest.mark.parametrize("text", SENTENCES)
def test_both_find_the_same_tokens_in_each_word(library: tokenizers.Tokenizer, text: str) -> None:
    tokens = Tokenizer(library, SpecialIds(0, 1, 2)).tokens(text)
    assert tokens_of_words(text, library.encode(text).offsets) == group(tokens, white_space_words(text))


@pytest.mark.parametrize("wrap", [8, 24, 128])
@pytest.mark.parametrize("text", SENTENCES)
def test_both_cut_at_the_same_places(library: tokenizers.Tokenizer, text: str, wrap: int) -> None:
    segmentation = SegmentationOptions("en", wrap, 256, split=False)
    expected = segment_text(text, Tokenizer(library, SpecialIds(0, 1, 2)), segmentation)
    found = segments_of(text, library, SearchOptions(max_length=256, wrap_tokens=wrap))
    assert [(each.start, each.end, each.ids) for each in found] == [
        (each.start, each.end, each.ids) for each in expected
    ]
    assert wrap > 8 or text not in SENTENCES[9:12] or len(found) > 2
