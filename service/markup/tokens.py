"""HTML as a sequence of tokens, in time linear in its length for any content.

Python's own parser takes minutes for some hundred kilobytes of unclosed tags, which is too long for a server.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
RAW_TEXT = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
# The mark of a footnote is no part of the word before it, nor of the one after it: a token without width.
MARKS = r"(?:<[^<>]{1,500}>|[\d\[\]*†‡+−-]){1,15}?"  # also an exponent, and the charge of an ion
NUMBERED = r"<a\s[^<>]{1,500}>[\d\[\]*†‡]{1,5}</a>"
FOOTNOTE = re.compile(rf"<sup\b[^<>]{{0,500}}>{MARKS}</sup>|{NUMBERED}(?=\w)", re.IGNORECASE)
FOOTNOTE_LINK = re.compile(rf"{NUMBERED}(?![\d.,]\d)", re.IGNORECASE)
BEFORE_FOOTNOTE = re.compile(r"(?:[^\W\d]|[.!?…»”’\")\]])(?:</[a-zA-Z]{1,10}>){0,3}\Z")
MAX_UNCLOSED_TAGS = 50  # unclosed tags after which the scanner looks for short tags only
SHORT_TAG = 1024
NO_TRANSLATION = re.compile(
    r"""\stranslate\s*=\s*["']?no(?=["'\s/>])|\sclass\s*=\s*(?:"[^"]*\bnotranslate\b|'[^']*\bnotranslate\b|notranslate\b)""",
    re.IGNORECASE,
)

Kind = Literal["text", "open", "close", "void", "raw", "other", "break"]


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A token of the source: `text` is decoded for kind "text", else verbatim; a tag's `name` is in lower case."""

    kind: Kind
    text: str
    name: str = ""

    @property
    def untranslated(self) -> bool:
        """Return whether a tag says that its content must not be translated."""
        return NO_TRANSLATION.search(self.text) is not None


_NO_CHARACTER = re.compile(r"&#(?:0*+\d{8,}|[xX]0*+[0-9a-fA-F]{7,})")


def unescape(text: str) -> str:
    """Return text with its character references resolved; a number that is no character becomes U+FFFD."""
    return html.unescape(_NO_CHARACTER.sub("&#x110000", text) if "&#" in text else text)


def scan(document: str) -> Iterator[HtmlToken]:
    """Yield all tokens in their order; a string that only resembles a tag is text."""
    return _Scanner(document).run()


class _Scanner:
    """A place in a document, and the kinds of tokens that are known not to follow."""

    def __init__(self, document: str) -> None:
        self.document = document
        self.at = 0
        self.failures = 0
        self.last_end = document.rfind(">")
        self.last_comment_end = document.rfind("-->")

    def run(self) -> Iterator[HtmlToken]:
        """Yield every token."""
        text_from = 0
        while (position := self.document.find("<", self.at)) >= 0:
            token = self._token(position)
            if token is None:
                self.at = position + 1
                continue
            if position > text_from:
                yield HtmlToken("text", unescape(self.document[text_from:position]))
            yield token
            self.at = text_from = position + len(token.text)
            if token.kind == "open" and token.name in RAW_TEXT:
                yield from self._raw(token.name)
                text_from = self.at
        if text_from < len(self.document):
            yield HtmlToken("text", unescape(self.document[text_from:]))

    def _token(self, start: int) -> HtmlToken | None:
        if start > self.last_end:
            return None
        document = self.document
        if document.startswith("<!--", start):
            end = document.find("-->", start + 4) if start < self.last_comment_end else -1
            return HtmlToken("other", document[start : end + 3]) if end >= 0 else None
        if document.startswith(("<!", "<?"), start):
            return HtmlToken("other", document[start : document.index(">", start) + 1])
        if note := FOOTNOTE.match(document, start) or self._footnote_link(start):
            return HtmlToken("other", note[0])
        limit = len(document) if self.failures < MAX_UNCLOSED_TAGS else start + SHORT_TAG
        match = TAG.match(document, start, limit)
        if match is None:
            self.failures += 1
            return None
        kind: Kind = "close" if match[1] else "void" if match[3].endswith("/") else "open"
        return HtmlToken(kind, match[0], match[2].lower())

    def _footnote_link(self, start: int) -> re.Match[str] | None:
        """Return the link of a number that stands directly behind a word or the end of a sentence."""
        note = FOOTNOTE_LINK.match(self.document, start)
        return note if note and BEFORE_FOOTNOTE.search(self.document, max(0, start - 40), start) else None

    def _raw(self, name: str) -> Iterator[HtmlToken]:
        """Yield the content of an element that holds no tags, up to its end."""
        end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(self.document, self.at)
        stop = end.start() if end else len(self.document)
        if stop > self.at:
            yield HtmlToken("raw", self.document[self.at : stop], name)
        self.at = stop
