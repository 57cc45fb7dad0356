"""Line breaks within a sentence: which lines are one sentence, and where its translation is broken."""

import pytest

from service.bundle.line_breaks import continued, in_lines, joined_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We went to the market because we\nwanted to buy bread.", [True]),
        ("I have never seen\na dog\nlike that.", [True, True]),
        ("We bought bread,\nmilk and cheese", [True]),
        ("this line has more than forty characters in\nit and no capital", [True]),
        ("It is here. You are\nnot there.", [True]),
        ("- “We went\nto the market.”", [True]),
        ("2. We went\nto the market.", [True]),
        ("Hello\nworld", [False]),
        ("red\ngreen\nblue.", [False, False]),
        ("Branch code\nBank code\nStatus.", [False, False]),
        ("It is here.\nand there.", [False]),
        ("We need:\nbread.", [False]),
        ("We went\n- to the market.", [False]),
        ("We went\na) to the market.", [False]),
        ("We went\n\nto the market.", [False, False]),
        ("We went\n  to the market.", [False]),
        ("THE DOG\nis here.", [False]),
        ("My phone\niPhone is here.", [False]),
    ],
)
def test_a_sentence_runs_into_the_next_line(text: str, expected: list[bool]) -> None:
    assert continued(text.split("\n")) == expected


def test_lines_with_something_else_between_them_stay_apart() -> None:
    text = "We went\tto the\nmarket."
    spans = [(0, 7), (8, 14), (15, 22)]
    assert [text[start:end] for start, end in joined_lines(text, spans)] == ["We went", "to the", "market."]


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("one two\nthree four", "un deux trois quatre", "un deux\ntrois quatre"),
        ("one two\r\nthree four", "un deux trois quatre", "un deux\r\ntrois quatre"),
        ("a\nb\nc d e f g h", "un deux trois quatre", "un\ndeux\ntrois quatre"),
        ("a b c d e f\ng\nh", "un deux trois", "un\ndeux\ntrois"),
        ("one\ntwo", "undeux", "undeux"),
        ("is it\ntrue?", "est-ce vrai ?", "est-ce\nvrai ?"),
    ],
)
def test_a_translation_has_the_line_breaks_of_its_source(source: str, translation: str, expected: str) -> None:
    text, at = "", 0
    for (start, end), line_break in in_lines(translation, source):
        text += translation[at:start] + line_break
        at = end
    assert text + translation[at:] == expected


def test_the_time_grows_with_the_text() -> None:
    source, translation = "a\n" * 40_000 + "b.", "ab " * 60_000
    assert len(in_lines(translation, source)) == 40_000
    assert sum(continued(("A" + source).split("\n"))) == 40_000
