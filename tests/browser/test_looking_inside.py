"""Look inside, figures, exports and comparisons, in real Chromium."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_views import translate, unfold, view


def test_every_view_is_drawn_and_the_address_reproduces_it(page: Page, url: str) -> None:
    translate(page, url)
    view(page, "Table")
    shown = "transformer-en-fr, cross-attention: layer 1, head 1 (the alignment head)."
    expect(page.locator("#table caption")).to_contain_text(shown)
    view(page, "All heads")
    expect(page.locator("#figure svg")).to_contain_text("head 4")
    unfold(page, "Details")
    page.get_by_role("combobox", name="Attention").select_option("encoder")
    expect(page.locator("#figure svg")).to_contain_text("layer 3")
    view(page, "Compare models")
    expect(page.locator("#figure-parts")).to_contain_text("bahdanau-en-fr")
    expect(page.locator("#figure svg")).to_contain_text("difference")
    view(page, "Compare translations")
    expect(page.locator("#figure-note")).to_contain_text("Enter your own translation")
    page.get_by_label("Your own translation").fill("A DOG RESTS")
    page.get_by_label("Your own translation").press("Tab")
    expect(page.locator("#figure svg")).to_contain_text("yours")
    expect(page.locator("#figure svg")).to_contain_text("RESTS")
    view(page, "Lines")
    unfold(page, "Details")
    page.get_by_role("combobox", name="Attention").select_option("cross")
    expect(page.locator("#figure svg")).to_contain_text("RESTS")
    unfold(page, "Details")
    page.get_by_role("combobox", name="Tokens").select_option("subword")
    unfold(page, "Export")
    link = page.get_by_role("link", name="Link to this view").get_attribute("href")
    assert link is not None
    other = page.context.new_page()
    other.goto(link)
    expect(other.get_by_role("button", name="Lines")).to_have_attribute("aria-pressed", "true")
    expect(other.locator("#figure svg")).to_contain_text("RESTS")
    unfold(other, "Details")
    expect(other.get_by_role("combobox", name="Tokens")).to_have_value("subword")
    other.close()
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE")
    page.get_by_label("Text", exact=True).fill("another text")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("ANOTHER TEXT")
    expect(page.get_by_label("Your own translation")).to_have_value("")  # it belongs to its sentence


def test_another_model_can_be_chosen(page: Page, url: str) -> None:
    translate(page, url)
    unfold(page, "Options")
    page.get_by_role("combobox", name="Model").select_option("bahdanau-en-fr")
    expect(page.locator("#status")).to_contain_text("bahdanau-en-fr")
    expect(page.locator("#figure-parts")).to_contain_text("bahdanau-en-fr")
    page.get_by_role("combobox", name="to", exact=True).select_option("de")
    expect(page.locator("#figure-parts")).to_contain_text("transformer-en-de")


def test_figures_and_data_are_saved(page: Page, url: str, tmp_path: Path) -> None:
    translate(page, url, "<b>dog</b> & قط 猫")
    contents = {}
    unfold(page, "Export")
    for name in ("SVG", "PNG", "JSON", "CSV", "BertViz", "Pharaoh"):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name, exact=True).click()
        path = tmp_path / name
        waiting.value.save_as(path)
        contents[name] = path.read_bytes()
    texts = {"".join(item.itertext()) for item in ElementTree.fromstring(contents["SVG"]).iter()}
    assert {"<b>dog</b>", "&", "قط", "猫"} <= texts
    assert contents["PNG"].startswith(b"\x89PNG")
    assert json.loads(contents["JSON"])["source"]["tokens"][2]["text"] == "قط"
    assert len(json.loads(contents["BertViz"])["cross_attention"]) == 2
    assert contents["Pharaoh"].startswith(b"0-0 1-1 ")
    assert page.locator("#figure svg b").count() == 0


def test_the_html_figure_draws_itself_and_has_no_part_in_the_pages_origin(page: Page, url: str) -> None:
    page.goto(f"{url}/attention?text=I+lost.&source=en&target=fr&format=html")
    expect(page.locator("#figure svg")).to_be_visible()
    assert page.evaluate("window.origin") == "null"


def test_the_saved_html_file_draws_itself_without_a_server(page: Page, url: str, tmp_path: Path) -> None:
    translate(page, url, "</script><script>alert(1)</script> dog")
    unfold(page, "Export")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="HTML", exact=True).click()
    path = tmp_path / "figure.html"
    waiting.value.save_as(path)
    other = page.context.browser.new_page()  # type: ignore[union-attr]
    complaints: list[str] = []
    other.on("console", lambda message: complaints.append(message.text))
    other.on("dialog", lambda dialog: complaints.append(dialog.message))
    other.on("request", lambda request: None if request.url.startswith("file:") else complaints.append(request.url))
    other.goto(path.as_uri())
    expect(other.locator("#figure svg")).to_contain_text("dog")
    other.get_by_text("The same as a table").click()
    expect(other.get_by_role("columnheader", name="dog")).to_be_visible()
    other.close()
    assert complaints == []


def test_copied_commands_name_what_is_shown(page: Page, url: str) -> None:
    translate(page, url, "it's here")
    unfold(page, "Export")
    page.get_by_role("button", name="Copy command").click()
    expect(page.locator("#status")).to_have_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith(f"curl -s '{url}/attention'")
    assert "'text=it'\\''s here'" in command


@pytest.mark.parametrize("width", [1440, 390])
def test_a_comparison_fits_and_shows_both_translations(page: Page, url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 850})
    translate(page, url, "they said that nobody knew where we went yesterday evening")
    view(page, "Compare models")
    expect(page.locator("#figure svg")).to_contain_text("difference")
    expect(page.locator(".busy")).to_have_count(0)
    box, svg = (page.locator(name).bounding_box() for name in ("#figure", "#figure svg"))
    assert box is not None
    assert svg is not None
    scrolls = svg["x"] + svg["width"] > box["x"] + box["width"] + 1
    assert scrolls == (width == 390), "letters stay readable on a phone, and the figure scrolls"
    if scrolls:
        sizes = page.locator("#figure svg text").evaluate_all(
            """all => all.filter((one) => one.textContent)
            .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"""
        )
        assert min(size for size in sizes if size > 1) < 11.5, "it is no larger than its smallest letters need"
        assert svg["width"] < 3 * box["width"]
    expect(page.locator("#sideways")).to_be_visible(visible=scrolls)
    assert svg["height"] <= box["height"] + 1
    both = page.locator("#both")
    expect(both.locator("dt")).to_have_text(["transformer-en-fr", "bahdanau-en-fr"])
    expect(both.locator("dd").nth(1)).to_have_text("THEY SAID THAT NOBODY KNEW WHERE WE WENT YESTERDAY EVENING")
