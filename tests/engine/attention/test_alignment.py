"""Weights keep their meaning when heads are chosen, pieces become words and links are read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.bundle.alignment import white_space_words
from service.bundle.manifest import AlignmentHead
from service.engine.attention import alignment
from service.engine.errors import InvalidOption
from service.engine.jobs import FloatArray
from service.engine.text.sentence import token_links
from service.engine.types import Token
from tests.support.vocabulary import small_tokenizer


def head(step: str = "produce", layer: int = 1, number: int = 2) -> AlignmentHead:
    assert step in ("produce", "consume")
    return AlignmentHead(layer, number, "consume" if step == "consume" else "produce", None, None, None)


def random_weights(*shape: int) -> FloatArray:
    weights = np.random.default_rng(1).random(shape, dtype=np.float32)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float32)


def token(text: str, start: int, special: str | None = None) -> Token:
    return Token(9, text, "" if special else text, start, start if special else start + len(text), special)


WEIGHTS = random_weights(2, 4, 3, 5)


def test_a_chosen_layer_and_head_are_the_models_own_numbers() -> None:
    np.testing.assert_array_equal(alignment.choose(WEIGHTS, 0, 3, head()), WEIGHTS[0, 3])
    np.testing.assert_array_equal(alignment.choose(WEIGHTS, "align", "align", head()), WEIGHTS[1, 2])
    np.testing.assert_array_equal(alignment.choose(WEIGHTS, 0, "align", head()), WEIGHTS[0, 2])
    np.testing.assert_array_equal(alignment.choose(WEIGHTS, "all", "all", head()), WEIGHTS)


def test_all_keeps_its_axis_and_mean_does_not() -> None:
    np.testing.assert_allclose(alignment.choose(WEIGHTS, "all", "mean", head()), WEIGHTS.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(alignment.choose(WEIGHTS, "mean", "all", head()), WEIGHTS.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(alignment.choose(WEIGHTS, "mean", 1, head()), WEIGHTS[:, 1].mean(axis=0), rtol=1e-6)


def test_attention_that_aligns_nothing_is_averaged() -> None:
    np.testing.assert_allclose(alignment.choose(WEIGHTS, "align", "align", None), WEIGHTS.mean(axis=(0, 1)), rtol=1e-5)


@pytest.mark.parametrize(("layer", "number", "message"), [(2, 0, "no layer 2.*from 0 to 1"), (0, 4, "no head 4")])
def test_a_layer_or_head_that_does_not_exist_is_refused(layer: int, number: int, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        alignment.choose(WEIGHTS, layer, number, head())


ROWS = (token("a", 0), token("</s>", 1, "</s>"))
COLUMNS = (token("x", 0), token("y", 1), token("</s>", 2, "</s>"))
PAIR = np.array([[0.1, 0.3, 0.6], [0.0, 0.0, 1.0]], dtype=np.float32)


def test_special_tokens_are_kept_dropped_or_renormalised() -> None:
    np.testing.assert_array_equal(alignment.limit_specials(PAIR, ROWS, COLUMNS, "keep"), PAIR)
    np.testing.assert_allclose(alignment.limit_specials(PAIR, ROWS, COLUMNS, "drop"), [[0.1, 0.3]])
    np.testing.assert_allclose(alignment.limit_specials(PAIR, ROWS, COLUMNS, "renormalise"), [[0.25, 0.75]])


def test_links_name_positions_among_all_tokens_where_a_special_one_comes_first() -> None:
    source = (token(">>fra<<", 0, ">>fra<<"), token("the", 0), token("cat", 4), token("</s>", 7, "</s>"))
    target = (token("le", 0), token("chat", 3), token("</s>", 7, "</s>"))
    weights = np.array([[0.5, 0.3, 0.1, 0.1], [0.4, 0.1, 0.3, 0.2], [0, 0, 0, 1]], dtype=np.float32)
    found = token_links(weights, source, target, None)
    assert [(source[i].piece, target[j].piece) for i, j in found] == [("the", "le"), ("cat", "chat")]
    plain = alignment.without_specials(found, source, target)
    assert plain == ((0, 0), (1, 1))  # as the tokens are counted where special ones are not shown


def test_a_row_with_nothing_left_stays_zero() -> None:
    rows = (token("a", 0),)
    weights = np.array([[0, 0, 1]], dtype=np.float32)
    np.testing.assert_array_equal(alignment.limit_specials(weights, rows, COLUMNS, "renormalise"), [[0, 0]])


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in alignment.words(text, ())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I lost.", ["I", "lost", "."]),
        ("J'ai dit : « aujourd’hui » !", ["J'ai", "dit", ":", "«", "aujourd’hui", "»", "!"]),
        ("well-known 3.5% 'so'", ["well-known", "3.5", "%", "'", "so", "'"]),
        ("ete\u0301 nai\u0308ve...", ["ete\u0301", "nai\u0308ve", ".", ".", "."]),
        ("👩\u200d👧👍🏽 ok", ["👩\u200d👧", "👍🏽", "ok"]),
        ("  ", []),
    ],
)
def test_words_are_letters_together_and_marks_apart(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_a_token_that_spans_several_words_makes_them_one() -> None:
    assert alignment.words("a... b", [token("...", 1)]) == [(0, 1), (1, 4), (5, 6)]


def test_pieces_are_grouped_into_their_words_and_the_end_stands_alone() -> None:
    text = "I'm 中, home"
    tokens = small_tokenizer().tokens(text)
    groups = alignment.with_specials(alignment.group(tokens, alignment.words(text, tokens)), tokens)
    merged = alignment.word_tokens(tokens, groups, text)
    assert [t.text for t in merged] == ["I'm", "中", ",", "home", ""]
    assert merged[-1].special == "</s>"
    assert sorted(index for group in groups for index in group) == list(range(len(tokens)))


def test_line_words_include_those_without_tokens() -> None:
    text = "a \u200b b"
    tokens = small_tokenizer().tokens(text)
    groups = alignment.group(tokens, white_space_words(text))
    assert [bool(group) for group in groups] == [True, False, True]


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from("ab'.-,é\u0301 \u00a0中👩\u200d👧12\t"), max_size=30))
def test_every_token_lies_in_exactly_one_word(text: str) -> None:
    tokens = small_tokenizer().tokens(text)
    for spans in (alignment.words(text, tokens), white_space_words(text)):
        groups = alignment.group(tokens, spans)
        found = sorted(index for group in groups for index in group)
        assert found == [i for i, t in enumerate(tokens) if not t.special]
        for (start, end), group in zip(spans, groups, strict=True):
            assert all(start <= tokens[i].start and tokens[i].end <= end for i in group)
