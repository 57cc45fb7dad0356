"""Builds the docs site in build/site: `make docs`, or `python docs/tools/build_site.py`.

The pages of the repository are copied to build/docs-source, where Sphinx reads them. On the way, links between them
become links of the site; links to other files of the repository lead to copies of those files; notebooks and the pages
of the book become Markdown with their outputs. The README is the home page and, from its second part on, "Getting
started". A link whose text is the name of a page has the title of that page instead. docs/site/nav.yaml says which page
stands where.
"""

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # so that the checkout is found before anything installed

from docs.tools import book, links, reference  # noqa: E402

SITE = ROOT / "docs/site"
STAGED = ROOT / "build/docs-source"
BUILT = ROOT / "build/site"
HOME = "README.md"
START = "generated/start.md"
START_HEADING = "## Start in a minute\n"
BELOW = "**[Getting started](generated/start.md)** · [Learn](docs/learn/index.md) · [API](docs/api.md)\n"
PICTURES = (".png", ".svg")


def start() -> str:
    """Return the page for a beginner."""
    return f"# Getting started\n\n{(ROOT / HOME).read_text('utf-8').partition(START_HEADING)[2]}"


GENERATED: dict[str, Callable[[], str]] = {
    START: start,
    "generated/http.md": reference.http,
    "generated/python.md": reference.python,
    "generated/commands.md": reference.commands,
}
_FENCE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.M | re.S)
_FILE_NAME = re.compile(r"`?[\w./-]+\.(?:md|ipynb)`?")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the navigation."""

    title: str
    pages: list[str]


def sections() -> list[Section]:
    """Return the navigation, with patterns replaced by the pages that they match."""
    listed: list[dict[str, Any]] = yaml.safe_load((SITE / "nav.yaml").read_text("utf-8"))
    return [Section(one["title"], [page for entry in one["pages"] for page in _matching(entry)]) for one in listed]


def _matching(entry: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(entry)) if "*" in entry else [entry]


def title(page: str) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^(?: *\")?# ([^\n\\\"]+)", (ROOT / page).read_text("utf-8"), re.M)
    return found[1].strip() if found else page


def place(page: str) -> str:
    """Return where a page of the repository stands on the site, relative to its root, as Markdown."""
    if page in (HOME, START):
        return "index.md" if page == HOME else "getting-started.md"
    if page == "models/README.md":
        return "models.md"
    if not page.startswith("docs/"):
        return page.lower().replace("_", "-") if "/" not in page else page.replace("generated/", "reference/")
    if page.endswith(".ipynb"):
        return f"notebooks/{posixpath.basename(page).removesuffix('.ipynb')}.md"
    return page.removeprefix("docs/")


class Stage:
    """Copies pages and the files that they need."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.sections = sections()
        self.places = {page: place(page) for page in [HOME, *(page for one in self.sections for page in one.pages)]}

    def write(self) -> None:
        """Write everything that Sphinx reads."""
        shutil.rmtree(self.target, ignore_errors=True)
        shutil.copytree(SITE, self.target, ignore=shutil.ignore_patterns("nav.yaml", "custom.css"))
        for name, source in (("custom.css", SITE / "custom.css"), ("icon.svg", ROOT / "service/web/icon.svg")):
            self._copy(source, f"_static/{name}")
        (self.target / "_extra").mkdir()
        for page, place in self.places.items():
            path = self.target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.page(page), "utf-8")

    def page(self, page: str) -> str:
        """Return a page as the site has it."""
        if page in GENERATED:
            return self._linked(start(), HOME) if page == START else GENERATED[page]()
        path = ROOT / page
        if path.suffix == ".ipynb":
            return self._linked(self._notebook(page), page)
        if book.PAGES in path.parents and path.stem[0].isdigit():
            return self._linked(book.for_site(book.Page(path)), page)
        text = path.read_text("utf-8")
        if page == HOME:
            return self._linked(text.partition(START_HEADING)[0] + BELOW, page) + self._contents()
        return self._linked(text, page)

    def _contents(self) -> str:
        """Return the navigation, which Sphinx reads in the first page."""
        return "".join(
            "\n```{toctree}\n:hidden:\n"
            + (":maxdepth: 1\n" if section.title == "Decisions" else "")
            + f":caption: {section.title}\n\n"
            + "".join(f"{self.places[page].removesuffix('.md')}\n" for page in section.pages)
            + "```\n"
            for section in self.sections
        )

    def _linked(self, text: str, page: str) -> str:
        """Return a text whose links lead to places of the site; code is left alone."""
        kept: list[str] = []

        def keep(found: re.Match[str]) -> str:
            kept.append(found.group())
            return f"\ue010{len(kept) - 1}\ue011"

        text = _FENCE.sub(keep, text)
        text = _LINK.sub(lambda found: self._link(found, page), text)
        return re.sub("\ue010(\\d+)\ue011", lambda found: kept[int(found.group(1))], text)

    def _link(self, found: re.Match[str], page: str) -> str:
        mark, label, link = found.groups()
        label = _LINK.sub(lambda inner: self._link(inner, page), label)
        target, hash_sign, anchor = link.partition("#")
        if "://" in link or link.startswith(("mailto:", "data:")) or not target:
            return f"{mark}[{label}]({link})"
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        here = posixpath.dirname(self.places[page]) or "."
        if mark and (self.target / here / target).exists():  # a picture of a notebook
            return found.group()
        if file in self.places:
            if _FILE_NAME.fullmatch(label):
                label = title(file)
            return f"[{label}]({posixpath.relpath(self.places[file], here)}{hash_sign}{anchor})"
        if mark:
            place = file.removeprefix("docs/")
            self._copy(ROOT / file, place)
            return f"![{label}]({posixpath.relpath(place, here)})"
        if (ROOT / file).is_dir():
            return label
        place = f"files/{file}" if file.endswith(PICTURES) else f"files/{file}.txt"
        self._copy(ROOT / file, f"_extra/{place}")
        return f'<a href="{posixpath.relpath(place, here)}">{label}</a>'

    def _copy(self, source: Path, place: str) -> None:
        target = self.target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

    def _notebook(self, page: str) -> str:
        """Return a notebook as Markdown, with its outputs."""
        from nbconvert import MarkdownExporter

        text, resources = MarkdownExporter().from_filename(str(ROOT / page))
        folder = f"{posixpath.splitext(self.places[page])[0]}-files"
        for name, content in resources["outputs"].items():
            target = self.target / folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            text = text.replace(f"]({name})", f"]({posixpath.basename(folder)}/{name})")
        return str(text)


def build() -> None:
    """Write the site; exit with 1 if Sphinx warns of anything or a link leads nowhere."""
    Stage(STAGED).write()
    shutil.rmtree(BUILT, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-b", "html", "-d", f"{STAGED}/.cache"]
    if subprocess.run([*command, str(STAGED), str(BUILT)], check=False).returncode:
        sys.exit("make docs: Sphinx found something wrong")
    report(links.problems(BUILT))


def report(problems: Iterator[str]) -> None:
    """Exit with a list of problems, if there are any."""
    if found := list(problems):
        sys.exit("\n".join(["make docs: links of the site that are not as they should be:", *found]))
    sys.stdout.write(f"{BUILT}/index.html: {len(list(BUILT.rglob('*.html')))} pages, every link leads somewhere\n")


if __name__ == "__main__":
    build()
