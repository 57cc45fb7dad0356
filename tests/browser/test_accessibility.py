"""axe-core finds nothing to complain about on any view, in light and in dark colours."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_views import unfold

axe_core = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
pytestmark = pytest.mark.slow
TEXT = "text=the+dog+sleeps+here"
FOUND = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
  .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.any[0]?.message ?? ""}`))"""


def drawn(page: Page) -> None:
    """Wait for the figure."""
    expect(page.locator("#figure svg").first).to_be_visible()
    expect(page.locator("#figure")).not_to_have_class("figure busy")


def alternatives(page: Page) -> None:
    """Open the alternatives at a word."""
    page.locator("#translation .word").nth(1).click()
    expect(page.locator("#alternatives-list button").first).to_be_focused()


def file(page: Page) -> None:
    """Translate a file."""
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"A dog."})
    expect(page.locator("#files-list a")).to_be_visible()


def options(page: Page) -> None:
    """Unfold all options."""
    unfold(page, "Options")
    expect(page.get_by_label("Your terms")).to_be_visible()


def shown(place: str) -> Callable[[Page], None]:
    """Return a function that waits for a part of the page."""
    return lambda page: expect(page.locator(place).first).to_be_visible()


# Each view: its address, and what is done until it is complete.
VIEWS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "empty": ("", shown("#examples-list button")),
    "translation": (f"#{TEXT}", shown("#translation .word")),
    "alternatives": (f"#{TEXT}", alternatives),
    "options": (f"#{TEXT}", options),
    "file": ("", file),
    "error": ("#source=auto&text=Ma%C3%B1ana+por+la+tarde+me+gustar%C3%ADa+ir+al+cine.", shown("#error")),
    **{view: (f"#{TEXT}&view={view}", drawn) for view in ("heatmap", "lines", "grid", "compare")},
    "table": (f"#{TEXT}&view=table", shown("#table table")),
    "heads": (f"#{TEXT}&view=heads", shown("#head-to button")),
    "search": (f"#{TEXT}&view=steps", shown("#step-tree g")),
    "translations": (f"#{TEXT}&view=contrast&target_text=A+DOG+RESTS", drawn),
    "models": ("web/models.html", shown("#models .card")),
    "API": ("docs", shown("main section")),
    "contents of the book": ("learn/", shown("main a")),
    "kernel regression": ("web/pooling.html", shown("#value")),
    "network": ("web/network.html", shown("#part-numbers table")),
    "page of the book": ("learn/04-bahdanau.html", shown("main math")),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_accessible_in_both_themes(page: Page, url: str, name: str) -> None:
    address, complete = VIEWS[name]
    page.goto(f"{url}/{address}")
    complete(page)
    page.evaluate(axe_core.AXE_SCRIPT)
    assert page.evaluate(FOUND) == []
    page.emulate_media(color_scheme="dark")
    page.evaluate("() => new Promise(requestAnimationFrame)")  # by then the page has heard of it and draws again
    expect(page.locator(".busy")).to_have_count(0)  # wait_for_function needs eval, which the page's policy forbids
    assert page.evaluate(FOUND) == []
