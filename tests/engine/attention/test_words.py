"""The words of a text, their tokens, and the links between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.attention.words import axis_of, group, links_of, words
from service.engine.types import Token, Word
from tests.support.vocabulary import small_tokenizer


def tokens_of(*texts: str) -> list[Token]:
    """Return tokens that follow each other; a space is in front of a text that begins with one."""
    tokens, end = [], 0
    for number, text in enumerate(texts):
        start = end + text.startswith(" ")
        end += len(text)
        tokens.append(Token(number, text, text.lstrip(), start, end))
    return tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I lost.", "I|lost|."),
        ("J'ai dit : « aujourd’hui » !", "J'|ai|dit|:|«|aujourd’hui|»|!"),
        ("L’ÉTÉ, qu'il m'a donné jusqu'ici", "L’|ÉTÉ|,|qu'|il|m'|a|donné|jusqu'|ici"),
        ("dell'arte O'Brien rock'n'roll quelqu'un", "dell'|arte|O'Brien|rock'n'roll|quelqu'un"),
        ("I'm Tom's; they'll, don't", "I|'m|Tom|'s|;|they|'ll|,|don't"),
        ("well-known a-t-il", "well|-|known|a|-|t|-|il"),
        ("3.5% 1,000.50 12:30 a:b p.m. U.S.A", "3.5|%|1,000.50|12:30|a|:|b|p.m|.|U.S.A"),
        ("'so' dogs' 's '", "'|so|'|dogs|'|'|s|'"),
        ("ete\u0301 nai\u0308ve...", "ete\u0301|nai\u0308ve|.|.|."),
        ("👩\u200d👧👍🏽 ok", "👩\u200d👧|👍🏽|ok"),
        ("猫が、 한국어 ไม่", "猫|が|、|한국어|ไ|ม่"),
        ("  ", ""),
    ],
)
def test_words_are_letters_together_and_marks_apart(text: str, expected: str) -> None:
    assert "|".join(text[start:end] for start, end in words(text, ())) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (("a", "...", " b"), "a|...|b"),
        (("l'homme", "."), "l'homme|."),
        (("Tom", "'s", "."), "Tom|'s|."),
        (("我", "喜欢", "猫。"), "我|喜欢|猫。"),
    ],
)
def test_a_token_that_spans_several_words_makes_them_one(tokens: tuple[str, ...], expected: str) -> None:
    assert "|".join(word.text for word in axis_of("".join(tokens), tokens_of(*tokens), "word").shown) == expected


def test_pieces_are_grouped_into_their_words_and_the_end_stands_alone() -> None:
    text, shift = "I'm 中, home", 7
    tokens = small_tokenizer().tokens(text, shift)
    axis = axis_of(text, tokens, "word", shift)
    assert [word.text for word in axis.shown] == ["I", "'m", "中", ",", "home", ""]
    assert axis.shown[-1].special == "</s>"
    assert axis.plain.shown == axis.shown[:-1]
    for word, indices in zip(axis.shown, axis.groups, strict=True):
        assert isinstance(word, Word)
        assert word.ids == tuple(tokens[index].id for index in indices)
        assert word.text == text[word.start - shift : word.end - shift]
    assert max(len(word.ids) for word in axis.shown if isinstance(word, Word)) > 1


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from("absl'.-,é\u0301 \u00a0中👩\u200b\u200d👧12\t"), max_size=30))
def test_every_token_lies_in_exactly_one_word(text: str) -> None:
    tokens = small_tokenizer().tokens(text)
    spans = words(text, tokens)
    groups = group(tokens, spans)
    found = sorted(index for each in groups for index in each)
    assert found == [i for i, t in enumerate(tokens) if not t.special]
    for (start, end), each in zip(spans, groups, strict=True):
        assert all(start <= tokens[i].start and tokens[i].end <= end for i in each)


def test_an_apostrophe_has_no_say_in_where_its_word_looks() -> None:
    source = axis_of("I was", tokens_of("I", " was"), "word")
    target = axis_of("j'étais", tokens_of("j", "'", "étais"), "word")
    weights = np.array([[1.0, 0.0], [0.1, 0.9], [0.2, 0.8]], np.float32)
    assert links_of(weights, source, target, 0.6) == ((0, 0), (1, 1))


def test_a_long_word_of_apostrophes_takes_no_time() -> None:
    assert len(words("a'" * 100_000, ())) < 200_000
    assert len(words("l'" * 100_000, ())) == 100_001
