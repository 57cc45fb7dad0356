"""Texts, keys, errors and addresses of the page, in real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from service.access.keys import add_key
from tests.support.page_views import translate, unfold, view
from tests.support.server import running

LIMITED = """
let calls = [];
const replace = history.replaceState.bind(history);
window.refused = 0;
history.replaceState = (...given) => {
  const now = performance.now();
  calls = calls.filter((when) => now - when < 30_000);
  if (calls.length >= 100) {
    window.refused += 1;
    throw new DOMException("Attempt to use history.replaceState() more than 100 times per 30 seconds", "SecurityError");
  }
  calls.push(now);
  replace(...given);
};
"""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Yield a server that requires a key, and a key."""
    file = tmp_path / "keys.json"
    key = add_key(file, "tester")
    settings = {"TRANSLUCENT_API_KEYS_FILE": str(file), "TRANSLUCENT_REQUIRE_KEY": "true"}
    with running("-m", "tests.browser.serve_gallery", **settings) as server:
        server.wait_for("ready")
        yield server.url, key


def test_a_server_that_asks_for_a_key_gets_it_and_nobody_else(
    browser: Browser, guarded: tuple[str, str], tmp_path: Path
) -> None:
    url, key = guarded
    page = browser.new_context(accept_downloads=True).new_page()
    complaints: list[str] = []
    addresses: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(f"{url}/#source=en&target=fr")
    field = page.get_by_label("API key")
    expect(field).to_be_focused()
    expect(page.locator("#status")).to_have_text("Enter your API key to begin.")
    assert complaints == []
    field.fill("tl_wrong")
    field.press("Tab")
    expect(page.get_by_role("alert")).to_have_text("Invalid API key")
    complaints.clear()  # Chromium logs that the answer was 403
    field.fill(key)
    field.press("Tab")
    expect(page.locator("#model")).to_contain_text("Transformer")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_label("Text", exact=True).fill("the dog sleeps")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS")
    page.get_by_role("button", name="Look inside").click()
    unfold(page, "Export")
    for name, begins in (("SVG", b"<svg"), ("npz", b"PK")):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name, exact=True).click()
        assert waiting.value.suggested_filename == f"attention-transformer-en-fr-heatmap.{name.lower()}"
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert "-H 'Authorization: Bearer YOUR_API_KEY'" in (page.locator("#curl").text_content() or "")
    page.reload()
    expect(page.locator("#figure svg")).to_contain_text("sleeps")
    assert not any(key in address for address in [*addresses, page.url])
    assert key not in page.evaluate("JSON.stringify({...localStorage}) + document.cookie")
    other = page.context.new_page()
    other.goto(url)
    expect(other.get_by_label("API key")).to_have_value("")
    assert complaints == []
    page.context.close()


def test_a_paragraph_is_typed_and_shown_where_the_address_may_seldom_change(page: Page, url: str) -> None:
    """As in Safari, which throws at the 101st change in 30 seconds."""
    page.add_init_script(LIMITED)
    text = ("the dog sleeps here and nobody knows why it does so " * 8)[:400].strip()
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#model")).to_contain_text("Transformer")
    box = page.get_by_label("Text", exact=True)
    box.press_sequentially(text)
    assert page.evaluate("window.refused") == 0
    box.press("Control+Enter")
    expect(page.locator("#translation")).to_have_text(text.upper())
    expect(page.locator("#translation .word").first).to_have_text("the".upper())
    expect(page.locator("#error")).to_be_hidden()
    assert len(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('text')")) == len(text)


def test_an_address_that_may_not_change_at_all_stops_nothing(page: Page, url: str) -> None:
    page.add_init_script('history.replaceState = () => { throw new DOMException("no", "SecurityError"); };')
    translate(page, url)
    expect(page.locator("#error")).to_be_hidden()
    unfold(page, "Export")
    link = page.get_by_role("link", name="Link to this view")
    expect(link).to_have_attribute("href", f"{url}/#text=the+dog+sleeps+here&source=en&target=fr&view=heatmap")


def test_a_pasted_text_is_kept_whole_and_one_that_is_too_long_is_told_before_it_is_sent(page: Page, url: str) -> None:
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#count")).to_have_text("0 / 100,000 characters")
    box = page.get_by_label("Text", exact=True)
    box.fill("wort " * 6_000)
    assert len(box.input_value()) == 30_000
    expect(page.locator("#count")).to_have_text("30,000 / 100,000 characters")
    expect(page.locator("#translation")).to_contain_text("WORT")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    box.fill("😀" * 100_001)
    expect(page.locator("#count")).to_have_text("100,001 / 100,000 characters")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.get_by_role("alert")).to_have_text("The text is 1 character too long for this server.")
    assert not any(address.endswith("/translate") for address in asked)


def test_an_emptied_box_empties_the_translation(page: Page, url: str) -> None:
    translate(page, url, "dog\n" * 30)
    box = page.get_by_label("Text", exact=True)
    tall = box.evaluate("(box) => box.clientHeight")
    box.fill("")
    expect(page.locator("#translation")).to_have_text("")
    for hidden in ("#inside", "#look", "#alternatives-box", "#doubts"):
        expect(page.locator(hidden)).to_be_hidden()
    assert box.evaluate("(box) => box.clientHeight") < tall
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#status")).to_have_text("Type a text to translate first.")
    expect(page.locator("#status")).to_be_in_viewport()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_no_address_holds_a_text(page: Page, url: str) -> None:
    """A proxy logs addresses; what stands after # is never sent."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    translate(page, url, "confidential words")
    for name in ("Lines", "All heads", "Compare models", "Table"):
        view(page, name)
        expect(page.locator("#table table" if name == "Table" else "#figure svg").first).to_be_visible()
        expect(page.locator("#figure")).not_to_have_class("figure busy")
    unfold(page, "Export")
    with page.expect_download():
        page.get_by_role("link", name="CSV", exact=True).click()
    assert any(address.endswith("/attention") for address in asked)
    assert not any("confidential" in address.split("#")[0] for address in asked)
