"""Localisation files: texts change, placeholders and everything else stay; a second parser reads each result."""

import json
import plistlib
from xml.etree import ElementTree

import pytest
import yaml

from service.documents.errors import BrokenDocument, DocumentError
from tests.support.documents import through
from tests.support.localisation import ANDROID, ARB, JSON, PROPERTIES, QT, RAILS, STRINGS, STRINGSDICT


def test_json_keeps_its_bytes_beside_the_texts() -> None:
    written = through("a.json", JSON.encode()).decode()
    found = json.loads(written)
    assert found["greeting"] == "HELLO {{name}}!"
    assert (found["file_one"], found["file_other"]) == ("{{count}} FILE", "{{count}} FILES")
    assert found["menu"] == {"open": "OPEN", "list": ["ONE", "TWO É"]}
    assert written.splitlines()[1].endswith('!",   "n": 3, "on": true,')
    assert found["icu"] == "{count, plural, one {YOU HAVE # FILE IN {folder}.} other {YOU HAVE # FILES IN {folder}.}}"
    assert "\\u00c9" in written
    assert through("a.json", JSON.encode(), lambda fragment: fragment) == JSON.encode()


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("{g, select, male {He left} other {They left}}", "{g, select, male {HE LEFT} other {THEY LEFT}}"),
        ("{n,plural,=0{none}other{# of '{'x'}'}}", "{n,plural,=0{NONE}other{# OF '{'X'}'}}"),
        ("It''s {name}'s", "IT''S {name}''S"),
        ("Don't go, {name}", "DON\u2019T GO, {name}"),
        ("Don't go, {{name}}", "DON'T GO, {{name}}"),
        ("{n, plural, one {broken", "{n, plural, one {broken"),
        ("{0,choice,0#no files|1#one file|1<{0} files}", "{0,choice,0#no files|1#one file|1<{0} files}"),
        (
            "{n, plural, other {# in {m, plural, other {# boxes}}}}",
            "{n, plural, other {# IN {m, plural, other {# BOXES}}}}",
        ),
    ],
)
def test_the_structure_of_icu_messages_is_kept(message: str, wanted: str) -> None:
    assert json.loads(through("a.json", json.dumps({"a": message}).encode()))["a"] == wanted


def test_arb_names_its_language_and_keeps_what_is_about_messages() -> None:
    found = json.loads(through("a.arb", ARB.encode(), target="pt-BR"))
    assert found == {**json.loads(ARB), "@@locale": "pt_BR", "hello": "HELLO {name}"}


def test_android_strings() -> None:
    written = through("strings.xml", ANDROID.encode()).decode()
    root = ElementTree.fromstring(written)
    found = {each.get("name"): "".join(each.itertext()) for each in root}
    assert found["app"] == "Brand"
    assert found["a"] == "DON\\'T OPEN %1$s IN TWO WINDOWS\\nAT %2$s"
    assert '<b>TWO</b> WINDOWS\\nAT <xliff:g id="t">%2$s</xliff:g></string>' in written
    assert found["b"] == "FISH & CHIPS\\nFOR <i>%d</i>"
    assert (found["ref"], found["raw"], found["days"]) == ("@string/app", "SOME WORDS", "MONDAY")
    assert [each.text for each in root.iter("item")] == ["MONDAY", "%d FILE", "%d FILES"]
    assert '<!-- <string name="old">Old</string> -->' in written
    assert "<string name='a'   >" in written
    assert through("strings.xml", ANDROID.encode(), lambda fragment: fragment) == ANDROID.encode()


def test_properties_of_java() -> None:
    written = through("a.properties", PROPERTIES.encode()).decode()
    assert written.splitlines() == [
        "# A comment: stays",
        "key.one = OPEN THE FILE",
        "! another",
        "key.two: FIRST SECOND \\",
        "    THIRD",
        "path\\ name=CAF\\u00C9 {0}, IT''S",
        "empty=",
    ]
    assert through("a.properties", b"a=caf\xe9 one\r\n") == b"a=CAF\\u00C9 ONE\r\n"
    assert through("a.properties", "a=café\\tone".encode()) == "a=CAFÉ\\tONE".encode()


def test_strings_of_apple() -> None:
    written = through("a.strings", b"\xff\xfe" + STRINGS.encode("utf-16-le")).decode("utf-16")
    assert written == STRINGS.replace('Hello \\"%@\\"\\nNow', 'HELLO \\"%@\\"\\nNOW').replace("Quit", "QUIT")


def test_plural_forms_of_apple() -> None:
    found = plistlib.loads(through("a.stringsdict", STRINGSDICT.encode()))["n"]
    assert found["NSStringLocalizedFormatKey"] == "YOU SEE %#@files@"
    assert found["files"]["NSStringFormatSpecTypeKey"] == "NSStringPluralRuleType"
    assert (found["files"]["one"], found["files"]["other"]) == ("%d FILE", "%d FILES & MORE")


def test_only_open_entries_of_qt_are_filled() -> None:
    root = ElementTree.fromstring(through("a.ts", QT.encode()))
    found = [(each.get("type"), "".join(each.itertext())) for each in root.iter("translation")]
    assert found == [
        ("unfinished", '&OPEN "%1"'),
        (None, "Quitter"),
        ("unfinished", "Moitié"),
        ("unfinished", "%n FILE(S)%n FILE(S)"),
    ]
    assert root.get("language") == "fr"
    with pytest.raises(DocumentError, match="language is de_DE"):
        through("a.ts", QT.replace('version="2.1"', 'version="2.1" language="de_DE"').encode())
    with pytest.raises(BrokenDocument):
        through("a.ts", b"export const x = 1;")


def test_yaml_of_rails() -> None:
    written = through("en.yml", RAILS.encode()).decode()
    old, new = yaml.safe_load(RAILS)["en"], yaml.safe_load(written)["fr"]
    assert new["hello"] == "HELLO %{name}"
    assert (new["plain"], new["single"], new["yes_no"]) == ("OPEN THE FILE", "IT'S OPEN", [True, "NO, NEVER"])
    assert (new["number"], new["flag"], new["date"]) == (old["number"], old["flag"], old["date"])
    assert (new["long"], new["folded"]) == ("FIRST LINE\nSECOND LINE\n", "ONE FOLDED SENTENCE.")
    assert new["anchor"] == new["again"] == "WORDS"
    assert "# a comment" in written
    assert through("en.yml", RAILS.encode(), lambda fragment: fragment, target="") == RAILS.encode()
    for text in ("a_b: 1", "en: {}\nde: {}", "- a", "en: ["):
        with pytest.raises(BrokenDocument):
            through("a.yml", text.encode())
