"""Long texts, long words and small screens, in real Chromium."""

import pytest
from playwright.sync_api import Page, expect

LETTER = (
    "Dear Mrs Miller,\n\nThank you for your letter of last week. We were very glad to hear that you liked the rooms. "
    "The bill that you asked about is attached, and the amount has been corrected. Please let us know whether you will "
    "come again in the autumn, because the house is nearly full and we would like to keep the same rooms for you. The "
    "garden has changed a lot since then, and the children will find a new swing under the old tree.\n\nKind regards,"
)
LONG = "See https://www.example.com/" + "very/long/path/segment/" * 20 + " and " + "x" * 300
SIZES = [(1440, 900), (1024, 768), (720, 450), (390, 844)]


def shown(page: Page, url: str, text: str, width: int, height: int, view: str = "") -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{url}/#source=en&target=fr&view={view}")
    box = page.get_by_label("Text", exact=True)
    box.evaluate("(box, text) => { box.value = text; box.dispatchEvent(new InputEvent('input')); }", text)
    expect(page.locator("#translation")).to_have_text(text.upper())


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_long_word_stays_in_its_pane(page: Page, url: str, width: int, height: int) -> None:
    shown(page, url, LONG, width, height)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for pane, content in ((".own", "#text"), (".own", "#mirror"), (".out", "#translation")):
        own, inner = page.locator(pane).bounding_box(), page.locator(content).bounding_box()
        assert own is not None
        assert inner is not None
        assert inner["x"] + inner["width"] <= own["x"] + own["width"]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("view", ["", "heatmap"])
def test_a_long_text_scrolls_in_its_pane_and_its_translation_follows(
    page: Page, url: str, width: int, height: int, view: str
) -> None:
    shown(page, url, LETTER * 12, width, height, view)
    for pane in (".own", ".out"):
        box = page.locator(pane).bounding_box()
        assert box is not None
        assert box["height"] <= max(height * 0.7, 280)
    page.locator(".field").evaluate("(field) => field.scrollTo(0, 1e6)")
    expect(page.locator("#translation .word").last).to_be_in_viewport()
    page.locator("#translation .word").last.focus()
    expect(page.locator("#mirror .word").last).to_have_class("word on")
    box, word = page.locator("#mirror").bounding_box(), page.locator("#text").bounding_box()
    assert box == word


def test_a_letter_leaves_its_translation_visible_on_a_phone(page: Page, url: str) -> None:
    shown(page, url, LETTER, 390, 844)
    expect(page.locator("#translation .word").nth(5)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Copy translation")).to_be_in_viewport()


def test_the_error_of_a_text_that_is_too_long_is_seen_where_one_types(page: Page, url: str) -> None:
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#model")).to_contain_text("Transformer")
    box = page.get_by_label("Text", exact=True)
    put = "(box) => { box.value = 'the dog '.repeat(13_000); box.dispatchEvent(new InputEvent('input')); }"
    box.evaluate(put)
    expect(page.get_by_text("characters too long for this server")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollHeight") <= 900


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_the_header_is_one_line_on_a_phone(page: Page, url: str, language: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(url)
    page.locator("#language").select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)
    boxes = page.locator(".top nav > *").evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    middles = [box["y"] + box["height"] / 2 for box in boxes]
    assert max(middles) - min(middles) < 3
    assert max(box["right"] for box in boxes) <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
