"""Long sentences are wrapped at good places, and what lies between the parts stays as it is."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.bundle.wrapping import Span, join, whole_text, without_long_words, wrap
from service.engine.text.segmenter import split_sentences


def test_a_whole_text_is_one_sentence_without_its_outer_space() -> None:
    assert whole_text("  I lost. He's calm. \n") == [(2, 20)]


def test_joining_keeps_every_gap() -> None:
    text = "\n  I lost.   He's calm. 😀\r\n\r\n- Go.\t"
    spans = split_sentences(text, "en")
    joined = join(text, spans, ["A", "BB", "CCC"])
    assert joined.text == "\n  A   BB 😀\r\n\r\n- CCC\t"
    assert [joined.text[start] for start in joined.starts] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("text", "parts", "translations", "joined"),
    [
        ("pour l'Écosse.", ["pour l'", "Écosse", "."], ["for", "Scotland", "."], "for Scotland."),
        ("de l'AT35 seule", ["de l'", " seule"], ["of the", " alone"], "of the AT35 alone"),
        ("aus AT35", ["aus "], ["from "], "from AT35"),
        ("eine lange", ["eine lan", "ge"], ["a lo", "ng"], "a long"),  # cut within a word
        ("Das ist gut.Ja", ["Das ist gut.", "Ja"], ["It is good", "Yes"], "It is good Yes"),
        ("Gut.Ja", ["Gut.", "Ja"], ["", "Yes"], "Yes"),
    ],
)
def test_words_that_a_sign_kept_apart_are_not_glued(
    text: str, parts: list[str], translations: list[str], joined: str
) -> None:
    spans = [(text.index(part), text.index(part) + len(part)) for part in parts]
    found = join(text, spans, translations)
    assert found.text == joined
    assert all(found.text.startswith(*each) for each in zip(translations, found.starts, strict=True))


def characters_of(text: str) -> list[Span]:
    return [(i, i + 1) for i, character in enumerate(text) if not character.isspace()]


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("one two three", 3, ["one two three"]),
        ("one two three, four five six seven", 6, ["one two three,", "four five six seven"]),
        ("a b c d e f g", 6, ["a b c d", "e f g"]),
    ],
)
def test_a_long_sentence_is_cut_after_a_clause_or_between_words_into_even_parts(
    text: str, limit: int, parts: list[str]
) -> None:
    words = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    assert [text[start:end] for start, end in wrap(text, words, limit)] == parts


def test_a_word_that_alone_is_too_long_is_cut_between_its_characters() -> None:
    text = "e\u0301" * 9
    pieces = [text[start:end] for start, end in wrap(text, characters_of(text), 5)]
    assert "".join(pieces) == text
    assert all(piece.startswith("e") and len(piece) <= 5 for piece in pieces)


@pytest.mark.parametrize("tokens", [[(0, 1), (1, 2), (2, 2), (2, 2)], [(0, 0), (1, 1), (2, 2), (2, 2)]])
def test_tokens_of_no_character_at_the_end_are_no_place_for_a_cut(tokens: list[Span]) -> None:
    assert wrap("ab", tokens, 2) == [(0, 1), (1, 2)]


def test_words_that_alone_are_too_long_are_left_out() -> None:
    text = "see abcdefgh now 一二三四五六七 and abcdefghij"
    characters = characters_of(text)
    spans = without_long_words(text, characters, 5)
    assert [text[start:end] for start, end in spans] == ["see", "now 一二三四五六七 and"]
    assert without_long_words(text, characters, 50) == [(0, len(text))]


def test_one_character_of_many_tokens_is_never_cut() -> None:
    assert wrap("中", [(0, 1)] * 4, 3) == [(0, 1)]
    assert wrap("中文", [(0, 1)] * 4 + [(1, 2)] * 4, 3) == [(0, 1), (1, 2)]


def test_text_without_spaces_is_cut_after_its_own_punctuation() -> None:
    text = "一二三四，五六七八九十"
    assert [text[a:b] for a, b in wrap(text, characters_of(text), 8)] == ["一二三四，", "五六七八九十"]


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("ab ,;é中，👩\u200d\u0301"), max_size=80), st.integers(1, 12))
def test_wrapping_loses_nothing_but_space_and_keeps_the_limit(text: str, limit: int) -> None:
    characters = characters_of(text)
    spans = wrap(text, characters, limit)
    assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")
    for a, b in spans:
        assert sum(a <= start < b for start, _ in characters) <= limit
