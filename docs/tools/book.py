"""Builds the book: executes the pages of docs/learn and writes them as HTML that the service sends at /learn/.

A page is Markdown; Jupyter opens it through jupytext. Fenced blocks of `python` are its cells: they run in one
namespace, and what they print and draw is put below them. A block of `include` names functions or classes of ours,
whose source is put in its place. Formulas between $ become MathML, which browsers draw themselves. Links to
http://localhost:8000/ lead to the server that sends the page.

`python docs/tools/book.py` builds all pages, `python docs/tools/book.py 01 07` some.
"""

import contextlib
import hashlib
import html
import importlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from docs.tools.book_html import (  # noqa: E402
    DISPLAY,
    INLINE,
    coloured,
    document,
    joined,
    markdown_html,
    mathml,
    with_places,
)

PAGES = ROOT / "docs" / "learn"
BUILT = ROOT / "service" / "web" / "learn"
MODELS = ROOT / "models"
MANIFESTS = ("manifest.json", "captions.json")
MARK = "source-sha256"
FORM = "5"  # raised when this program makes other pages of the same text

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```\n", re.M | re.S)
_OUTPUTS = re.compile(
    r'<pre class="cell">.*?</pre>((?:\s*(?:<pre class="output">.*?</pre>|<figure><svg.*?</figure>))*)', re.S
)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the book."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def cells(self) -> list[str]:
        """Return the code of the page's cells."""
        return [code for kind, code in _FENCE.findall(self.text) if kind == "python"]

    @property
    def included(self) -> list[str]:
        """Return the names of our functions and classes that the page shows."""
        return [name for kind, names in _FENCE.findall(self.text) if kind == "include" for name in names.split()]

    @property
    def bundles(self) -> list[Path]:
        """Return the manifests of the shipped models that the page's cells name."""
        named = set(re.findall(r'"([a-z0-9-]+)"', "\n".join(self.cells)))
        return [path for path in sorted(MODELS.rglob("*.json")) if path.name in MANIFESTS and path.parent.name in named]

    @property
    def digest(self) -> str:
        """Return a digest of what the built page is made of: its text, our code that it shows, the models it runs.

        A manifest has the checksums of all files of its model.
        """
        manifests = (path.read_text("utf-8") for path in self.bundles)
        parts = [self.text, *(source_of(name) for name in self.included), *manifests, FORM]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def pages() -> list[Page]:
    """Return the pages in order."""
    return [Page(path) for path in sorted(PAGES.glob("[0-9][0-9]-*.md"))]


def source_of(name: str) -> str:
    """Return the source of a function or class, by its module and name."""
    return inspect.getsource(resolved(name)).rstrip() + "\n"


def resolved(name: str) -> Any:
    """Return a function or class by its dotted name; raise AttributeError or ImportError if there is none."""
    module, _, attributes = name, "", [""]
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        module, attributes = ".".join(parts[:size]), parts[size:]
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for attribute in attributes:
            found = getattr(found, attribute)
        return found
    raise ImportError(f"there is no module of {name}")


@contextlib.contextmanager
def drawing() -> Iterator[Any]:
    """Yield matplotlib's pyplot, set up for small pictures that are the same at every build."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "learn",
        "figure.figsize": (6.0, 2.4),
        "font.size": 9,
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "image.cmap": "Blues",
        # Heatmaps are stored as one pixel for each number.
        "figure.constrained_layout.use": True,
        "image.interpolation": "none",
        "path.simplify_threshold": 1.0,
    }
    with mpl.rc_context(style):
        yield pyplot
    pyplot.close("all")


def run_cells(page: Page) -> Iterator[tuple[str, list[str]]]:
    """Run the cells of a page in order; yield what each prints, and its pictures as SVG."""
    namespace: dict[str, Any] = {"__name__": "page"}
    with drawing() as pyplot:
        for number, code in enumerate(page.cells):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, f"{page.path.name}, cell {number + 1}", "exec"), namespace)
            pictures = [_svg(pyplot.figure(at), f"c{number}f{at}") for at in pyplot.get_fignums()]
            pyplot.close("all")
            yield printed.getvalue(), pictures


def _svg(figure: Any, name: str) -> str:
    from docs.tools.small_svg import smaller

    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return smaller(re.sub(r" font-family: [^;\"]*;", "", file.getvalue()), name)  # the page has a font


def build(page: Page) -> str:
    """Return a page as HTML."""
    results = run_cells(page)

    def block(match: re.Match[str]) -> str:
        kind, code = match.groups()
        if kind == "include":
            return "".join(_included(name) for name in code.split())
        if kind != "python":
            return match.group()
        printed, pictures = next(results)
        output = f'<pre class="output">{html.escape(printed.rstrip())}</pre>' if printed.strip() else ""
        drawn = "".join(f"<figure>{picture}</figure>" for picture in pictures)
        return f'\n<pre class="cell"><code>{coloured(code.rstrip())}</code></pre>\n{joined(output + drawn)}\n\n'

    body = with_places(markdown_html(_FENCE.sub(block, page.text)))
    return document(page.title, body, _mark(page.digest))


def _included(name: str) -> str:
    source = re.sub(r"\n\n+", "\n<span></span>\n", coloured(source_of(name).rstrip()))
    caption = f"<figcaption><code>{name}</code></figcaption>"
    return f'\n<figure class="ours">{caption}<pre><code>{source}</code></pre></figure>\n\n'


def for_site(page: Page) -> str:
    """Return a page as Markdown for the docs site, with the outputs that the built page has."""
    outputs = iter(_OUTPUTS.findall((BUILT / f"{page.name}.html").read_text("utf-8")))

    def block(match: re.Match[str]) -> str:
        kind, code = match.groups()
        if kind == "include":
            return "".join(f"`{name}`:\n\n```python\n{dedent(source_of(name))}```\n\n" for name in code.split())
        if kind != "python":
            return match.group()
        return f"{match.group()}\n{_raw(next(outputs))}\n\n"

    text = _FENCE.sub(block, page.text)
    text = _outside_code(text, lambda part: DISPLAY.sub(lambda found: _raw(mathml(found[1], "block")) + "\n", part))
    return _outside_code(text, lambda part: INLINE.sub(lambda found: _literal(mathml(found[1], "inline")), part))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text with a change made outside its blocks of code and of HTML."""
    parts = re.split(r"(^```.*?^```\n|^<(?:pre|figure).*?$)", text, flags=re.M | re.S)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def _raw(markup: str) -> str:
    """Return HTML as blocks that Markdown leaves alone: no empty line, and one line for each element."""
    blocks = re.findall(r"<pre.*?</pre>|<figure.*?</figure>|<math.*?</math>", markup, re.S)
    return "".join(f"\n{joined(one) if one.startswith('<pre') else ' '.join(one.split(chr(10)))}\n" for one in blocks)


def _literal(markup: str) -> str:
    """Return HTML whose texts mean nothing to Markdown."""
    return re.sub(r"[*_\[\]\\`|]", lambda found: f"&#{ord(found.group())};", markup)


def contents(book: list[Page]) -> str:
    """Return the table of contents as HTML."""
    text = (PAGES / "index.md").read_text("utf-8")
    entries = "".join(f'<li><a href="{page.name}.html">{html.escape(page.title)}</a></li>' for page in book)
    digest = hashlib.sha256("\0".join([text, *(page.title for page in book)]).encode()).hexdigest()
    return document("Learn attention", markdown_html(text) + f'<ol start="0">{entries}</ol>\n', _mark(digest))


def _mark(digest: str) -> str:
    return f'<meta name="{MARK}" content="{digest}">'


def stored_digest(page: Page) -> str | None:
    """Return the digest in the built page; None if it was never built."""
    built = BUILT / f"{page.name}.html"
    found = re.search(rf'name="{MARK}" content="(\w+)"', built.read_text("utf-8")) if built.exists() else None
    return found.group(1) if found else None


def main() -> None:
    """Build all pages, or those whose names begin with an argument."""
    book = pages()
    wanted = tuple(sys.argv[1:])
    BUILT.mkdir(exist_ok=True)
    for page in book:
        if wanted and not page.name.startswith(wanted):
            continue
        content = build(page)
        (BUILT / f"{page.name}.html").write_text(content, "utf-8")
        sys.stdout.write(f"{page.name}: {len(content)} bytes\n")
    (BUILT / "index.html").write_text(contents(book), "utf-8")


if __name__ == "__main__":
    main()
