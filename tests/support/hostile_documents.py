"""Files of any size made from a valid one: parts of it again and again, strings that its format may read slowly."""

from __future__ import annotations

import copy
import functools
import io
import itertools
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lxml import etree

from tests.support.documents import packed, unpacked
from tests.support.hostile_strings import attacks
from tests.support.patterns import of_the_service

TOKEN = re.compile(rb"<!--|-->|<[^<>]*>|[\w.]+|\s+|.", re.DOTALL)
MARKUP = (".xml", ".opf", ".xhtml", ".xlf", ".ts", ".stringsdict")
FRAMEWORK = re.compile("theme|Layout|Master|docProps|styles|Props")  # what a format leaves alone
MOST_TOKENS, MOST_ELEMENTS = 40, 16
PARTS = [
    *"\n a\"'\\<&{}[%-`",
    *(
        "a ",
        '",',
        ',"',
        '";',
        '\\"',
        "<a ",
        "<b>a</b>",
        "<b>a ",
        "</b>",
        "<i>",
        "&amp;",
        "&#9",
        "{a",
        "{a} ",
        "%(",
        "%0",
    ),
    *(
        "[a](",
        "*a ",
        "_a ",
        "``a`",
        "> ",
        "- a\n",
        "a\n",
        "a\n\n",
        "|a",
        "<!--",
        "<![CDATA[",
        "<?",
        "a-",
        "{a, plural, one {",
    ),
]


class Case(NamedTuple):
    """A file whose size can be chosen."""

    name: str  # of the file
    what: str
    of: Callable[[int], bytes]


def cases(name: str, data: bytes) -> Iterator[Case]:
    """Yield the files that are made from a valid one."""
    files = unpacked(data) if zipfile.is_zipfile(io.BytesIO(data)) else {"": data}
    for member, content in files.items():
        if member and (not member.endswith(MARKUP) or FRAMEWORK.search(member)):
            continue

        def file_of(changed: bytes, member: str = member) -> bytes:
            return packed({**files, member: changed}) if member else changed

        for what, make in itertools.chain(
            _repeated_tokens(content), _inserted(content), _repeated_elements(member or name, content)
        ):
            yield Case(name, f"{member} {what}".strip(), lambda size, make=make, file_of=file_of: file_of(make(size)))  # type: ignore[misc]


Made = tuple[str, Callable[[int], bytes]]


def _repeated_tokens(content: bytes) -> Iterator[Made]:
    """Yield a file with each of its tokens repeated where it stands; of equal ones, the first."""
    found = {each[0]: each for each in reversed([*TOKEN.finditer(content)])}
    for token in [*found.values()][-MOST_TOKENS:]:

        def make(size: int, token: re.Match[bytes] = token) -> bytes:
            return content[: token.start()] + token[0] * (size // len(token[0])) + content[token.end() :]

        yield f"token {token[0][:20]!r}", make


def _inserted(content: bytes) -> Iterator[Made]:
    """Yield a file with hostile strings in a text of it, and in a comment or at its end."""
    word = re.search(rb"(?<=\w)(?=ost |itle|ords|pen )", content)
    within = word.start() if word else len(content) // 2
    is_markup = content.startswith(b"<")
    end = content.rfind(b"</") if is_markup else len(content)
    for part in dict.fromkeys([*PARTS, *_beginnings()]):
        raw = part.encode("utf-8", "replace")
        for place, before, after in ((within, b"", b""), (end, b"<!-- " * is_markup, b" -->" * is_markup)):

            def make(
                size: int, raw: bytes = raw, place: int = place, before: bytes = before, after: bytes = after
            ) -> bytes:
                return content[:place] + before + raw * (size // len(raw)) + after + content[place:]

            yield f"{part!r} {'in a comment' if before else 'in a text' if place == within else 'at the end'}", make


@functools.cache
def _beginnings() -> tuple[str, ...]:
    """Return the beginnings of what the formats search for, each again and again a file that they may read slowly."""
    patterns = [found.pattern for found in of_the_service() if found.name.startswith("service.documents.")]
    plain = [next((each.part for each in attacks(one) if not each.start and not each.end), "") for one in patterns]
    return tuple(part for part in dict.fromkeys(plain) if len(part) > 2)


def _repeated_elements(name: str, content: bytes) -> Iterator[Made]:
    """Yield XML with elements, or two kinds of them, or attributes and elements, repeated where they stand."""
    if not name.endswith(MARKUP):
        return
    elements = [*etree.fromstring(content).iter(etree.Element)][1:]
    tags = [*{str(each.tag): None for each in elements}][:MOST_ELEMENTS]
    for first, second in itertools.product(tags, repeat=2):
        short = [etree.QName(tag).localname for tag in (first, second)]
        if first <= second:
            yield " and ".join(short), functools.partial(_with_elements, content, {first, second}, "")
        yield " and attributes of ".join(short), functools.partial(_with_elements, content, {first}, second)


def _with_elements(content: bytes, repeated: set[str], attributed: str, size: int) -> bytes:
    """Return XML with the first elements of some tags repeated, and with attributes of another.

    The copies are those of the valid file: an element that holds another repeated one would else grow with the square.
    """
    root = etree.fromstring(content)
    elements = [next(root.iter(tag)) for tag in sorted(repeated)]
    originals = [copy.deepcopy(element) for element in elements]
    for number in range(size // 50 if attributed else 0):
        next(root.iter(attributed)).set(f"a{number}", "1")
    for element, original in zip(elements, originals, strict=True):
        parent = element.getparent()
        assert parent is not None
        at = parent.index(element)
        parent[at:at] = [copy.deepcopy(original) for _ in range(size // 20)]
    return etree.tostring(root)
