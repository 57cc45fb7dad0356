"""Messages in XML: Android's `strings.xml`, Apple's `.stringsdict`, Qt's `.ts`; only their texts change.

The files are checked by a parser, and changed in place, because a parser would write attributes and spaces anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from xml.sax.saxutils import escape, unescape

from service.documents.encodings import Encoding
from service.documents.errors import BrokenDocument
from service.documents.format import Limits, ReadOptions, check_target
from service.documents.fragments import MARKUP, PLACEHOLDER
from service.documents.messages import MessagesDocument, Notation, Place, parts_of, text_of, unescaped
from service.documents.untrusted import parse_xml

DECLARED = re.compile(rb"""<\?xml[^>]{0,100}encoding=["']([\w.:-]{1,40})""")
CLOSES = {"!--": "-->", "string": r"</string\s*+>", "item": r"</item\s*+>", "message": "</message>"}
QUOTES = {"'": "&apos;", '"': "&quot;"}
REFERENCE = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
TAG = re.compile(r"</?[A-Za-z][^<>]*>|&lt;/?[A-Za-z](?:(?!&[lg]t;)[^<>\n])*&gt;")
# Decoded are only references that no placeholder is made of.
KEPT = re.compile(
    rf"<xliff:g\b[^<>]*>[^<]*</xliff:g>|(?!\\[\"']|&(?:amp|quot|apos|#\d+|#x[0-9a-fA-F]+);)(?:{PLACEHOLDER.pattern})"
)
ANDROID = re.compile(
    r"<(?=(?P<name>!--|(?:string|item)(?=[\s>]))?)"
    r"(?:!--|(?:string|item)(?=[\s>])((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)(?<!/)>"
    r"|(string-array|plurals|integer-array|array)\b([^<>]*+)>)"
)
RAW = re.compile(r"(?<!\s)\s*+<!\[CDATA\[([^\]]*+(?:\](?!\]>)[^\]]*+)*+)\]\]>\s*+")
IN_QUOTES = re.compile(r"\s*+\"((?:[^\"\\]++|\\.)*+)\"\s*+")
ELSEWHERE = re.compile(r"\A\s*+[@?][\w.+:]++/|\A[\s\S]*<!")  # a reference to another resource; parts that are no text
STAYS = re.compile(r"""\btranslatable\s*=\s*["']false""")
STRINGSDICT = re.compile(
    r"<(?P<name>!--)|<key>(?:NSStringLocalizedFormatKey|zero|one|two|few|many|other)</key>\s*<string>([^<]*)</string>"
)
QT_MESSAGE = re.compile(r"<(?P<name>!--|message\b)")
QT_SOURCE = re.compile(r"<source>([^<]*)</source>")
QT_OPEN = re.compile(
    r"<translation\b(?=[^<>]*\btype=[\"']unfinished[\"'])[^<>]*+(?:(?<=/)>|>((?:(?!<translation\b)[\s\S])*?)</translation>)"
)
QT_FORM = re.compile(r"<numerusform\b[^<>/]*(?:/>|>([^<]*)</numerusform>)")
QT_ROOT = re.compile(r"<TS\b[^<>]*>")
QT_LANGUAGE = re.compile(r"""\slanguage=["']([^"']*)""")


def _decode(text: str) -> str:
    """Return text with its references resolved; a number that is no character stays."""

    def character(match: re.Match[str]) -> str:
        number = int(match[1]) if match[1] else int(match[2], 16)
        return chr(number) if 0x20 <= number < 0xD800 or 0xE000 <= number < 0x110000 else match[0]

    return unescape(REFERENCE.sub(character, text), {value: key for key, value in QUOTES.items()})


def _android(text: str) -> str:
    return re.sub(r"[\\\"']", lambda match: "\\" + match[0], text)


PLAIN = Notation(TAG, KEPT, _decode, escape)
QT = replace(PLAIN, encode=lambda text: escape(text, QUOTES))
IN_ANDROID = replace(
    PLAIN,
    decode=lambda text: re.sub(r"[ \t\r\n]+", " ", unescaped(re.sub(r'(?<!\\)"', "", _decode(text)))),
    encode=lambda text: _android(escape(text)),
    divider=re.compile(r"(?<!\s)\s*+(?<!\\)(?:\\n)++\s*+"),
)
QUOTED = replace(IN_ANDROID, decode=lambda text: unescaped(_decode(text)))  # white space between quotes stays
HTML = replace(
    IN_ANDROID, tag=MARKUP, kept=PLACEHOLDER, decode=unescaped, encode=_android
)  # in a section of characters
WITH_TAGS = replace(IN_ANDROID, divider=re.compile(r"(?!)"))  # the two tags of a span stay in one line


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that the declaration of a file of XML names."""
    declared = DECLARED.match(data)
    return declared[1].decode("ascii") if declared else None


def _opened(data: bytes, root: str, name: str, limits: Limits) -> tuple[str, Encoding]:
    """Return a file as text, whose XML is checked; raise DocumentError."""
    text = text_of(data, limits, declared_encoding(data))
    if parse_xml(data, "The document", with_doctype=root in ("TS", "plist")).tag != root:
        raise BrokenDocument(f"The document is not {name}: its root is not <{root}>.")
    return text


def _elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each opening outside comments, and where what it opens ends; what is never closed is looked for once."""
    at, unclosed = 0, set()
    while match := opening.search(text, at):
        at, name = match.end(), match["name"]
        if name is None:
            yield match, at
        elif name not in unclosed:
            close = re.compile(CLOSES[name]).search(text, at)
            if close is None:
                unclosed.add(name)
                continue
            at = close.end()
            if name != "!--":
                yield match, close.start()


def read_android(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return the resources of an app; raise DocumentError."""
    text, encoding = _opened(data, "resources", "a file of Android's strings", options.limits)
    return MessagesDocument(text, encoding, _android_places(text), options.limits)


def _android_places(text: str) -> Iterator[Place]:
    is_open = True  # whether the array or plural around an item is translated
    for match, end in _elements(text, ANDROID):
        kind, attributes, group, of_group = match.groups()
        at, value = match.end(), text[match.end() : end]
        if group:
            is_open = not STAYS.search(of_group) and group != "integer-array"
        elif kind and (is_open if kind == "item" else not STAYS.search(attributes)):
            raw = RAW.fullmatch(value)
            if raw:
                notation = HTML if "<" in raw[1] else replace(IN_ANDROID, encode=_android)
                yield Place(at + raw.start(1), at + raw.end(1), parts_of(raw[1], notation))
            elif quoted := IN_QUOTES.fullmatch(value):
                yield Place(at + quoted.start(1), at + quoted.end(1), parts_of(quoted[1], QUOTED))
            elif not ELSEWHERE.match(value):
                notation = WITH_TAGS if "<" in value else IN_ANDROID
                yield Place(at, end, parts_of(value, notation))


def read_stringsdict(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return the plural forms of an app of Apple's; raise DocumentError."""
    text, encoding = _opened(data, "plist", "a property list", options.limits)
    entries = (entry for entry, _ in _elements(text, STRINGSDICT) if entry[2])
    places = (Place(*entry.span(2), parts_of(entry[2], PLAIN)) for entry in entries)
    return MessagesDocument(text, encoding, places, options.limits)


def read_qt(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a catalogue of Qt, whose empty unfinished entries are filled and stay unfinished; raise DocumentError."""
    text, encoding = _opened(data, "TS", "a catalogue of Qt", options.limits)
    root = QT_ROOT.search(text)
    language = QT_LANGUAGE.search(root[0]) if root else None
    edits = []
    check_target(language and language[1], options.target)
    if root and options.target and not (language and language[1]):
        own = f' language="{options.target.replace("-", "_")}"'
        start, end = (root.start() + language.start(), root.start() + language.end() + 1) if language else (0, 0)
        edits.append((start, end, own) if language else (root.end() - 1, root.end() - 1, own))
    messages = _elements(text, QT_MESSAGE)
    places = (place for match, end in messages for place in _qt_places(text, match.end(), end))
    return MessagesDocument(text, encoding, places, options.limits, edits)


def _qt_places(text: str, start: int, end: int) -> Iterator[Place]:
    source = QT_SOURCE.search(text, start, end)
    target = QT_OPEN.search(text, start, end)
    if source is None or target is None:
        return
    parts = parts_of(source[1], QT)
    forms = [*QT_FORM.finditer(text, target.start(), target.end())]
    if any((form[1] or "").strip() for form in forms) or not (forms or not (target[1] or "").strip()):
        return
    for form in forms or [target]:
        name = "numerusform" if forms else "translation"
        yield Place(form.start(), form.end(), parts, _filled(form[0], name), is_open=True)


def _filled(element: str, name: str) -> Callable[[str], str]:
    head = element.partition(">")[0].removesuffix("/")
    return lambda new: f"{head}>{new}</{name}>"
