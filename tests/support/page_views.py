"""How a test opens the parts of the page that are folded."""

from playwright.sync_api import Page, expect

TABS = {
    "Heatmap": "Alignment",
    "Lines": "Alignment",
    "Table": "Alignment",
    "Heads in colours": "Heads",
    "All heads": "Heads",
    "Step by step": "Search",
    "Compare models": "Compare",
    "Compare translations": "Compare",
    "Kinds of attention": "Compare",
}


def view(page: Page, name: str) -> None:
    """Open a view of "Look inside": its tab, and its button there if the tab has several views."""
    page.get_by_role("tab", name=TABS[name]).click()
    way = page.locator("#ways").get_by_role("button", name=name, exact=True)
    if way.is_visible():
        way.click()


def unfold(page: Page, name: str) -> None:
    """Open "Options", "Details" or "Export", if it is closed."""
    box = page.locator("details", has=page.locator("summary", has_text=name))
    if box.get_attribute("open") is None:
        box.locator("summary").click()


def translate(page: Page, url: str, text: str = "the dog sleeps here") -> None:
    """Open the page, translate a text, and wait for the figure."""
    page.goto(f"{url}/#source=en&target=fr&view=heatmap")
    box = page.get_by_label("Text", exact=True)
    expect(box).to_be_focused()
    expect(page.locator("#model")).to_contain_text("Transformer")
    box.fill(text)
    box.press("Control+Enter")
    expect(page.locator("#translation")).to_have_text(text.upper())
    expect(page.locator("#figure svg")).to_be_visible()


def figure_texts(page: Page) -> list[str]:
    """Return the texts of the figure."""
    return page.locator("#figure svg text").all_text_contents()
