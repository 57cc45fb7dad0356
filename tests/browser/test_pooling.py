"""The page on kernel regression, in Chromium."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LIT = """canvas => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const dark = Array.from({ length: data.length / 4 }, (_, at) => 255 - data[4 * at]);
    return dark.filter((value) => value > 40).length / dark.length;
}"""


def opened(page: Page, url: str) -> None:
    page.goto(f"{url}/web/pooling.html")
    expect(page.locator("#pooling-note")).to_contain_text("leave one out")


def test_a_smaller_width_sharpens_the_heatmap_and_roughens_the_curve(page: Page, url: str) -> None:
    opened(page, url)
    weights, curve, slider = (
        page.locator("#pooling-weights"),
        page.locator("#pooling-fit path.fit"),
        page.locator("#kernel-width"),
    )
    learned = weights.evaluate(LIT)
    slider.fill("-2.5")
    expect(page.locator("#kernel-width-value")).to_have_text("0.08")
    expect(page.locator("#pooling-note")).not_to_contain_text("leave one out")
    sharp, rough = weights.evaluate(LIT), curve.get_attribute("d")
    slider.fill("1.5")
    expect(curve).not_to_have_attribute("d", rough or "")
    wide = weights.evaluate(LIT)
    assert sharp < learned < wide
    page.get_by_role("button", name="Learned width").click()
    expect(page.locator("#kernel-width-value")).to_have_text("0.34")


def test_a_window_without_keys_leaves_a_gap_that_is_explained(page: Page, url: str) -> None:
    opened(page, url)
    page.get_by_label("Kernel").select_option("boxcar")
    page.locator("#kernel-width").fill("-3")
    expect(page.locator("#pooling-note")).to_contain_text("no key in their window")
    assert (page.locator("#pooling-fit path.fit").get_attribute("d") or "").count("M") > 1
    page.get_by_label("Language of this page").select_option("fr")
    expect(page.locator("#pooling-note")).to_contain_text("aucune clé")
    page.get_by_label("Noyau").select_option("average")
    expect(page.locator("#kernel-width")).to_be_disabled()
