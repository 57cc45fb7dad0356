"""Text that was wrapped by hand: lines are joined for translation, and the translation is wrapped as wide."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

LEAST_WRAPPED = 40  # characters of a line that was broken because it was full
ENDS = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*\s*$""")
ITEM = re.compile(r"\s*(?:[-*+•·–—>#|]|\(?\w{1,3}[.)]\s)")


def continues(line: str, following: str) -> bool:
    """Return whether a sentence seems to run from a full line into the next one."""
    indent = len(following) - len(following.lstrip())
    return (
        len(line.rstrip()) >= LEAST_WRAPPED
        and not ENDS.search(line)
        and indent == len(line) - len(line.lstrip())
        and not ITEM.match(following)
        and following.lstrip()[:1].islower()
    )


def paragraphs(lines: Sequence[str]) -> list[list[str]]:
    """Return lines in groups: the lines of one wrapped paragraph together, every other line alone."""
    groups: list[list[str]] = []
    for line in lines:
        if groups and line.strip() and groups[-1][-1].strip() and continues(groups[-1][-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def rewrapped(text: str, lines: Sequence[str]) -> list[str]:
    """Return text in lines that are about as wide as the lines it stands for, with their indent."""
    if len(lines) == 1:
        return [text]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    width = max(map(len, lines))
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]
