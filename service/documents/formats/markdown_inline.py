"""Inline Markdown as fragments, and translated fragments as inline Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it.token import Token

from service.documents.fragments import FragmentBuilder, Tags, closing_tags, render

KEPT = re.compile(
    r"\ue000\^[^\]\s]{1,80}\]"  # the mark of a footnote
    r"|(?<!\w):[a-z0-9_+-]{2,40}:(?!\w)"  # an emoji by its name
    r"|\$[^$\s](?:[^$\n]{0,200}[^$\s])?\$(?!\d)"  # mathematics
    r"|\{\{.{0,200}?\}\}|\{%.{0,200}?%\}"  # templates
    r"|https?://[^\s<>]+"
)
ESCAPED = re.compile(r"[\\`*\[\]]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|~(?=~)|(?<=~)~|&(?=#?\w{1,31};)")
BEFORE = re.compile(r"(?:\[[ xX]\]|\ue000\^[^\]\s]{1,80}\]:)[ \t]+")
"""What stands before the text of a paragraph: a box to tick, or the name of a footnote."""
FIRST_SIGN = re.compile(r"\A\s*+(?=[-+>#=|:])")
FIRST_NUMBER = re.compile(r"\A(\s*+\d{1,9})(?=[.)](?:\s|$))")


SIGN = re.compile(r"\\(.)")
QUOTED = re.compile(r'["\\]')
ATTRIBUTES = {
    "alt": (re.compile(r"\A!\[(?P<text>(?:[^\\\]]++|\\.)*+)\]"), ESCAPED),
    "title": (re.compile(r' "(?P<text>(?:[^"\\]++|\\.)*+)"\)\Z'), QUOTED),
}
"""Texts in the markup of pictures and links: where each stands, and the signs that are escaped in it."""


class Target(NamedTuple):
    """The markup of a picture or a link, as tags of a fragment."""

    before: str
    after: str | None = ""

    def text(self, attribute: str) -> str:
        """Return the text of an attribute; "" if it has none."""
        match = ATTRIBUTES[attribute][0].search(self.after or self.before)
        return SIGN.sub(r"\1", match["text"]) if match else ""

    def with_text(self, attribute: str, text: str) -> Target:
        """Return the markup with another text for an attribute that it has."""
        pattern, signs = ATTRIBUTES[attribute]
        source = self.after or self.before
        match = pattern.search(source)
        assert match is not None
        new = source[: match.start("text")] + escaped(text, signs) + source[match.end("text") :]
        return Target(self.before, new) if self.after else Target(new)


def escaped(text: str, signs: re.Pattern[str]) -> str:
    """Return a text with a backslash before these signs."""
    return signs.sub(r"\\\g<0>", text)


def split_at_breaks(children: Sequence[Token]) -> list[list[Token]]:
    """Return inline tokens in lines: a hard break that is in no other markup divides them."""
    parts: list[list[Token]] = [[]]
    for child in children:
        if child.type == "hardbreak" and child.level == 0:
            parts.append([])
        else:
            parts[-1].append(child)
    return parts


def fragment_of(children: Sequence[Token]) -> tuple[str, list[Tags]]:
    """Return inline tokens as a fragment, and what its tags stand for."""
    builder: FragmentBuilder[Tags] = FragmentBuilder()
    closing = closing_tags([child.content if child.type == "html_inline" else "" for child in children])
    closing = {first: last for first, last in closing.items() if children[first].level == children[last].level}
    closers = {*closing.values()}
    number = 0
    while number < len(children):
        child = children[number]
        if child.type == "link_open" and child.markup == "autolink":
            text = children[number + 1].content
            builder.kept((f"<{text}>", None), text)
            number += 3
            continue
        if number in closing:
            builder.open((child.content, children[closing[number]].content))
        elif number in closers:
            builder.close()
        else:
            _add(builder, child)
        number += 1
    tags = [
        Target(*sources) if isinstance(tag, Target) else sources
        for tag in builder.things
        for sources in [(_original(tag[0]), tag[1] and _original(tag[1]))]
    ]
    return _original(builder.fragment), tags


def _original(text: str) -> str:
    """Return the source of what the parser got with other signs; see service.documents.formats.markdown."""
    return text.replace("\ue000", "[")


def _add(builder: FragmentBuilder[Tags], child: Token) -> None:
    if child.type == "text":
        _add_text(builder, child.content)
    elif child.type == "softbreak":
        builder.text(" ")
    elif child.type == "hardbreak":
        builder.point(("\\\n", ""))
    elif child.type == "code_inline":
        builder.kept((code(child), None), child.content)
    elif child.type == "image":
        builder.point(Target(f"![{alternative(child)}{target(child, 'src')}"))
    elif child.type == "link_open":
        builder.open(Target("[", target(child, "href")))
    elif child.nesting == 1:
        builder.open((child.markup, child.markup))
    elif child.nesting == -1:
        builder.close()
    else:
        builder.point((child.content, ""))


def _add_text(builder: FragmentBuilder[Tags], text: str) -> None:
    """Add text; the mark of a footnote has no width, so that it follows its word."""
    at = 0
    for match in KEPT.finditer(text):
        builder.text(text[at : match.start()])
        if match[0].startswith("\ue000"):
            builder.point((match[0], ""))
        else:
            builder.kept((match[0], None), match[0])
        at = match.end()
    builder.text(text[at:])


def code(token: Token) -> str:
    """Return the source of inline code."""
    content = token.content
    pad = " " if content.startswith("`") or content.endswith("`") else ""
    if content.startswith(" ") and content.endswith(" ") and content.strip():
        pad = " "
    return f"{token.markup}{pad}{content}{pad}{token.markup}"


def alternative(image: Token) -> str:
    """Return the text in place of a picture."""
    return escaped("".join(child.content for child in image.children or []), ESCAPED)


def target(token: Token, name: str) -> str:
    """Return the end of a link or a picture: its label, or its address and title."""
    label = token.meta.get("label")
    if label:
        return f"][{str(label).lower()}]"  # the parser has it in capitals; labels ignore case
    address = str(token.attrGet(name) or "")
    if not address or re.search(r"[\s()<>]", address):
        address = f"<{address}>"
    title = str(token.attrGet("title") or "")
    return f']({address} "{escaped(title, QUOTED)}")' if title else f"]({address})"


def written(fragment: str, tags: Sequence[Tags], *, in_table: bool, begins_line: bool) -> str:
    """Return a fragment as inline Markdown; what would be markup by chance is escaped."""

    def encode(text: str) -> str:
        text = escaped(text, ESCAPED)
        return text.replace("|", "\\|") if in_table else text

    text = render(fragment, tags, encode)
    if begins_line:
        number = FIRST_NUMBER.match(text)
        text = f"{number[1]}\\{text[number.end() :]}" if number else text
        sign = FIRST_SIGN.match(text)
        if sign and not text.startswith(tuple(before for before, _ in tags if before)):
            text = f"{text[: sign.end()]}\\{text[sign.end() :]}"
    return text
