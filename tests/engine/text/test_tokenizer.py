"""Ids and spans point into the caller's own text, whatever its characters; decoding gives text and spans back."""

import re
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from service.bundle.manifest import SpecialIds
from service.bundle.vocabulary import UNSEEN
from service.engine.errors import InvalidText
from service.engine.text.nfc import nfc_edits
from service.engine.text.token_text import closed_up
from service.engine.text.tokenizer import Tokenizer
from service.engine.text.word_ids import cuts_at_spaces
from service.engine.types import Token
from tests.support.vocabulary import small_tokenizer, tokenizer_json

BYTE = 3  # the id of byte 0
ODD_CHARACTERS = "aé.e\u0301\u0323\u0307 \u00a0\u202f\t\n'’12Iœ中文"
ODD_CHARACTERS += "👩\u200d👧\ufe0f\u1100\u1161\u11a8각ﬁ½\u200b\u00ad\ufeff▁<s/>\x00\ufffd"
ODD_CHARACTERS += "(\"[„“«/|'ab"
odd_text = st.text(st.one_of(st.sampled_from(ODD_CHARACTERS), st.characters(exclude_categories=["Cs"])), max_size=40)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.fixture
def library() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizer_json())


def test_spans_leave_out_the_space_before_a_word_and_are_shifted(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokens("  I  lost.", 100)
    assert [(t.text, t.start, t.end) for t in tokens if t.piece in ("▁I", ".")] == [("I", 102, 103), (".", 109, 110)]
    assert "".join(t.text for t in tokens) == "Ilost."
    assert tokens[-1] == Token(2, "</s>", "", 110, 110, "</s>")


def test_the_bytes_of_a_character_share_its_span_and_a_space_alone_has_an_empty_one(tokenizer: Tokenizer) -> None:
    _, space, *character, end = tokenizer.tokens("I 中")
    assert (space.piece, space.text, space.start, space.end) == ("▁", "", 2, 2)
    assert [(t.start, t.end) for t in character] == [(2, 3)] * 3
    assert end.start == 3
    assert next((t.piece, t.start, t.end) for t in tokenizer.tokens("中")) == ("▁", 0, 0)


def test_every_kind_of_space_is_a_space_and_spaces_alone_are_nothing(tokenizer: Tokenizer) -> None:
    for space in ("\u00a0", "\u202f", "\t", "\n", "   ", "\u3000"):
        assert tokenizer.encode(f"I{space}lost") == tokenizer.encode("I lost")
    assert tokenizer.encode("") == tokenizer.encode(" \n\t\u00a0") == (2,)


WORDS_BEHIND_SIGNS = ["(dog)", '"dog"', "the „dog“", "a ['dog']", "cat/dog", "cat|dog", "a “dog”", '("dog")']


@pytest.mark.parametrize("text", WORDS_BEHIND_SIGNS)
def test_a_word_behind_a_sign_has_the_subwords_that_it_has_elsewhere(tokenizer: Tokenizer, text: str) -> None:
    ids, word = tokenizer.encode(text), tokenizer.word("dog")
    assert word in [ids[start : start + len(word)] for start in range(len(ids))]
    dog = [token for token in tokenizer.tokens(text) if token.id in word and token.text in "dog"]
    assert "".join(token.text for token in dog) == "dog" == text[dog[0].start : dog[-1].end]
    assert tokenizer.decode(ids) == tokenizer.locate(ids).text == text


@pytest.mark.parametrize("text", ['5" tall', "the dogs' house", "don't", "3/4", "a / dog", "« dog »", "(3 dogs)"])
def test_other_signs_stay_as_they_are(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_that_a_user_types_are_plain_text(tokenizer: Tokenizer) -> None:
    text = "</s> <s> <pad> <0x41>"
    ids = tokenizer.encode(text)
    assert ids.count(2) == 1
    assert not {0, 1} & set(ids)
    assert tokenizer.decode(ids) == text


def test_a_lone_surrogate_is_no_text(tokenizer: Tokenizer) -> None:
    with pytest.raises(InvalidText, match=r"U\+D83D.*character 2"):
        tokenizer.encode("ab\ud83d")
    with pytest.raises(InvalidText):
        tokenizer.tokens("\udc00")


@settings(deadline=None, max_examples=300)
@given(st.one_of(odd_text, st.text(st.characters(codec="ascii"), max_size=60)))
def test_any_text_has_ordered_spans_that_hold_all_but_its_blanks(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.tokens(text)
    covered: set[int] = set()
    last = 0
    for token in tokens:
        assert token.text == text[token.start : token.end]
        assert last <= token.start <= token.end <= len(text)
        last = token.start
        covered.update(range(token.start, token.end))
    for place, character in enumerate(text):
        if not character.isspace() and character not in "\u00ad\u200b\ufeff▁":
            assert place in covered
    for _ in range(2):  # the ids of words are remembered, tokens are not
        assert tokenizer.encode(text) == tuple(token.id for token in tokens)
    assert tokenizer.encode(text) == tokenizer.encode(unicodedata.normalize("NFC", text))


@settings(deadline=None, max_examples=300)
@given(text=odd_text)
def test_any_text_survives_up_to_composition_spaces_and_apostrophes(tokenizer: Tokenizer, text: str) -> None:
    normaliser = tokenizers.Tokenizer.from_str(tokenizer_json()).normalizer
    assert normaliser is not None
    written = normaliser.normalize_str(text)
    assert tokenizer.decode(tokenizer.encode(text)) == closed_up(" ".join(written.replace("▁", " ").split()))


@settings(deadline=None, max_examples=300)
@given(odd_text)
def test_composition_is_nfc_and_leads_back(text: str) -> None:
    text = re.sub(f"[{UNSEEN}]", "", text)  # these are left out
    edits = nfc_edits(text)
    composed = edits.edited(text)
    assert composed == unicodedata.normalize("NFC", text)
    places = [edits.to_old(i, i + 1) for i in range(len(composed))]
    assert {p for start, end in places for p in range(start, end)} == set(range(len(text)))
    for start, end in set(places):
        inside = [c for c, place in zip(composed, places, strict=True) if place == (start, end)]
        assert unicodedata.normalize("NFC", text[start:end]) == "".join(inside)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(st.integers(0, 450), st.integers(260, 399)), max_size=24))
def test_any_row_of_ids_decodes_with_spans_and_no_invented_character(tokenizer: Tokenizer, ids: list[int]) -> None:
    decoded = tokenizer.locate(ids, 7)
    assert [t.id for t in decoded.tokens] == ids
    assert "\ufffd" not in decoded.text
    assert decoded.text == decoded.text.strip() == tokenizer.decode(ids)
    assert "  " not in decoded.text
    covered: set[int] = set()
    for token in decoded.tokens:
        assert token.text == decoded.text[token.start - 7 : token.end - 7]
        covered.update(range(token.start - 7, token.end - 7))
    assert all(place in covered for place, c in enumerate(decoded.text) if c != " ")


def test_bytes_that_spell_nothing_are_left_out(tokenizer: Tokenizer) -> None:
    good = tokenizer.encode("中")[:-1]
    decoded = tokenizer.locate([BYTE + 0xA0, *good, BYTE + 0xE4, BYTE + 0xB8, 2])
    assert decoded.text == "中"
    assert [t.text for t in decoded.tokens] == ["", "", "中", "中", "中", "", "", ""]
    assert decoded.tokens[-1] == Token(2, "</s>", "", 1, 1, "</s>")
    assert tokenizer.decode([BYTE + 0xEF, BYTE + 0xBF, BYTE + 0xBD]) == "\ufffd"  # spelt by the model itself
    letter = tokenizer.encode("I")[0]
    assert tokenizer.decode([letter, BYTE + 0x0A, letter]) == "I I"


def test_words_are_remembered_for_every_shipped_model_and_only_where_white_space_cuts(
    library: tokenizers.Tokenizer,
) -> None:
    for path in (Path(__file__).parents[3] / "models").glob("*/tokenizer.json"):
        assert cuts_at_spaces(tokenizers.Tokenizer.from_file(str(path))), path
    for normalizer in (tokenizers.normalizers.NFKC(), None):
        library.normalizer = normalizer
        assert not cuts_at_spaces(library)
    other = tokenizers.Tokenizer.from_str(tokenizer_json())
    other.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    assert not cuts_at_spaces(other)


def test_a_word_that_only_the_other_side_writes_has_its_own_token() -> None:
    words = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "a": 4, " é": 5}
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    assert Tokenizer(library, SpecialIds(pad=0, bos=1, eos=2, unk=3)).encode("a é x") == (4, 5, 3, 2)
