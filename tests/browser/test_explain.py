"""A cell unfolds into what its weight is made of, in Chromium."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_views import unfold

pytestmark = pytest.mark.slow


def translated(page: Page, url: str) -> None:
    page.goto(f"{url}/#text=The+dog+sleeps&source=en&target=fr&view=heatmap&tokens=subword")
    expect(page.locator("#figure svg")).to_be_visible()


def shares(page: Page) -> list[float]:
    """Return the weights of the explained row, as the bars show them."""
    styles = page.locator("#explain-row td.bar").evaluate_all("cells => cells.map(cell => cell.style.cssText)")
    return [float(re.search(r"--p:\s*([\d.]+)", style).group(1)) for style in styles]  # type: ignore[union-attr]


def test_a_cell_of_the_figure_unfolds_into_product_mask_and_softmax(page: Page, url: str) -> None:
    translated(page, url)
    page.locator("#figure svg .mark-rect path").nth(1).click(position={"x": 6, "y": 6})
    expect(page.locator("#explain-sum")).to_contain_text("4 dimensions")
    expect(page.locator("#explain-mask")).to_contain_text("leaves this position")
    assert page.locator("#explain-terms rect").count() == 4
    whole = shares(page)
    assert sum(whole) == pytest.approx(1, abs=1e-3)
    weight = float((page.locator("#explain-weight").text_content() or "").rstrip(".").split()[-1])
    column = int(page.locator("#explain-to").input_value())
    assert whole[column] == pytest.approx(weight, abs=1e-3)


def test_the_temperature_sharpens_and_flattens_the_row_in_the_browser(page: Page, url: str) -> None:
    translated(page, url)
    page.get_by_role("button", name="Explain a weight").click()
    expect(page.locator("#temperature-value")).to_have_text("1.00")
    with page.expect_response("**/attention"):
        page.get_by_label("Row (query q)").select_option("2")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    before = shares(page)
    page.locator("#temperature").fill("-2")
    assert max(shares(page)) > max(before)
    page.locator("#temperature").fill("2")
    assert max(shares(page)) < max(before)
    page.get_by_role("button", name="Set to 1").click()
    assert shares(page) == before
    page.get_by_label("Language of this page").select_option("de")
    expect(page.locator("#explain-weight")).to_contain_text("ergibt das Gewicht")


def test_a_view_without_scores_says_what_to_choose(page: Page, url: str) -> None:
    translated(page, url)
    unfold(page, "Details")
    page.get_by_role("combobox", name="Head").select_option("mean")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Explain a weight").click()
    expect(page.locator("#explain-note")).to_contain_text("Choose subwords")
    unfold(page, "Details")
    page.get_by_role("combobox", name="Attention").select_option("occlusion")
    expect(page.locator("#figure-parts")).to_contain_text("occlusion")
    expect(page.locator("#explain")).to_be_hidden()


def test_a_cell_of_words_is_explained_by_its_first_subwords(page: Page, url: str) -> None:
    page.goto(f"{url}/#text=The+dog+sleeps&source=en&target=fr&view=heatmap")
    page.locator("#figure svg .mark-rect path").nth(6).click(position={"x": 6, "y": 6})
    expect(page.locator("#explain-sum")).to_contain_text("4 dimensions")
    expect(page.locator("#tokens")).to_have_value("subword")
    expect(page.locator("#explain-from")).to_have_value("1")
    expect(page.locator("#explain-to")).to_have_value("2")


def test_words_become_subwords_to_be_explained(page: Page, url: str) -> None:
    translated(page, url)
    unfold(page, "Details")
    page.get_by_role("combobox", name="Tokens").select_option("word")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Explain a weight").click()
    expect(page.locator("#explain-sum")).to_contain_text("4 dimensions")
    expect(page.locator("#tokens")).to_have_value("subword")
