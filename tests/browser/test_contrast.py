"""Text stands out from what is behind it, in light and in dark colours."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_views import translate

pytestmark = pytest.mark.browser

CONTRAST = """
() => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.a === 1) return found.rgb;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("h1, h2, h3, p, a, label, button, select, summary, textarea, output, li, pre, small")) {
    if (!element.checkVisibility() || element.disabled || !element.textContent.trim()) continue;
    const [one, two] = [light(parse(getComputedStyle(element).color).rgb), light(behind(element))].sort((x, y) => y - x);
    found.push([`${element.tagName} ${element.id} ${element.textContent.trim().slice(0, 20)}`, (one + 0.05) / (two + 0.05)]);
  }
  return found.filter(([, ratio]) => ratio < 4.5);
}
"""  # noqa: E501


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_in_both_themes(page: Page, url: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    translate(page, url)
    assert page.evaluate(CONTRAST) == []
    background = page.locator("#figure svg").evaluate("(svg) => getComputedStyle(svg).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 29)"}[theme]
    other = {"light": "Dark", "dark": "Light"}[theme]  # the button says what it does
    page.get_by_role("button", name=f"{other} colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", {"light": "dark", "dark": "light"}[theme])
    assert page.evaluate(CONTRAST) == []
