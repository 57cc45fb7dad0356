"""Checks a built site: every link and picture leads to something that is there, and nothing is loaded from elsewhere.

python docs/tools/links.py FOLDER
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "use": "href"}
NO_FILE = ("canonical", "edit")  # values of `rel` that name a place and load nothing


@dataclass
class Page(HTMLParser):
    """The names and the links of one page."""

    text: str
    names: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag defines and where it leads."""
        values = {name: value for name, value in attrs if value is not None}
        self.names.update(values[key] for key in ("id", "name") if key in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADED.get(tag, "") in values and values.get("rel") not in NO_FILE:
            self.loaded.append(values[LOADED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield one line for each link of a site that leads nowhere, and for each file that another host would send."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in page.loaded:
            if urlsplit(link).netloc or link.startswith("//"):
                yield f"{name}: loads {link}"
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{name}: {link} leads nowhere"
            elif target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].names:
                yield f"{name}: {link} names a heading that is not there"
    for style in site.rglob("*.css"):
        text = style.read_text("utf-8")
        if "url(http" in text or "@import" in text or "url(//" in text:
            yield f"{style.relative_to(site)}: loads something from elsewhere"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    sys.exit("\n".join(found) if found else 0)
