"""Parts of messages that stay byte for byte, and how the engine is told what they are."""

import json

import pytest

from service.engine.values.finder import ValueRules, find_values
from service.engine.values.stand_ins import is_number_like, stand_ins
from service.markup.batch import prepare, units_of
from tests.support.documents import segments, through

RULES = ValueRules("en", "fr")


@pytest.mark.parametrize(
    "path", ["C:\\temp\\new", "d:\\tools\\readme.txt", "C:\\Program\\run", "\\\\server\\new\\house", "E:\\names\\"]
)
def test_a_path_of_windows_stays_whole(path: str) -> None:
    data = json.dumps({"a": f"Open {path} now"}).encode()
    [segment] = segments("en.json", data)
    assert segment.count("translate=") == 1
    assert json.loads(through("en.json", data))["a"] == f"OPEN {path} NOW"


@pytest.mark.parametrize("text", ["First line\\nSecond line", "Name:\\tAge:", "a (b):\\nc"])
def test_escapes_that_are_no_path_are_kept_one_by_one(text: str) -> None:
    data = json.dumps({"a": text}).encode()
    assert json.loads(through("en.json", data))["a"].lower() == text.lower()
    assert ">\\n<" in segments("en.json", data)[0] or ">\\t<" in segments("en.json", data)[0]


def numbers_of(segment: str) -> list[str | None]:
    """Return what the model reads in the places of the kept numbers of a segment."""
    [unit] = units_of([prepare(segment)])
    values = find_values(unit.text, RULES)
    words = stand_ins(unit.text, values, [True] * len(values)) or ()
    return [word for value, word in zip(values, words, strict=True) if is_number_like(value)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("{n, plural, one {# dog} other {# dogs}}", [["1"], ["52"]]),
        ("{n, plural, =1 {{n} dog} other {{n} dogs}}", [["1"], ["52"]]),
        ("You have {items, plural, one {# dog} other {# of {items} dogs}}.", [["1"], ["52", "47"]]),
        ("{who, select, a {{who} is here} other {they are here}}", [[], []]),
    ],
)
def test_the_number_of_a_plural_is_read_as_one(message: str, expected: list[list[str]]) -> None:
    found = [numbers_of(segment) for segment in segments("en.json", json.dumps({"a": message}).encode())]
    assert found == expected


def test_numbered_tags_are_around_their_words() -> None:
    data = json.dumps({"a": "Click <0>here <1/></0> if 1 <2"}).encode()
    assert segments("en.json", data) == ["Click <b 0>here <wbr 1></b> if 1 &lt;2"]
    assert json.loads(through("en.json", data))["a"] == "CLICK <0>HERE <1/></0> IF 1 <2"


XLIFF = (
    '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="f" '
    'source-language="en" target-language="fr" datatype="plaintext"><body><trans-unit id="u"%s><source%s>%s</source>'
    "</trans-unit></body></file></xliff>\n"
)
PRESERVE = ' xml:space="preserve"'


@pytest.mark.parametrize(("unit", "source"), [("", PRESERVE), (PRESERVE, "")])
def test_white_space_that_is_preserved_divides_lines(unit: str, source: str) -> None:
    data = (XLIFF % (unit, source, "One line.\nTwo\n\tthree lines.\t")).encode()
    assert segments("a.xlf", data) == ["One line.", "Two", "three lines.", ""][:3]
    assert b"ONE LINE.\nTWO\n\tTHREE LINES.\t</target>" in through("a.xlf", data)


def test_other_white_space_of_xliff_is_no_end_of_a_sentence() -> None:
    assert segments("a.xlf", (XLIFF % ("", "", "One\n line.")).encode()) == ["One\n line."]
