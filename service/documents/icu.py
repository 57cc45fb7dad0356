"""Messages in the notation of ICU: `{count, plural, one {# file} other {# files}}`, also in other messages.

Words around an argument with branches go into each branch, as ICU recommends, so that whole sentences are translated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.documents.fragments import PLACEHOLDER
from service.documents.messages import Notation, Part, parts_of

ARGUMENT = re.compile(r"(?<![{$%#])\{\s*\w[\w.-]*\s*[,}]")
BRANCHED = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|selectordinal|select|choice)\s*,")
TOKEN = re.compile(
    r"(?P<head>\{\s*[\w.-]+\s*,\s*(?:plural|selectordinal|select)\s*,(?:\s*offset\s*:\s*\d+)?)"
    r"|(?P<end>\})|(?P<text>''|'[{}#|][^']*'|\{[^{}']*\}|[^{}']+|')"
)
CASE = re.compile(r"(?<!\s)\s*+(?:=\d++|(?<![\w-])[\w-]++)\s*+\{")
CLOSE = re.compile(r"(?<!\s)\s*+\}")
WORD = re.compile(r"[^\W\d_]")
KEPT = re.compile(rf"'[{{}}#|][^'\n]*'|#|{PLACEHOLDER.pattern}")
PLURAL = re.compile(r"\{\s*([\w.-]+)\s*,\s*(?:plural|selectordinal)")
SINGULAR = re.compile(r"(?:=1|\bone)\s*\{")
COUNT, ONE = "#", "#="  # the content of a kept part that the engine reads as a number, or as 1
DEEPEST = 10
MOST_BRANCHES = 24


@dataclass(frozen=True, slots=True)
class Branches:
    """An argument with a message for each case."""

    head: str
    cases: tuple[tuple[str, Nodes], ...]
    tail: str


Nodes = tuple["str | Branches", ...]


def message_parts(text: str) -> list[Part]:
    """Return a message in parts; one with branches that cannot be read stays as it is."""
    if not BRANCHED.search(text):
        return parts_of(text, _notation(text, Notation()))
    nodes, end = _nodes(text, 0, 0)
    if end != len(text):
        return [text]
    return _parts(_hoisted(nodes), _notation(text, Notation(kept=KEPT)))


def _notation(text: str, notation: Notation) -> Notation:
    """Return the notation of apostrophes: where a message has arguments, a single one may begin a quotation."""
    if not ARGUMENT.search(text):
        return notation
    mark = "''" if "''" in text else "\u2019"
    return replace(notation, decode=lambda text: text.replace("''", "'"), encode=lambda text: text.replace("'", mark))


def _nodes(text: str, at: int, depth: int) -> tuple[Nodes, int]:
    """Return the message that begins here, and where it ends; -1 if it cannot be read."""
    nodes: list[str | Branches] = []
    while match := TOKEN.match(text, at):
        if match["end"]:
            break
        at = match.end()
        if match["text"]:
            nodes.append(match[0])
            continue
        cases: list[tuple[str, Nodes]] = []
        while case := CASE.match(text, at):
            inner, at = _nodes(text, case.end(), depth + 1) if depth < DEEPEST else ((), -1)
            if at < 0 or not text.startswith("}", at):
                return (), -1
            cases.append((case[0], inner))
            at += 1
        close = CLOSE.match(text, at)
        if not cases or close is None:
            return (), -1
        nodes.append(Branches(match["head"], tuple(cases), close[0]))
        at = close.end()
    return _merged(nodes), at


def _merged(nodes: Sequence[str | Branches]) -> Nodes:
    """Return nodes with neighbouring texts joined."""
    merged: list[str | Branches] = []
    for node in nodes:
        if isinstance(node, str) and merged and isinstance(merged[-1], str):
            merged[-1] += node
        else:
            merged.append(node)
    return tuple(merged)


def _hoisted(nodes: Nodes) -> Nodes:
    """Return a message whose words around branches are inside them, unless it would become large or ambiguous."""
    at = next((number for number, node in enumerate(nodes) if isinstance(node, Branches)), None)
    if at is None:
        return nodes
    branches = nodes[at]
    assert isinstance(branches, Branches)
    around = "".join(node for node in nodes if isinstance(node, str))
    is_apart = "#" in around or not WORD.search(PLACEHOLDER.sub("", around)) or _leaves(nodes) > MOST_BRANCHES
    if is_apart:
        return tuple(
            replace(node, cases=tuple((head, _hoisted(inner)) for head, inner in node.cases))
            if isinstance(node, Branches)
            else node
            for node in nodes
        )
    before, after = nodes[:at], nodes[at + 1 :]
    cases = tuple((head, _hoisted(_merged([*before, *inner, *after]))) for head, inner in branches.cases)
    return (replace(branches, cases=cases),)


def _leaves(nodes: Nodes) -> int:
    """Return how many whole sentences a message has."""
    count = 1
    for node in nodes:
        if isinstance(node, Branches):
            count *= sum(_leaves(inner) for _, inner in node.cases)
    return count


def _parts(nodes: Nodes, notation: Notation) -> list[Part]:
    parts: list[Part] = []
    for node in nodes:
        if isinstance(node, str):
            parts += parts_of(node, notation)
            continue
        parts.append(node.head)
        plural = PLURAL.match(node.head)
        for head, inner in node.cases:
            style = notation
            if plural:  # its own argument is a number in each case, as # is
                shown = ONE if SINGULAR.search(head) else COUNT
                style = replace(notation, counts={**notation.counts, "#": shown, f"{{{plural[1]}}}": shown})
            parts += [head, *_parts(inner, style), "}"]
        parts.append(node.tail)
    return parts
