"""The vocabulary: reversible, complete, and deaf to special tokens that people type."""

import unicodedata

import pytest
from tokenizers import Tokenizer

from service.bundle.vocabulary import BOS, BYTE_TOKENS, EOS, PAD
from training.data.cleaning import normalise
from training.data.subwords import train_tokenizer
from training.evaluation.test_sets import TestSet, without_unknown
from training.recipe import VocabularyConfig

TEXTS = [
    "I lost.",
    "J'ai perdu.",
    "He's calm, isn't he?",
    "Il est calme, n'est-ce pas ?",
    "The house costs 1234 euros.",
    "La maison coûte 1 234 € !",
    "Where is the big house?",
    "Où est la grande maison ?",
] * 3


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Return a tokenizer as a run folder's tokenizer.json keeps it."""
    loaded = Tokenizer.from_str(train_tokenizer(TEXTS, VocabularyConfig(size=400)).to_str())
    loaded.encode_special_tokens = True
    return loaded


def round_trip(tokenizer: Tokenizer, text: str) -> str:
    decoded: str = tokenizer.decode(tokenizer.encode(text).ids)
    return decoded


def test_special_and_byte_tokens_have_their_fixed_ids(tokenizer: Tokenizer) -> None:
    assert [tokenizer.token_to_id(token) for token in ("<pad>", "<s>", "</s>")] == [PAD, BOS, EOS] == [0, 1, 2]
    assert [tokenizer.token_to_id(token) for token in BYTE_TOKENS] == list(range(3, 3 + 256))
    assert tokenizer.get_vocab_size() == len(tokenizer.get_vocab()) <= 400


def test_nothing_is_unknown_or_special(tokenizer: Tokenizer) -> None:
    odd = ["日本語です", "👩‍👩‍👧 ok", "Ж", "a\u0301", "½", "x\x00y", "𝄞", "<0x41>", "I </s> lost.", "<s><pad>"]
    for text in [*TEXTS, *odd]:
        assert round_trip(tokenizer, text) == unicodedata.normalize("NFC", text)
        assert not {PAD, BOS, EOS, tokenizer.token_to_id("<0x41>")} & set(tokenizer.encode(text).ids)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("l’ami", "l'ami"),
        ("Où\u00a0? Là\u202f!", "Où ? Là !"),
        ("  two   spaces ", "two spaces"),
        ("a\tb\r\nc", "a b c"),
        ("co\u00adoperate\u200b", "cooperate"),
        ("e\u0301te\u0301", "été"),
    ],
)
def test_the_tokenizer_normalises_as_the_cleaning_does(tokenizer: Tokenizer, written: str, meant: str) -> None:
    assert normalise(written) == meant
    assert tokenizer.encode(written).ids == tokenizer.encode(meant).ids
    assert round_trip(tokenizer, written) == meant


def test_numbers_are_spelt_digit_by_digit(tokenizer: Tokenizer) -> None:
    digits = [piece for piece in tokenizer.encode("1234").tokens if any(c.isdigit() for c in piece)]
    assert [piece.strip("▁") for piece in digits] == ["1", "2", "3", "4"]


def test_lower_casing_and_given_tokens_are_inside_the_tokenizer() -> None:
    tokenizer = train_tokenizer(TEXTS, VocabularyConfig(size=400, lowercase=True))
    assert round_trip(tokenizer, "I LOST.") == "i lost."
    lines = ["il n&apos; y a pas @-@ de l&apos; eau ."] * 3
    tokenizer = train_tokenizer(lines, VocabularyConfig(size=400, pretokenised=True))
    assert round_trip(tokenizer, lines[0]) == lines[0]
    assert "▁n&apos;" in tokenizer.encode(lines[0]).tokens


def test_a_vocabulary_of_words_keeps_the_most_frequent_and_no_unk_is_sentences_without_others() -> None:
    texts = ["I lost.", "J'ai perdu.", "I won.", "J'ai perdu !", "A zebra lost."] * 2 + ["I lost."] * 3
    words = train_tokenizer(texts, VocabularyConfig(size=300, min_frequency=3, words=True))
    assert [words.token_to_id(token) for token in ("<pad>", "<s>", "</s>")] == [PAD, BOS, EOS]
    assert round_trip(words, "J'ai perdu.") == "J'ai perdu."
    assert round_trip(words, "A zebra lost.") == "UNK UNK lost."
    sources = ["I lost.", "A zebra lost.", "I lost."]
    test = TestSet("test", sources, ["J'ai perdu.", "J'ai perdu.", "Un zèbre a perdu."])
    known = without_unknown(test, words)
    assert (known.sources, known.references) == (["I lost."], ["J'ai perdu."])
