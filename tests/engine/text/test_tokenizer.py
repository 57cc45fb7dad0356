"""Ids and spans point into the caller's own text, whatever its characters; decoding gives text and spans back."""

import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.errors import InvalidText
from service.engine.text import word_ids
from service.engine.text.nfc import normalize_nfc
from service.engine.text.tokenizer import Tokenizer
from service.engine.text.word_ids import WordIds, cuts_at_spaces
from service.engine.types import Token
from tests.support.vocabulary import small_tokenizer, tokenizer_json

BYTE_A0 = 3 + 0xA0
ODD_CHARACTERS = "aé.e\u0301\u0323\u0307 \u00a0\u202f\t\n'’12Iœ中文"
ODD_CHARACTERS += "👩\u200d👧\ufe0f\u1100\u1161\u11a8각ﬁ½\u200b\u00ad\ufeff▁<s/>\x00\ufffd"
odd_text = st.text(st.one_of(st.sampled_from(ODD_CHARACTERS), st.characters(exclude_categories=["Cs"])), max_size=40)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


def spans(tokens: tuple[Token, ...]) -> list[tuple[str, str]]:
    return [(token.piece, token.text) for token in tokens]


def test_spans_leave_out_the_space_before_a_word(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokens("  I  lost.")
    assert [(t.text, t.start, t.end) for t in tokens if t.piece in ("▁I", ".")] == [("I", 2, 3), (".", 9, 10)]
    assert "".join(t.text for t in tokens) == "Ilost."
    assert tokens[-1] == Token(2, "</s>", "", 10, 10, "</s>")


def test_ids_are_those_of_the_tokens_and_end_with_the_end(tokenizer: Tokenizer) -> None:
    text = "He's calm, 中 and été."
    assert tokenizer.encode(text) == tuple(token.id for token in tokenizer.tokens(text))
    assert tokenizer.encode("") == (2,)
    assert tokenizer.encode(" \n\t\u00a0") == (2,)


def test_a_decomposed_accent_belongs_to_its_letter(tokenizer: Tokenizer) -> None:
    text = "e\u0301te\u0301 x"
    tokens = tokenizer.tokens(text)
    assert tokenizer.encode(text) == tokenizer.encode("été x")
    assert "".join(t.text for t in tokens) == "e\u0301te\u0301x"
    assert tokens[0].start == 0
    assert [t for t in tokens if not t.special][-1].start == 6


def test_the_bytes_of_one_character_share_its_span(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokens("I 中x")
    assert [(t.start, t.end) for t in tokens if t.text == "中"] == [(2, 3)] * 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("각", "\u1100\u1161\u11a8"),
        ("q\u0323\u0307", "q\u0307\u0323"),
        ("\u0301", "\u0301"),
        ("👩\u200d👧", "👩\u200d👧"),
    ],
    ids=["hangul", "reordered marks", "lone mark", "joined emoji"],
)
def test_every_code_point_is_covered_where_characters_are_composed(
    tokenizer: Tokenizer, text: str, expected: str
) -> None:
    tokens = tokenizer.tokens(expected)
    assert tokenizer.encode(text) == tokenizer.encode(expected)
    assert {place for t in tokens for place in range(t.start, t.end)} == set(range(len(expected)))


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\t", "\n", "   ", "\u3000"])
def test_every_kind_of_space_is_a_space(tokenizer: Tokenizer, space: str) -> None:
    text = f"I{space}lost"
    assert tokenizer.encode(text) == tokenizer.encode("I lost")
    assert tokenizer.tokens(text)[0].text == "I"
    assert "".join(t.text for t in tokenizer.tokens(text)) == "Ilost"


def test_a_piece_that_is_only_a_space_has_an_empty_place_before_what_follows(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokens("I \u4e2d")
    assert spans(tokens)[1] == ("▁", "")
    assert (tokens[1].start, tokens[1].end) == (2, 2)
    assert next((t.piece, t.start, t.end) for t in tokenizer.tokens("中")) == ("▁", 0, 0)


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


def test_spans_are_shifted_into_the_callers_text(tokenizer: Tokenizer) -> None:
    assert [(t.start, t.text) for t in tokenizer.tokens("I I", 100)] == [(100, "I"), (102, "I"), (103, "")]


@settings(deadline=None, max_examples=300)
@given(odd_text)
def test_any_text_has_ordered_spans_that_hold_all_but_its_blanks(text: str) -> None:
    tokenizer = small_tokenizer_once()
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


@settings(deadline=None, max_examples=300)
@given(odd_text)
def test_any_text_survives_up_to_composition_spaces_and_apostrophes(text: str) -> None:
    tokenizer = small_tokenizer_once()
    written = library_normalised(text)
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(written.replace("▁", " ").split())


@settings(deadline=None, max_examples=300)
@given(odd_text)
def test_composition_is_nfc_and_leads_back(text: str) -> None:
    composed = normalize_nfc(text)
    assert composed.text == unicodedata.normalize("NFC", text)
    places = [composed.original(i, i + 1) for i in range(len(composed.text))]
    assert {p for start, end in places for p in range(start, end)} == set(range(len(text)))
    for start, end in set(places):
        inside = [c for c, place in zip(composed.text, places, strict=True) if place == (start, end)]
        assert unicodedata.normalize("NFC", text[start:end]) == "".join(inside)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(0, 399), max_size=30))
def test_any_row_of_ids_decodes_with_spans_and_no_invented_character(ids: list[int]) -> None:
    decoded = small_tokenizer_once().locate(ids, 7)
    assert [t.id for t in decoded.tokens] == ids
    assert "\ufffd" not in decoded.text
    assert decoded.text == decoded.text.strip()
    assert "  " not in decoded.text
    covered: set[int] = set()
    for token in decoded.tokens:
        assert token.text == decoded.text[token.start - 7 : token.end - 7]
        covered.update(range(token.start - 7, token.end - 7))
    assert all(place in covered for place, c in enumerate(decoded.text) if c != " ")


def test_decoded_tokens_know_their_place(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("I lost, 中!")
    decoded = tokenizer.locate(ids)
    assert decoded.text == "I lost, 中!"
    assert [t.text for t in decoded.tokens if t.text == "中"] == ["中"] * 3
    assert decoded.tokens[-1] == Token(2, "</s>", "", 10, 10, "</s>")


def test_bytes_that_spell_nothing_are_left_out(tokenizer: Tokenizer) -> None:
    good = tokenizer.encode("中")[:-1]
    decoded = tokenizer.locate([BYTE_A0, *good, 3 + 0xE4, 3 + 0xB8])
    assert decoded.text == "中"
    assert [t.text for t in decoded.tokens] == ["", "", "中", "中", "中", "", ""]
    assert tokenizer.decode([3 + 0xEF, 3 + 0xBF, 3 + 0xBD]) == "\ufffd"  # spelt by the model itself


def test_a_line_break_spelt_in_bytes_is_a_space(tokenizer: Tokenizer) -> None:
    letter = tokenizer.encode("I")[0]
    assert tokenizer.decode([letter, 3 + 0x0A, letter]) == "I I"


def library_normalised(text: str) -> str:
    normaliser = tokenizers.Tokenizer.from_str(tokenizer_json()).normalizer
    assert normaliser is not None
    return str(normaliser.normalize_str(text))


_TOKENIZERS: list[Tokenizer] = []


def small_tokenizer_once() -> Tokenizer:
    if not _TOKENIZERS:
        _TOKENIZERS.append(small_tokenizer())
    return _TOKENIZERS[0]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 399), max_size=24), st.integers(0, 9))
def test_a_token_writer_gives_what_decoding_the_tokens_so_far_gives(ids: list[int], shift: int) -> None:
    tokenizer = small_tokenizer()
    writer = tokenizer.writer(shift)
    for count, number in enumerate(ids, start=1):
        decoded = tokenizer.locate(ids[:count], shift=shift)
        assert writer.add(number) == (decoded.tokens[-1], decoded.text)


@settings(max_examples=60)
@given(st.lists(st.one_of(st.integers(0, 450), st.integers(260, 399)), max_size=24))
def test_a_decoded_text_is_that_of_its_located_tokens(ids: list[int]) -> None:
    assert small_tokenizer().decode(ids) == small_tokenizer().locate(ids).text


@settings(deadline=None, max_examples=300)
@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_ids_that_are_remembered_by_words_are_those_of_the_whole_text(text: str) -> None:
    tokenizer = small_tokenizer_once()
    whole = tuple(token.id for token in tokenizer.tokens(text))  # these are never remembered
    assert tokenizer.encode(text) == whole
    assert tokenizer.encode(text) == whole


def test_words_are_remembered_for_every_shipped_model_and_only_where_white_space_cuts() -> None:
    for path in (Path(__file__).parents[3] / "models").glob("*/tokenizer.json"):
        assert cuts_at_spaces(tokenizers.Tokenizer.from_file(str(path))), path
    other = tokenizers.Tokenizer.from_str(tokenizer_json())
    other.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    assert not cuts_at_spaces(other)
    other = tokenizers.Tokenizer.from_str(tokenizer_json())
    other.normalizer = tokenizers.normalizers.NFKC()
    assert not cuts_at_spaces(other)
    other.normalizer = None
    assert not cuts_at_spaces(other)


def test_the_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_ids, "REMEMBERED", 2)
    library = tokenizers.Tokenizer.from_str(tokenizer_json())
    words = WordIds(library)
    for text in ("I lost.", "He's calm.", "I lost.", "x" * 100):
        assert words.encode(text) == library.encode(text, add_special_tokens=False).ids
        assert len(words._known) <= 2
        assert "x" * 100 not in words._known
