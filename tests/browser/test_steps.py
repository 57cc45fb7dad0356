"""The search step by step, and the heads in colours, in Chromium."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_requests import posted
from tests.support.page_views import unfold, view

pytestmark = pytest.mark.slow


def opened(page: Page, url: str, view: str, more: str = "") -> None:
    page.goto(f"{url}/#text=The+small+dog+sleeps&source=en&target=fr&view={view}{more}")
    expect(page.locator(f"#{view}")).to_be_visible()


def test_the_slider_goes_through_the_search(page: Page, url: str) -> None:
    sent = posted(page)
    opened(page, url, "steps")
    assert [body["view"] for path, body in sent if path == "attention" and body.get("view")] == ["steps"]
    note, slider = page.locator("#step-note"), page.get_by_role("slider", name="Step")
    expect(note).to_have_text("Step 1 of 5: the translation gets “THE” (78 %).")
    expect(page.locator("#step-next tr.on")).to_contain_text("in the translation")
    expect(page.locator("#step-source li")).to_have_count(4)
    unfold(page, "Details")
    page.get_by_label("End token").select_option("shown")
    expect(page.locator("#step-source li")).to_have_count(5)
    expect(page.locator("#step-beam tr")).to_have_count(2)
    expect(page.locator("#step-beam tr.pruned")).to_contain_text("other")
    first = page.locator("#step-source").inner_text()
    slider.press("ArrowRight")
    expect(note).to_contain_text("Step 2 of 5: the translation gets “SMALL”")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("Step 2 of 5"))
    assert page.locator("#step-source").inner_text() != first
    expect(page.get_by_label("Hypothesis that is continued")).to_have_text("THE")
    slider.press("End")
    expect(page.locator("#step-beam tr.on")).to_contain_text("finished")
    expect(page.get_by_role("button", name="One step on")).to_be_disabled()
    page.get_by_role("button", name="One step back").click()
    expect(note).to_contain_text("Step 4 of 5")


def test_a_box_of_the_tree_leads_to_its_step(page: Page, url: str) -> None:
    opened(page, url, "steps")
    tree = page.locator("#step-tree")
    assert tree.locator("g").count() == 1 + 2 * 5
    assert tree.locator("g.best").count() == 6
    assert tree.locator("g.pruned").count() == 5
    assert tree.locator("g.later").count() == 8
    tree.locator("g[data-step='1'].best text").click()
    expect(page.locator("#step-note")).to_contain_text("Step 3 of 5")
    expect(page.get_by_label("Hypothesis that is continued")).to_have_text("THE SMALL")
    assert tree.locator("g.later").count() == 4
    page.get_by_label("Language of this page").select_option("de")
    expect(page.locator("#step-note")).to_contain_text("Schritt 3 von 5")


def test_only_the_data_of_a_search_is_saved(page: Page, url: str) -> None:
    opened(page, url, "steps")
    expect(page.locator("#downloads a")).to_have_text(["JSON"])
    expect(page.locator("#curl")).to_contain_text("view=steps")
    unfold(page, "Details")
    expect(page.get_by_role("combobox", name="Tokens")).to_be_disabled()
    page.keyboard.press("Escape")
    view(page, "Heatmap")
    expect(page.locator("#figure svg")).to_be_visible()
    expect(page.locator("#steps")).to_be_hidden()


def test_heads_have_colours_that_can_be_switched(page: Page, url: str) -> None:
    opened(page, url, "heads")
    lines = page.locator("#head-lines line")
    switches = page.locator("#head-switches .head")
    expect(switches).to_have_count(4)
    everything = lines.count()
    assert everything > 4
    switches.nth(1).click()
    expect(switches.nth(1)).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#head-lines line.c1")).to_have_count(0)
    assert 0 < lines.count() < everything
    switches.nth(2).dblclick()
    expect(page.locator("#head-switches .head[aria-pressed=true]")).to_have_text("head 3")
    assert page.locator("#head-lines line.c2").count() == lines.count()
    page.get_by_role("button", name="all heads", exact=True).click()
    expect(lines).to_have_count(everything)


def test_a_hover_follows_a_token_and_a_click_holds_it(page: Page, url: str) -> None:
    opened(page, url, "heads")
    note, lines = page.locator("#heads-note"), page.locator("#head-lines line")
    everything = lines.count()
    page.locator("#head-from button").nth(1).hover()
    expect(note).to_contain_text("“SMALL” looks most at head 1:")
    assert lines.count() < everything
    assert page.locator("#head-to button").first.locator("i").count() == 4
    page.mouse.move(5, 5)
    expect(note).to_be_empty()
    page.locator("#head-to button").nth(2).focus()
    expect(note).to_contain_text("“dog” is looked at most by head 1:")
    page.keyboard.press("ArrowDown")
    expect(note).to_contain_text("“sleeps” is looked at most by")
    page.locator("#head-from button").first.click()
    page.mouse.move(5, 5)
    expect(note).to_contain_text("“THE” looks most at")
    page.get_by_label("Language of this page").select_option("fr")
    expect(page.locator("#head-from-title")).to_have_text("Traduction")


def test_heads_of_the_encoder_are_a_link_away_and_fit_a_phone(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, url, "heads", "&kind=encoder&layer=1&heads=0,3")
    expect(page.locator("#head-switches .head[aria-pressed=true]")).to_have_text(["head 1", "head 4"])
    expect(page.locator("#head-from button").first).to_have_text("The")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    view(page, "Step by step")
    expect(page.locator("#steps")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
