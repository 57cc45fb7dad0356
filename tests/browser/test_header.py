"""The header that all pages but the translator's share, in Chromium: links, language and colours."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
PAGES = {
    "docs": "API",
    "web/models.html": "Models",
    "web/pooling.html": "Learn",
    "web/network.html": "Learn",
    "learn/": "Learn",
    "learn/04-bahdanau.html": "Learn",
}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_the_header_and_marks_where_one_is(page: Page, url: str, path: str) -> None:
    page.goto(f"{url}/{path}")
    header = page.get_by_role("banner")
    expect(header.locator("nav a")).to_have_text(["Translate", "Learn", "Models", "API"])
    expect(header.locator("[aria-current=page]")).to_have_text(PAGES[path])
    header.get_by_role("button", name="Dark colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(12, 15, 20)"
    page.get_by_role("combobox", name="Language of this page").select_option("de")
    expect(header.get_by_role("link", name="Übersetzen")).to_be_visible()
    expect(page.locator("main")).to_have_count(1)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("path", ["", "web/models.html", "web/network.html", "web/pooling.html"])
def test_a_form_whose_script_has_not_come_yet_sends_nothing(page: Page, url: str, path: str) -> None:
    page.route("**/*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(f"{url}/{path}")
    page.evaluate("window.before = true; for (const form of document.forms) form.requestSubmit()")
    page.wait_for_load_state("networkidle")
    assert page.url == f"{url}/{path}"
    assert page.evaluate("document.forms.length && window.before"), "the page was loaded again"


def test_the_contents_of_the_api_page_lead_to_its_routes(page: Page, url: str) -> None:
    page.goto(f"{url}/docs")
    page.get_by_role("link", name="GET /v2/models/{model}/config").click()
    expect(page.get_by_role("heading", name="GET /v2/models/{model}/config")).to_be_in_viewport()
