"""The book in Chromium: opened from the page, drawn without a script and without another server."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def test_the_book_is_opened_from_the_page_and_leads_back(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("link", name="Learn").click()
    expect(page.get_by_role("heading", name="Learn attention")).to_be_visible()
    page.get_by_role("link", name="Pooling with kernels").click()
    formula = page.locator("math[display=block]").first
    expect(formula).to_be_visible()
    size = formula.bounding_box()
    assert size is not None
    assert size["height"] > 30, "a fraction is drawn as one"
    expect(page.locator("figure svg").first).to_be_visible()
    answer = page.get_by_text("can attend to itself alone")
    expect(answer).to_be_hidden()
    page.get_by_text("Answer", exact=True).first.click()
    expect(answer).to_be_visible()
    page.get_by_role("link", name="attention without a model").click()
    expect(page).to_have_url(f"{url}/web/pooling.html")
