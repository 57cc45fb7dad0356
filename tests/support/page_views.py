"""How a test opens the parts of the page that are folded."""

from playwright.sync_api import Page

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
