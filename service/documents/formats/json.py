"""JSON with messages, as i18next, FormatJS and Flutter (arb) have them: texts change, the rest keeps its bytes.

What stands under a key that begins with @ is about a message, and stays. So do identifiers: names of keys, files and
variables, and words of a program under a key such as `icon` or `type`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions
from service.documents.icu import message_parts
from service.documents.messages import Edit, MessagesDocument, Place, text_of

# A string that does not end reaches to the end of the text, so that no other one is looked for in it.
TOKEN = re.compile(r'"(?:[^"\\]++|\\[\s\S]?)*+(?:"(\s*+:)?)?|[{}\[\]]')
LOCALE = "@@locale"
IDENTIFIER = re.compile(
    r"[a-z@$#][A-Za-z0-9$-]*+(?:[._:][A-Za-z0-9$-]++)+"  # nav.home.title, user_name, @scope:x
    r"|(?=\S*\.\w{1,5}\Z)[\w.-]*+(?:/[\w.-]++)++"  # images/cat.png
    r"|[a-z]++[A-Z]\w*+",  # userName
    re.ASCII,
)
WORD = re.compile(r"[a-z0-9#./][\w./#-]*+|[A-Z0-9_]++", re.ASCII)
CLASSES = frozenset({"class", "classes", "classname", "cls"})
PROGRAMS = (
    "color enum format href icon id key lang locale path ref rel role slug src style type uri url variant ver version"
)
ABOUT_PROGRAMS = CLASSES.union(PROGRAMS.split())
KEY_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
DEEPEST = 100
TOO_DEEP = f"The document nests objects more than {DEEPEST} deep."


def read(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a file of messages; raise DocumentError."""
    text, encoding = text_of(data, options.limits)
    return MessagesDocument(text, encoding, _places(text), options.limits)


def read_arb(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a file of Flutter, which names its language; raise DocumentError."""
    text, encoding = text_of(data, options.limits)
    locales: list[tuple[int, int]] = []
    edits: list[Edit] = []
    document = MessagesDocument(text, encoding, _places(text, locales), options.limits, edits)
    language = options.target.replace("-", "_")
    edits += [(*place, language) for place in locales if language]
    return document


def _places(text: str, locales: list[tuple[int, int]] | None = None) -> Iterator[Place]:
    """Yield the strings that are messages; put the places of the name of the language into `locales`."""
    _check(text)
    write = _writer(ascii_only=text.isascii() and "\\u" in text)
    about = [False]  # for each container, whether it stands under a key with @
    key = ""
    for token in TOKEN.finditer(text):
        if token[0] in "{[":
            about.append(about[-1] or key.startswith("@"))
            key = "" if token[0] == "{" else key
            if len(about) > DEEPEST + 1:
                raise UnsafeDocument(TOO_DEEP)
        elif token[0] in "}]":
            about.pop()
            key = ""
        elif token[1]:
            key = json.loads(token[0][: token.start(1) - token.start()])
        elif key == LOCALE and locales is not None:
            locales.append((token.start() + 1, token.end() - 1))
        elif not (about[-1] or key.startswith("@")):
            text = json.loads(token[0])
            if _is_message(key, text):
                yield Place(token.start() + 1, token.end() - 1, message_parts(text), write)


def _check(text: str) -> None:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except ValueError as error:
        line = f": see line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BrokenDocument(f"The document is not valid JSON{line}.") from None
    except RecursionError:
        raise UnsafeDocument(TOO_DEEP) from None


def _is_message(key: str, text: str) -> bool:
    """Return whether a text is for people, and no name in a program, by itself or by its key."""
    if IDENTIFIER.fullmatch(text):
        return False
    names = {key.lower(), *(word.lower() for word in KEY_WORD.findall(key)[-1:])}
    if text.lower() == key.lower() or not names & ABOUT_PROGRAMS:
        return True
    words = text.split() if names & CLASSES else [text]
    return not all(map(WORD.fullmatch, words))


def _writer(*, ascii_only: bool) -> Callable[[str], str]:
    return lambda text: json.dumps(text, ensure_ascii=ascii_only)[1:-1]
