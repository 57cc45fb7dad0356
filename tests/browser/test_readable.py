"""Whether "Look inside" can be read at every size, and used by touch and by a screen reader; in real Chromium."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.support.page_views import translate, view

LONG = "the old dog sleeps here near the warm fire while the children play outside in the big garden"
SIZES = [(1440, 900), (1024, 768), (720, 450), (390, 844)]


@pytest.mark.parametrize("text", ["the dog sleeps here", LONG])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_labels_have_eleven_pixels_and_the_figure_uses_its_card(
    page: Page, url: str, width: int, height: int, text: str
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    translate(page, url, text)
    for name in ("Heatmap", "Lines", "All heads", "Compare models"):
        view(page, name)
        expect(page.locator("#figure svg").first).to_be_visible()
        expect(page.locator(".busy")).to_have_count(0)
        expect(page.locator("#plain")).to_be_visible()
        page.wait_for_load_state("networkidle")
        sizes = page.locator("#figure svg text").evaluate_all(
            """(all) => all.filter((text) => text.textContent).map((text) => {
                const { a, b } = text.getScreenCTM();
                return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
            })"""
        )
        assert min(sizes) >= 10.95, name
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if name == "Heatmap" and width > 700:
            figure, card = page.locator("#figure svg").bounding_box(), page.locator("#panel").bounding_box()
            assert figure is not None
            assert card is not None
            assert (0.8 if text == LONG else 0.4) <= figure["width"] / card["width"] <= 1.001
            expect(page.locator("#sideways")).to_be_hidden()
            marks = page.locator("#figure .mark-rect")  # first the cells, last the links
            cells, links = (each.locator("path").first.bounding_box() for each in (marks.first, marks.last))
            assert cells is not None
            assert links is not None
            assert cells["width"] >= 0.8 * links["width"], "a cell is as wide as its column"


@pytest.mark.parametrize(("text", "share"), [("the dog sleeps here", 0.9), (LONG, 0.5)])
def test_a_click_brings_the_figure_into_view_at_two_hundred_percent(
    page: Page, url: str, text: str, share: float
) -> None:
    page.set_viewport_size({"width": 720, "height": 450})
    page.goto(f"{url}/#{urlencode({'text': text})}&source=en&target=fr")
    expect(page.locator("#translation")).to_have_text(text.upper())
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator("#figure svg")).to_be_in_viewport(ratio=share)
    expect(page.locator("#plain")).to_be_in_viewport(ratio=0.95)


def test_words_come_first_and_subwords_by_choice(page: Page, url: str) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/attention"):
            asked.append(request.post_data or "")

    page.on("request", note)
    translate(page, url)
    assert '"tokens":"word"' in asked[-1]
    page.locator("#details summary").click()
    page.locator("#tokens").select_option("subword")
    expect(page.locator(".busy")).to_have_count(0)
    assert '"tokens"' not in asked[-1]


def test_a_tap_lights_the_partners_and_a_second_one_opens_the_list(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{url}/#text=the+dog+sleeps+here&source=en&target=fr")
    word = page.locator("#translation .word").nth(1)
    word.tap()
    expect(page.locator("#mirror .word").nth(1)).to_have_class("word on")
    expect(page.locator("#partners")).to_contain_text("“DOG” is aligned with “dog”")
    expect(page.locator("#alternatives-box")).to_be_hidden()
    word.tap()
    expect(page.locator("#alternatives-list button").first).to_be_visible()
    context.close()


def test_a_translation_is_text_for_a_screen_reader(page: Page, url: str) -> None:
    translate(page, url, "the dog sleeps here " * 20)
    expect(page.locator("#spoken")).to_contain_text("THE DOG")
    expect(page.locator("#spoken")).to_have_text("")  # announced, then gone: the text is there once
    assert page.locator("#translation").get_by_role("button").count() == 0


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_languages_and_form_of_address_stand_in_one_line_on_a_phone(page: Page, url: str, language: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}/#source=en&target=fr")
    page.locator("#language").select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)
    page.evaluate("document.getElementById('formality-box').hidden = false")
    tops = page.locator(".pair select").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert max(tops) - min(tops) < 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
