"""Titles, points of a list in one line, and tags behind a text: each part is a text of its own."""

import pytest

from service.engine.text.segmenter import split_sentences
from service.engine.values.finder import ValueRules, find_values


def parts(text: str, language: str = "en") -> list[str]:
    values = find_values(text, ValueRules(language, "fr"))
    return [text[start:end] for start, end in split_sentences(text, language, values)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Red | Green | Blue", ["Red", "Green", "Blue"]),
        ("Home » Products » Shoes", ["Home", "Products", "Shoes"]),
        ("Red • Green", ["Red", "Green"]),
        ("Log in / Sign up", ["Log in", "Sign up"]),
        ("Settings > Network", ["Settings", "Network"]),
        ("Name: John; Age: 25; City: Leeds", ["Name: John", "Age: 25", "City: Leeds"]),
        ("Home \ue5cc Products", ["Home", "Products"]),
        ("The dog is old; it sleeps.", ["The dog is old; it sleeps."]),  # a sentence
        ("(dog/cat/mouse)", ["dog", "cat", "mouse"]),
        ("yes/no", ["yes/no"]),
        ("TCP/IP", ["TCP/IP"]),
        ("km/h", ["km/h"]),
        ("a black/white picture", ["a black/white picture"]),
        ("« Rouge » ou « Vert »", ["« Rouge » ou « Vert »"]),
        ("Show {{ name | upper }} here", ["Show {{ name | upper }} here"]),
        ("Title | Part\nThe dog | the cat sleep.", ["Title", "Part", "The dog | the cat sleep."]),
    ],
)
def test_parts_of_a_title_are_parts(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1) First point 2) Second point", ["First point", "Second point"]),
        ("a) first b) second c) third", ["first", "second", "third"]),
        ("(1) one thing (2) another thing", ["one thing", "another thing"]),
        ("1) First point 3) Third point", ["First point 3) Third point"]),
        ("Take 1) bread 2) milk", ["Take 1) bread 2) milk"]),
    ],
)
def test_points_of_a_list_in_one_line_are_parts(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Great day 🌷 #sun #fun", ["Great day"]),
        ("Neue Fotos aus dem Garten! #garten #rosen #foto", ["Neue Fotos aus dem Garten!"]),
        ("I love #paris", ["I love #paris"]),
        ("#sun and #fun are tags", ["#sun and #fun are tags"]),
    ],
)
def test_several_tags_behind_a_text_stay_as_they_are(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~~gone~~", ["gone"]),
        ("**Open the door**", ["Open the door"]),
        ("- **Open**", ["Open"]),
        ("**one** and **two**", ["**one** and **two**"]),
        ("__init__", ["__init__"]),
        ("__Open the door__", ["Open the door"]),
    ],
)
def test_marks_around_all_of_a_part_stay_as_they_are(text: str, expected: list[str]) -> None:
    assert parts(text) == expected
