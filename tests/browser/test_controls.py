"""Every control changes what it says it changes, at once, in real Chromium."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_requests import Bodies, posted
from tests.support.page_views import unfold


@pytest.fixture
def bodies(page: Page, url: str) -> Bodies:
    """Translate a text, and return what the page posts from then on."""
    page.goto(f"{url}/#source=en&target=fr&text=the+dog")
    expect(page.locator("#translation")).to_have_text("THE DOG")
    return posted(page)


@pytest.mark.parametrize(
    ("label", "typed", "field", "used"),
    [
        ("Beam size", "2", "beam_size", 2),
        ("Beam size", "99", "beam_size", 8),
        ("Length penalty", "0.5", "length_penalty", 0.5),
        ("Length penalty", "-3", "length_penalty", 0),
    ],
)
def test_the_search_is_changed_at_once_within_its_limits(
    page: Page, bodies: Bodies, label: str, typed: str, field: str, used: float
) -> None:
    unfold(page, "Options")
    with page.expect_response("**/translate"):
        page.get_by_label(label).fill(typed)
    assert bodies[-1][1][field] == used
    page.get_by_label(label).press("Tab")
    expect(page.get_by_label(label)).to_have_value(f"{used:g}")
    expect(page.get_by_text("Not up to date")).to_be_hidden()


def test_a_form_of_address_is_asked_for_where_the_language_has_one(page: Page, bodies: Bodies) -> None:
    box = page.get_by_role("combobox", name="Form of address")
    with page.expect_response("**/translate"):
        box.select_option("polite")
    assert bodies[-1][1]["formality"] == "prefer_more"
    with page.expect_response("**/translate"):
        box.select_option("any form of address")
    assert "formality" not in bodies[-1][1]
    page.get_by_role("combobox", name="From").select_option("fr")
    expect(page.locator("#target")).to_have_value("en")
    expect(box).to_be_hidden()
