"""The pages of the book, as docs/tools/book.py has built them, and what leads from one to the others."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

LEARN = Path(__file__).resolve().parents[1] / "web" / "learn"


class Chapter(NamedTuple):
    """A page of the book: its file, its title, and the places of its headings with their texts, all as HTML."""

    name: str
    title: str
    headings: list[tuple[str, str]]


@cache
def chapters() -> tuple[Chapter, ...]:
    """Return the pages in order."""
    texts = {path.name: path.read_text("utf-8") for path in sorted(LEARN.glob("[0-9]*.html"))}
    return tuple(
        Chapter(name, re.findall("<title>(.*?)</title>", text)[0], re.findall('<h2 id="(.*?)">(.*?)</h2>', text))
        for name, text in texts.items()
    )


def contents(current: str) -> str:
    """Return the list of all pages; the current one has its headings below it."""
    entries = []
    for name, title, headings in chapters():
        inner = "".join(f'<li><a href="#{place}">{heading}</a></li>' for place, heading in headings)
        here, below = (' aria-current="page"', f"<ul>{inner}</ul>") if name == current else ("", "")
        entries.append(f'<li><a href="{name}"{here}>{title}</a>{below}</li>')
    return f'<ol start="0">{"".join(entries)}</ol>'


def turn(current: str) -> str:
    """Return the links to the page before and to the page after the current one."""
    names = [chapter.name for chapter in chapters()]
    at = names.index(current)
    before, after = chapters()[max(at - 1, 0) : at], chapters()[at + 1 : at + 2]
    links = [f'<a href="{one.name}" rel="prev">← {one.title}</a>' for one in before]
    links += [f'<a href="{one.name}" rel="next">→ {one.title}</a>' for one in after]
    return f'<nav class="turn" aria-label="Pages">{"".join(links)}</nav>'
