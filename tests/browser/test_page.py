"""Translating on the page, in real Chromium."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.page_requests import posted
from tests.support.page_views import figure_texts, translate, view


def test_translate_and_see_which_words_belong_together(page: Page, url: str) -> None:
    translate(page, url)
    source, target = page.locator("#mirror .word"), page.locator("#translation .word")
    expect(source).to_have_text(["the", "dog", "sleeps", "here"])
    target.nth(1).hover()
    expect(source.nth(1)).to_have_class("word on")
    expect(source.nth(0)).to_have_class("word")
    expect(page.locator("#partners")).to_have_text("“DOG” is aligned with “dog”; probability 78 %")
    place = source.nth(2).bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 5, place["y"] + 10)  # over the box of the text, which lies above its mirror
    expect(target.nth(2)).to_have_class("word on")
    page.mouse.move(5, 5)
    expect(page.locator(".word.on")).to_have_count(0)
    target.nth(2).focus()
    expect(source.nth(2)).to_have_class("word on")
    page.keyboard.press("ArrowRight")
    expect(target.nth(3)).to_be_focused()
    expect(source.nth(3)).to_have_class("word on")
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("Home")
    expect(target.nth(0)).to_have_class("word on")  # the word in which the cursor stands
    assert {"dog", "DOG"} <= set(figure_texts(page))


def test_the_mirror_lies_exactly_behind_the_text(page: Page, url: str) -> None:
    translate(page, url, "the dog sleeps here " * 12)
    styles = ["fontSize", "fontFamily", "lineHeight", "letterSpacing", "whiteSpace", "overflowWrap", "width", "padding"]
    of = "(element, names) => names.map((name) => getComputedStyle(element)[name])"
    assert page.locator("#mirror").evaluate(of, styles) == page.locator("#text").evaluate(of, styles)
    assert page.locator("#text").evaluate("(box) => box.scrollHeight - box.clientHeight") <= 1
    assert page.locator("#mirror").bounding_box() == page.locator("#text").bounding_box()


def test_another_translation_is_chosen_at_its_word(page: Page, url: str) -> None:
    translate(page, url)
    bodies = posted(page)
    page.locator("#translation .word").nth(1).click()
    found = page.get_by_role("list", name="Other translations").get_by_role("button")
    expect(found).to_have_text(["THE A SLEEPS …", "THE ANY SLEEPS …", "THE SOME SLEEPS …"])  # each word once
    expect(found.first).to_be_focused()
    expect(found.first.locator("b")).to_have_text("A")
    found.nth(1).click()
    expect(page.locator("#translation")).to_have_text("THE ANY SLEEPS HERE")
    page.locator("#translation .word").nth(1).click()
    page.keyboard.press("Escape")
    expect(found.first).to_be_hidden()
    expect(page.locator("#translation .word").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(found.first).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Alternatives").click()  # of the whole sentence
    expect(found).to_have_text(["THE DOG SLEEPS …", "THE DOG SLEEPS HERE!", "THE DOG SLEEPS HERE?"])
    found.nth(2).click()
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE?")
    expect(page.locator("#translation .word").first).to_be_focused()
    expect(page.locator("#figure svg")).to_contain_text("HERE?")  # its alignment, by forced decoding
    assert [body["target_text"] for name, body in bodies if name == "attention"][-1] == "THE DOG SLEEPS HERE?"
    assert [body.get("target_prefix") for _, body in bodies if "alternatives" in body] == ["THE ", "THE ", "THE ", None]
    page.locator("#translation .word").nth(3).hover()
    expect(page.locator("#partners")).to_contain_text("“HERE?” is aligned with “here”")
    page.get_by_role("button", name="Copy translation").click()
    expect(page.locator("#status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "THE DOG SLEEPS HERE?"


def test_an_unlikely_translation_is_not_offered_and_an_empty_list_says_why(page: Page, url: str) -> None:
    translate(page, url)
    unlikely, rare = ["SOME"], "ANY"

    def scored(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        words = found["target"]["text"].split()
        found["token_logprobs"][-1] = -9 if set(words) & set(unlikely) else -4 if rare in words else -0.25
        route.fulfill(response=answer, json=found)

    page.route("**/attention", scored)
    word = page.locator("#translation .word").nth(1)
    word.click()
    offered = page.get_by_role("list", name="Other translations").get_by_role("listitem")
    expect(offered).to_have_text(["THE A SLEEPS …", "THE ANY SLEEPS …"])
    expect(offered.locator(".unlikely")).to_have_text(["THE ANY SLEEPS …"])
    page.keyboard.press("Escape")
    unlikely = ["SOME", "A", "ANY"]
    word.click()
    expect(offered).to_have_text(["The model finds no other translation that is nearly as likely."])
    expect(offered).to_be_focused()
    page.keyboard.press("Escape")
    expect(word).to_be_focused()


def test_the_page_is_one_screen_and_looks_inside_when_asked(page: Page, url: str) -> None:
    for width, height in ((1440, 900), (1024, 768), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto("about:blank")
        page.goto(f"{url}/#text=the+dog+sleeps+here+today")
        expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE TODAY")
        expect(page.locator("#inside")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollHeight") <= height
        text, output = page.locator("#text").bounding_box(), page.locator("#translation").bounding_box()
        assert text is not None
        assert output is not None
        if width == 390:
            assert output["y"] + output["height"] < 450  # above a keyboard
            continue
        assert abs(text["y"] - output["y"]) < 1
        page.get_by_role("button", name="Look inside").click()
        expect(page.locator("#figure svg")).to_be_visible()
        expect(page.locator(".busy")).to_have_count(0)
        svg = page.locator("#figure svg").bounding_box()
        assert svg is not None
        bottom, scrolled = svg["y"] + svg["height"], page.evaluate("scrollY")
        assert bottom < height + 1
        assert scrolled == 0 or bottom >= height - 24, "the page scrolls as far as its figure needs, and no further"
        assert (scrolled == 0) == (width == 1440), "letters that can be read need more than a short window"
        page.wait_for_url("**view=heatmap**")
        page.get_by_role("button", name="Look inside").click()
        expect(page.locator("#inside")).to_be_hidden()


def test_the_page_is_light_and_loads_the_drawing_library_for_those_who_look_inside(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.goto(f"{url}/#text=the+dog+sleeps+here")
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE")
    page.wait_for_load_state("networkidle")
    sent = page.evaluate(
        """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .map(({ name, transferSize }) => [name.split("/").at(-1), transferSize])"""
    )
    assert not {"vega.js", "heads.js", "steps.js"} & {name for name, _ in sent}
    assert 40_000 < sum(size for _, size in sent) <= 90_000, sent
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator("#figure svg")).to_be_visible()
    page.close()


def test_the_page_works_from_the_keyboard_and_has_names_for_everything(page: Page, url: str) -> None:
    translate(page, url)
    assert page.get_by_role("heading", level=1).inner_text() == "Translucent"
    for role, name in (
        ("textbox", "Text"),
        ("combobox", "From"),
        ("button", "Swap languages"),
        ("tabpanel", "Alignment"),
    ):
        expect(page.get_by_role(role, name=name, exact=True)).to_be_visible()  # type: ignore[arg-type]
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea, button")]
        .filter((e) => !e.labels?.length && !e.textContent.trim() && !e.ariaLabel).map((e) => e.id)"""
    )
    assert unnamed == []
    page.locator(".skip").focus()
    order = []
    for _ in range(30):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.classList[0]"))
    wanted = ["source", "target", "text", "word", "copy-translation", "look", "tab-alignment", "figure"]
    places = [order.index(name) for name in wanted]
    assert places == sorted(places), order
    assert order.index("copy-translation") - order.index("text") <= 6, "few keys copy a translation"
    page.get_by_role("tab", name="Alignment").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Compare")).to_be_focused()
    page.keyboard.press("Home")
    view(page, "Table")
    expect(page.get_by_role("columnheader", name="dog", exact=True)).to_be_visible()
    expect(page.get_by_role("rowheader", name="DOG", exact=True)).to_be_visible()


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_a_phone_shows_everything_without_moving_sideways(page: Page, url: str, language: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{url}/#text=the+dog+sleeps+here&source=en&target=fr&view=compare")
    page.locator("#language").select_option(language)
    expect(page.locator("#figure svg")).to_be_visible()
    expect(page.locator("#both dd").nth(1)).to_have_text("THE DOG SLEEPS HERE")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input:not([type=checkbox])")]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 24).map((e) => e.id)"""
    )
    assert small == []


@pytest.mark.parametrize(("beam", "asked"), [("2", 2), ("1", 1), ("6", 6), ("50", 8), ("none", 4)])
def test_attention_is_asked_for_with_the_search_of_the_translation(page: Page, url: str, beam: str, asked: int) -> None:
    bodies = posted(page)
    page.goto(f"{url}/#text=the+dog&beam_size={beam}&view=heatmap")
    expect(page.locator("#figure svg")).to_be_visible()
    asked_with = {name: int(str(body.get("beam_size", 4))) for name, body in bodies if name != "detect"}
    assert asked_with == {"translate": asked, "attention": asked}


@pytest.mark.parametrize(("theme", "other"), [("light", "dark"), ("dark", "light")])
def test_colours_are_those_of_the_system_until_a_button_changes_them(
    page: Page, url: str, theme: Literal["light", "dark"], other: str
) -> None:
    page.emulate_media(color_scheme=theme)
    translate(page, url)
    background = page.locator("#figure svg").evaluate("(svg) => getComputedStyle(svg).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 29)"}[theme]
    page.get_by_role("button", name=f"{other.title()} colours").click()  # the button says what it does
    expect(page.locator("html")).to_have_attribute("data-theme", other)


def test_a_box_is_as_high_as_its_text_and_the_other_one_too(page: Page, url: str) -> None:
    translate(page, url, "a line\n" * 30)
    own, out = page.locator(".own").bounding_box(), page.locator(".out").bounding_box()
    assert own is not None
    assert out is not None
    assert (own["y"], own["height"]) == (out["y"], out["height"])
    assert page.locator("#text").evaluate("(box) => box.scrollHeight - box.clientHeight") <= 1
