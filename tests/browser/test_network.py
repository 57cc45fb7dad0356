"""One sentence through the whole network, in Chromium: its pictures open, and their numbers are those of /attention."""

import httpx
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
PARTS = ["Embedding", "Encoder", "Decoder", "Attention over the text", "Next token"]


def opened(page: Page, url: str) -> None:
    page.goto(f"{url}/web/network.html")
    page.get_by_label("Model").select_option("transformer-en-fr")
    page.get_by_label("Sentence").fill("the dog sleeps here")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#translation")).to_contain_text("THE DOG SLEEPS HERE")


def test_the_picture_shows_the_weights_that_the_server_gives(page: Page, url: str) -> None:
    opened(page, url)
    page.get_by_label("Token that is written").fill("1")
    page.get_by_label("Layer").select_option("0")
    page.get_by_label("Head").select_option("2")
    fields = {"text": "the dog sleeps here", "source": "en", "target": "fr", "layer": "all", "head": "all"}
    row = httpx.post(f"{url}/attention", json=fields).json()["weights"][0][2][1]
    shown = page.locator("#part-numbers tr.on td").evaluate_all(
        "all => all.map((cell) => Number(cell.style.cssText.match(/[\\d.]+/)[0]))"
    )
    assert shown == pytest.approx(row, abs=0.001)
    word = ["the", "dog", "sleeps", "here", "</s>"][row.index(max(row))]
    expect(page.locator("#part-live")).to_contain_text(f"To write “DOG”, the decoder looks most at “{word}”")
    expect(page.locator("#part-score")).to_contain_text("5 dimensions")


def test_each_part_opens_by_a_click_and_by_the_keyboard(page: Page, url: str) -> None:
    opened(page, url)
    tabs = page.get_by_role("tab")
    assert tabs.locator("b").all_text_contents() == PARTS
    for name in PARTS:
        tabs.filter(has=page.get_by_text(name, exact=True)).click()
        expect(page.get_by_role("tabpanel").get_by_role("heading")).to_have_text(name)
        expect(page.locator("#part-numbers table tbody tr").first).to_be_visible()
        book = page.get_by_role("link", name="This part in the book").get_attribute("href")
        assert book is not None
        assert httpx.get(book).is_success
    page.keyboard.press("ArrowLeft")
    expect(tabs.nth(3)).to_be_focused()
    expect(tabs.nth(3)).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Encoder").click()
    page.get_by_role("link", name="Look inside").click()
    expect(page.locator("#head-to button").first).to_be_visible()
    expect(page.locator("#kind")).to_have_value("encoder")


def test_a_recurrent_network_shows_its_states_and_a_phone_moves_only_the_row(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, url)
    page.get_by_label("Model").select_option("bahdanau-en-fr")
    expect(page.locator("#part-encoder circle")).to_have_count(10)  # of five tokens, in both directions
    page.get_by_role("tab", name="Encoder").click()
    expect(page.locator("#part-what")).to_contain_text("forwards, another one backwards")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Language of this page").select_option("de")
    expect(page.locator("#part-what")).to_contain_text("vorwärts, ein anderes rückwärts")
    expect(page.get_by_role("tab", name="Nächstes Token")).to_be_visible()
