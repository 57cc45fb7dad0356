"""Extensions of Markdown as a parser of CommonMark can read them: admonitions, containers, tabs, definition lists.

The lines stay as many: what is structure becomes an empty line, text in an admonition loses its indent, and a
definition is an item of a list. Only the parser sees this; the places in the file are those of the original lines.
"""

import re
from collections.abc import Sequence

FENCE = re.compile(r"[ \t]*+(```|~~~)")
CONTAINER = re.compile(r"[ \t]*+:::++[^\n]*+")  # Docusaurus, VitePress, Pandoc
INDENTED = re.compile(r'[ \t]*+(?:!!!|\?\?\?\+?|===!?\+?) *+(?:[\w -]*+)(?:"(?P<title>[^"\n]*+)")?[ \t]*+')  # MkDocs
DEFINITION = re.compile(r"( {0,3})[:~](?=[ \t]++\S)")
INDENT = 4


def readable(lines: Sequence[str]) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Return the lines as the parser can read them, and the titles: a line's number, start and end."""
    new: list[str] = []
    titles: list[tuple[int, int, int]] = []
    fence = ""
    levels = [0]  # indents of the admonitions around a line, at least of its text
    for number, line in enumerate(lines):
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        while not fence and text and indent < levels[-1]:
            levels.pop()
        inner = line[min(indent, levels[-1]) :]
        if mark := FENCE.match(inner):
            fence = mark[1] if not fence else "" if fence == mark[1] else fence
        elif not fence and (opened := INDENTED.fullmatch(inner)):
            levels.append(indent + INDENT)
            if opened["title"]:
                removed = len(line) - len(inner)
                titles.append((number, opened.start("title") + removed, opened.end("title") + removed))
            inner = ""
        elif not fence and CONTAINER.fullmatch(inner):
            inner = ""
        elif not fence and number and lines[number - 1].strip():
            inner = DEFINITION.sub(r"\1-", inner, count=1) if DEFINITION.match(inner) else inner
        new.append(inner)
    return new, titles
