"""Localisation files: texts change, placeholders and everything else stay; a second parser reads each result."""

import json
import plistlib
from xml.etree import ElementTree

import pytest
import yaml

from service.documents.errors import BrokenDocument, DocumentError
from tests.support.documents import segments, through

JSON = """{
  "greeting": "Hello {{name}}!",   "n": 3, "on": true,
  "file_one": "{{count}} file", "file_other": "{{count}} files",
  "menu": {"open": "Open", "list": ["One", "Two \\u00e9"]},
  "icu": "You have {count, plural, one {# file} other {# files}} in {folder}."
}
"""
ARB = """{"@@locale": "en", "hello": "Hello {name}", "@hello": {"description": "A greeting", "placeholders": {}}}"""
ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- <string name="old">Old</string> -->
    <string name="app" translatable="false">Brand</string>
    <string name='a'   >Don\\'t open %1$s in <b>two</b> windows\\nat <xliff:g id="t">%2$s</xliff:g></string>
    <string name="b">Fish &amp; chips\\nfor &lt;i&gt;%d&lt;/i&gt;</string>
    <string name="ref">@string/app</string>
    <string name="raw"><![CDATA[Some words]]></string>
    <string-array name="days"><item>Monday</item></string-array>
    <plurals name="files"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>
</resources>
"""
PROPERTIES = """# A comment: stays
key.one = Open the file
! another
key.two: First \\
    second third
path\\ name=caf\\u00e9 {0}, it''s
empty=
"""
STRINGS = """/* A "comment" = "x"; */
"hello" = "Hello \\"%@\\"\\nNow";
// line
bare_key="Quit";
"""
STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>n</key><dict>
<key>NSStringLocalizedFormatKey</key><string>You see %#@files@</string>
<key>files</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
<key>one</key><string>%d file</string><key>other</key><string>%d files &amp; more</string></dict></dict></dict></plist>
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1">
<context><name>Main</name>
<message><source>&amp;Open &quot;%1&quot;</source><translation type="unfinished"></translation></message>
<message><source>Quit</source><translation>Quitter</translation></message>
<message><source>Half</source><translation type="unfinished">Moitié</translation></message>
<message numerus="yes"><source>%n file(s)</source>
<translation type="unfinished"><numerusform></numerusform><numerusform/></translation></message>
</context></TS>
"""
RAILS = """# Texts
en:
  hello: "Hello %{name}"   # a comment
  plain: Open the file
  'single': 'it''s open'
  yes_no: [Yes, "No, never"]
  number: 3
  flag: true
  date:
    formats: {default: "%Y-%m-%d"}
    order:
      - :year
  long: |
    First line
    second line
  folded: >-
    One folded
    sentence.
  anchor: &a Words
  again: *a
"""


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


PLACEHOLDERS = (
    *("%s", "%d", "%1$s", "%2$d", "%.2f", "%05d", "%ld", "%lu", "%lld", "%@", "%1$@", "%%", "%(name)s", "%#@files@"),
    *("{name}", "{0}", "{user.name}", "{0,number}", "{date, date, short}", "{{x}}", "{{- x}}", "{{n, number}}"),
    *("%{count}", "${x}", "${user.name}", "$t(common.ok)", "%1", "%L2", "%n", "%5.1f"),
)
FAMILIES = {
    "a.json": '{"a": "Open %s now"}',
    "a.arb": '{"a": "Open %s now"}',
    "a.properties": "a=Open %s now",
    "a.strings": '"a" = "Open %s now";',
    "strings.xml": "<resources><string>Open %s now</string></resources>",
    "a.stringsdict": "<plist><key>one</key><string>Open %s now</string></plist>",
    "a.ts": '<TS language="fr"><message><source>Open %s now</source>'
    '<translation type="unfinished"></translation></message></TS>',
    "a.yml": 'fr: {a: "Open %s now"}',
}


@pytest.mark.parametrize("name", FAMILIES)
def test_thirty_placeholders_are_intact(name: str) -> None:
    assert len(PLACEHOLDERS) == 30
    for placeholder in PLACEHOLDERS:
        given = FAMILIES[name].replace("Open %s now", f"Open {placeholder} now")
        [segment] = segments(name, given.encode())
        assert 'translate="no"' in segment, placeholder
        assert f"OPEN {placeholder} NOW" in through(name, given.encode()).decode()


DEEP = 20_000
HOSTILE: tuple[tuple[str, bytes], ...] = (
    ("a.json", b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    ("a.json", b"[" * 500_000),
    ("a.json", b'{"a": "' + b"\\" * 50_001),
    ("a.json", b'{"a": "\\ud800 words"}'),
    ("a.json", b'{"a": ' + b"9" * 100_000 + b"}"),
    ("a.json", b'{"a": "' + b"{n, plural, one {" * 3_000 + b'"}'),
    ("a.json", b'{"a": "' + b"x {n, plural, one {a} two {b} few {c} other {d}} " * 150 + b'"}'),
    ("a.json", b"\0{}"),
    ("a.json", b'{"a": NaN, "b": "Words"} x'),
    ("a.arb", b"MZ"),
    ("a.arb", b'{"a": "' + b"{" * 9_000 + b'"}'),
    ("a.properties", b"\\" * 100_001),
    ("a.properties", b"a=" + b"\\\n" * 50_000 + b"x"),
    ("a.properties", b"a" * 500_000),
    ("a.properties", b"a=\\ud800\\u0000 words"),
    ("a.properties", b"a=" + b"{0,choice," * 900),
    ("a.properties", b"=" * 9_000),
    ("a.strings", b"/*" * 100_000),
    ("a.strings", b'"a" = "' + b"\\" * 100_001),
    ("a.strings", b'"' * 100_001),
    ("a.strings", b'#include "/etc/passwd"'),
    ("a.strings", b"a" * 500_000),
    ("strings.xml", b'<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><resources><string>&b;</string></resources>'),
    ("strings.xml", b'<!DOCTYPE r SYSTEM "http://evil.example/x"><resources/>'),
    ("strings.xml", b"<resources>" + b"<a>" * DEEP + b"</a>" * DEEP + b"</resources>"),
    ("strings.xml", b"<resources>" + b"<string>" * 190 + b"x" + b"</string>" * 190 + b"</resources>"),
    ("strings.xml", b"<resources><string>a<![CDATA[<b>]]>b<!-- x --> c</string></resources>"),
    ("strings.xml", b"<resources><string>" + b"&amp;#" * 9_000 + b"x</string></resources>"),
    ("strings.xml", b"<html/>"),
    ("a.stringsdict", b'<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/passwd">]><plist><string>&x;</string></plist>'),
    ("a.stringsdict", b"bplist00\x00\x01"),
    ("a.ts", b'<!DOCTYPE TS [<!ENTITY a "b">]><TS><message><source>&a;</source></message></TS>'),
    ("a.ts", b"<TS>" + b"<message><source>a" * 150 + b"</source></message>" * 150 + b"</TS>"),
    ("a.ts", b'<TS language="' + b"x" * 9_000 + b'"/>'),
    ("a.yml", b"en: &a [&b [*a, *a], *a]"),
    ("a.yml", b"a: &a [x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]"),
    ("a.yml", b"en: " + b"[" * DEEP),
    ("a.yml", b"en: " + b"{a: " * DEEP),
    ("a.yml", b"en: !!python/object/apply:os.system ['touch /tmp/x']"),
    ("a.yml", b"en:\n  <<: *x\n  a: b"),
    ("a.yml", b"--- \nen: a\n---\nen: b\n"),
    ("a.yml", b"en:\n\ta: b"),
    ("a.yml", b'en: "\\ud800 words"'),
    ("a.yml", b"%YAML 9.9\n---\nen: a"),
    ("a.yml", b"en: |\n" + b"  x\n" * 400),
    ("a.yml", b"? {a: b}\n: c"),
)


@pytest.mark.parametrize(("name", "data"), HOSTILE, ids=[f"{at}-{name}" for at, (name, _) in enumerate(HOSTILE)])
def test_a_hostile_file_is_refused_in_one_sentence_or_is_harmless(name: str, data: bytes) -> None:
    try:
        assert through(name, data)
    except DocumentError as error:
        assert error.message.endswith(".")  # noqa: PT017 - refusal is as good as success
        assert len(error.message) < 200  # noqa: PT017
