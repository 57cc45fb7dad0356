"""Use of the page, in real Chromium."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from service.access.keys import add_key
from tests.support.page_requests import posted
from tests.support.page_views import unfold, view
from tests.support.server import running

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


def translate(page: Page, url: str, text: str = "the dog sleeps here") -> None:
    page.goto(f"{url}/#view=heatmap")
    box = page.get_by_label("Text", exact=True)
    expect(box).to_be_focused()
    expect(page.locator("#model")).to_contain_text("Transformer")
    box.fill(text)
    box.press("Control+Enter")
    expect(page.locator("#translation")).to_have_text(text.upper())
    expect(page.locator("#figure svg")).to_be_visible()


def figure_texts(page: Page) -> list[str]:
    return page.locator("#figure svg text").all_text_contents()


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
    expect(found).to_have_text(["THE DOG SLEEPS HERE!", "THE DOG SLEEPS HERE?"])
    expect(found.first).to_be_focused()
    expect(found.first.locator("b")).to_have_text("HERE!")
    page.keyboard.press("Escape")
    expect(found.first).to_be_hidden()
    expect(page.locator("#translation .word").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    found.nth(1).click()
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE?")
    expect(page.locator("#translation .word").first).to_be_focused()
    expect(page.locator("#figure svg")).to_contain_text("HERE?")  # its alignment, by forced decoding
    forced = [body["target_text"] for name, body in bodies if name == "attention"]
    assert set(forced) == {"THE DOG SLEEPS HERE?"}
    page.locator("#translation .word").nth(3).hover()
    expect(page.locator("#partners")).to_contain_text("“HERE?” is aligned with “here”")
    page.get_by_role("button", name="Copy translation").click()
    expect(page.locator("#status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "THE DOG SLEEPS HERE?"


def test_a_translation_is_copied_by_few_keys(page: Page, url: str) -> None:
    translate(page, url)
    page.get_by_label("Text", exact=True).focus()
    copy = page.get_by_role("button", name="Copy translation")
    for _ in range(6):
        page.keyboard.press("Tab")
        if copy.evaluate("(button) => button === document.activeElement"):
            break
    expect(copy).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "THE DOG SLEEPS HERE"


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
        expect(page.locator("#figure")).not_to_have_class("figure busy")
        svg = page.locator("#figure svg").bounding_box()
        assert svg is not None
        assert svg["y"] + svg["height"] <= height
        assert page.evaluate("scrollY") == 0
        page.wait_for_url("**view=heatmap**")
        page.get_by_role("button", name="Look inside").click()
        expect(page.locator("#inside")).to_be_hidden()


def test_no_translation_of_another_text_stays(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.goto(url)
    box, output = page.get_by_label("Text", exact=True), page.locator("#translation")

    def again() -> None:
        page.get_by_role("combobox", name="From").select_option("en")
        box.fill("the dog sleeps here")
        expect(output).to_have_text("THE DOG SLEEPS HERE")
        expect(page.get_by_role("alert")).to_be_hidden()

    again()
    page.get_by_role("combobox", name="From").select_option("auto")
    box.fill("Mañana por la tarde me gustaría ir al cine con mi hermana pequeña.")
    expect(page.get_by_role("alert")).to_contain_text("was not recognised")
    expect(output).to_be_empty()
    expect(page.get_by_role("button", name="Copy translation")).to_be_hidden()
    again()
    box.fill("dog " * 600)
    expect(page.locator("#status")).to_contain_text("A long text is not translated as you type")
    expect(output).to_be_empty()
    expect(page.get_by_role("button", name="Translate", exact=True)).to_be_visible()
    again()
    box.fill("d" * 100_001)
    expect(page.get_by_role("alert")).to_contain_text("1 character too long")
    expect(output).to_be_empty()
    again()
    page.route("**/translate", lambda route: route.abort())
    box.fill("the cat")
    expect(page.get_by_role("alert")).to_have_text("The server cannot be reached.")
    expect(output).to_be_empty()
    page.unroute("**/translate")
    again()
    page.close()


def test_every_view_is_drawn_and_the_address_reproduces_it(page: Page, url: str) -> None:
    translate(page, url)
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
    page.get_by_role("combobox", name="Tokens").select_option("word")
    unfold(page, "Export")
    link = page.get_by_role("link", name="Link to this view").get_attribute("href")
    assert link is not None
    other = page.context.new_page()
    other.goto(link)
    expect(other.get_by_role("button", name="Lines")).to_have_attribute("aria-pressed", "true")
    expect(other.locator("#figure svg")).to_contain_text("RESTS")
    unfold(other, "Details")
    expect(other.get_by_role("combobox", name="Tokens")).to_have_value("word")
    other.close()


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
    expect(other.locator("#figure svg")).to_contain_text("dog", timeout=60_000)
    other.get_by_text("The same as a table").click()
    expect(other.get_by_role("columnheader", name="dog")).to_be_visible()
    other.close()
    assert complaints == []


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
    page.get_by_role("tab", name="Alignment").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Compare")).to_be_focused()
    page.keyboard.press("Home")
    view(page, "Table")
    expect(page.get_by_role("columnheader", name="dog", exact=True)).to_be_visible()
    expect(page.get_by_role("rowheader", name="DOG", exact=True)).to_be_visible()


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


def test_a_phone_shows_everything_without_moving_sideways(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    translate(page, url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input:not([type=checkbox])")]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 24).map((e) => e.id)"""
    )
    assert small == []


def test_a_sentence_can_be_watched_being_written(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#model")).to_contain_text("Transformer")
    unfold(page, "Options")
    page.get_by_label("Watch the translation being written").check()
    page.get_by_label("Text", exact=True).fill("one two three four five six")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation.draft")).to_contain_text("ONE")
    expect(page.locator("#translation")).to_have_text("ONE TWO THREE FOUR FIVE SIX")
    expect(page.locator("#translation .word")).to_have_count(6)


def test_the_attention_of_what_was_watched_is_shown(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#model")).to_contain_text("Transformer")
    bodies = posted(page)
    unfold(page, "Options")
    page.get_by_label("Watch the translation being written").check()
    page.get_by_label("Text", exact=True).fill("one two three")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator("#figure svg")).to_be_visible()
    assert [body["beam_size"] for name, body in bodies if name == "translate"][-1] == 1
    assert {body["beam_size"] for name, body in bodies if name == "attention"} == {"1"}


@pytest.mark.parametrize(("beam", "asked"), [("2", 2), ("1", 1), ("6", 6), ("50", 8), ("none", 4)])
def test_attention_is_asked_for_with_the_search_of_the_translation(page: Page, url: str, beam: str, asked: int) -> None:
    bodies = posted(page)
    page.goto(f"{url}/#text=the+dog&beam_size={beam}&view=heatmap")
    expect(page.locator("#figure svg")).to_be_visible()
    asked_with = {name: int(str(body.get("beam_size", 4))) for name, body in bodies if name != "detect"}
    assert asked_with == {"translate": asked, "attention": asked}


def test_errors_are_told_and_the_next_try_works(page: Page, url: str) -> None:
    translate(page, url)

    unfold(page, "Options")
    unfold(page, "Options")
    page.get_by_label("Beam size").fill("1")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#status")).to_contain_text("Translated by")
    expect(page.locator("#error")).to_be_hidden()


def test_copied_commands_name_what_is_shown(page: Page, url: str) -> None:
    translate(page, url, "it's here")
    unfold(page, "Export")
    page.get_by_role("button", name="Copy command").click()
    expect(page.locator("#status")).to_have_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith(f"curl -s '{url}/attention'")
    assert "'text=it'\\''s here'" in command


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
    page.goto(f"{url}/#live=1")
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


LIMITED = """
let calls = [];
const replace = history.replaceState.bind(history);
window.changes = 0;
history.replaceState = (...given) => {
  const now = performance.now();
  calls = calls.filter((when) => now - when < 30_000);
  if (calls.length >= 100) {
    throw new DOMException("Attempt to use history.replaceState() more than 100 times per 30 seconds", "SecurityError");
  }
  calls.push(now);
  window.changes += 1;
  replace(...given);
};
"""


def test_a_paragraph_is_typed_and_shown_where_the_address_may_seldom_change(page: Page, url: str) -> None:
    """As in Safari, which throws at the 101st change in 30 seconds."""
    page.add_init_script(LIMITED)
    text = ("the dog sleeps here and nobody knows why it does so " * 8)[:400].strip()
    page.goto(url)
    expect(page.locator("#model")).to_contain_text("Transformer")
    box = page.get_by_label("Text", exact=True)
    box.press_sequentially(text)
    assert page.evaluate("window.changes") <= 20
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
    expect(link).to_have_attribute("href", f"{url}/#text=the+dog+sleeps+here&view=heatmap")


def test_a_pasted_text_is_kept_whole_and_one_that_is_too_long_is_told_before_it_is_sent(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#count")).to_have_text("0 / 100,000 characters")
    box = page.get_by_label("Text", exact=True)
    box.fill("wort " * 6_000)
    assert len(box.input_value()) == 30_000
    expect(page.locator("#count")).to_have_text("30,000 / 100,000 characters")
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


def test_models_opens_a_page_that_people_can_read(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Models")
    expect(page.get_by_role("heading", name="English → French: bahdanau-en-fr")).to_be_visible()
    card = page.locator("#models .card").first
    expect(card).to_contain_text("Default for these languages")
    expect(card).to_contain_text(re.compile(r"(fast|slow): \d\.\d\d s for a sentence"))
    expect(card.get_by_text("Architecture")).to_be_hidden()
    card.get_by_text("Details").click()
    expect(card.get_by_text("Architecture")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("link", name="Translate").click()
    expect(page.locator("#model")).to_contain_text("Transformer")


def test_models_are_listed_with_their_scores_on_a_test_set_that_all_have(page: Page, url: str) -> None:
    cards = {
        "bahdanau-en-fr": {"everyday.en-fr": 49.0, "tatoeba.en-fr": 42.9},
        "transformer-en-fr": {"tatoeba.en-fr": 41.2},
    }

    def answer(route: Route) -> None:
        models = route.fetch().json()
        for each in models["models"]:
            scores = [
                {"metric": "BLEU", "test_set": name, "score": score}
                for name, score in cards.get(each["name"], {}).items()
            ]
            each["card"] = {
                **(each["card"] or {}),
                "scores": [{"metric": "BLEU", "test_set": "x.de-en", "score": 1}, *scores],
            }
        route.fulfill(json=models)

    page.route("**/models", answer)
    page.goto(url)
    expect(page.locator("#model")).to_contain_text("BLEU 42.9 (tatoeba)")
    expect(page.locator("#model")).to_contain_text("BLEU 41.2 (tatoeba)")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_comparison_fits_and_shows_both_translations(page: Page, url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 850})
    translate(page, url, "they said that nobody knew where we went yesterday evening")
    view(page, "Compare models")
    expect(page.locator("#figure svg")).to_contain_text("difference")
    expect(page.locator("#figure")).not_to_have_class("figure busy")
    box, svg = (page.locator(name).bounding_box() for name in ("#figure", "#figure svg"))
    assert box is not None
    assert svg is not None
    assert svg["x"] + svg["width"] <= box["x"] + box["width"] + 1
    assert svg["height"] <= box["height"] + 1
    both = page.locator("#both")
    expect(both.locator("dt")).to_have_text(["transformer-en-fr", "bahdanau-en-fr"])
    expect(both.locator("dd").nth(1)).to_have_text("THEY SAID THAT NOBODY KNEW WHERE WE WENT YESTERDAY EVENING")


def test_an_own_translation_belongs_to_its_sentence(page: Page, url: str) -> None:
    translate(page, url)
    view(page, "Compare translations")
    page.get_by_label("Your own translation").fill("A DOG RESTS")
    page.get_by_label("Your own translation").press("Tab")
    expect(page.locator("#figure svg")).to_contain_text("RESTS")
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE")
    page.get_by_label("Text", exact=True).fill("another text")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("ANOTHER TEXT")
    expect(page.get_by_label("Your own translation")).to_have_value("")


def test_a_table_says_which_layer_and_head_it_shows(page: Page, url: str) -> None:
    translate(page, url)
    view(page, "Table")
    expect(page.locator("#table caption")).to_contain_text(
        "transformer-en-fr, cross-attention: layer 1, head 1 (the alignment head)."
    )


def test_a_box_is_as_high_as_its_text_and_the_other_one_too(page: Page, url: str) -> None:
    translate(page, url, "a line\n" * 30)
    own, out = page.locator(".own").bounding_box(), page.locator(".out").bounding_box()
    assert own is not None
    assert out is not None
    assert (own["y"], own["height"]) == (out["y"], out["height"])
    assert page.locator("#text").evaluate("(box) => box.scrollHeight - box.clientHeight") <= 1


@pytest.fixture(scope="module")
def url_of_languages() -> Iterator[str]:
    """Serve a model of two targets, one of two sources, and English as pivot between the others."""
    names = ("transformer-en-fr+de", "bahdanau-en-fr", "transformer-it+pt-en")
    with running("-m", "tests.browser.serve_gallery", *names, TRANSLUCENT_PIVOT="en") as server:
        server.wait_for("ready")
        yield server.url


def choices_of(page: Page, name: str) -> list[str]:
    ids = {"From": "source", "to": "target", "Model": "model"}
    return page.locator(f"#{ids[name]} option").all_text_contents()


def test_models_of_several_languages_can_be_chosen_for_each_pair(browser: Browser, url_of_languages: str) -> None:
    page = browser.new_page()
    translate(page, url_of_languages)
    assert choices_of(page, "From") == ["Detect language", "English", "Italian", "Portuguese"]
    assert choices_of(page, "to") == ["French", "German"]
    assert choices_of(page, "Model") == ["Transformer · default", "Bahdanau"]
    page.get_by_role("combobox", name="to", exact=True).select_option("de")
    expect(page.locator("#status")).to_contain_text("Translated by transformer-en-fr+de")
    assert choices_of(page, "Model") == ["Transformer"]
    expect(page.locator("#pivot")).to_be_hidden()
    expect(page.locator("#legs")).to_be_hidden()
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_role("heading", name="Italian, Portuguese → English")).to_be_visible()
    expect(page.get_by_role("heading", name="English → French, German")).to_be_visible()
    page.close()


def test_a_pivoted_pair_shows_both_legs(browser: Browser, url_of_languages: str) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{url_of_languages}/#source=it&target=de&text=il+cane&view=heatmap")
    expect(page.locator("#translation")).to_have_text("IL CANE")
    expect(page.locator("#pivot")).to_have_text("Translated through English: Il Cane")
    expect(page.locator("#status")).to_contain_text(
        "Translated through English by transformer-it+pt-en and transformer-en-fr+de"
    )
    assert choices_of(page, "to") == ["English", "French", "German"]
    assert choices_of(page, "Model") == ["through English, by two models"]
    legs = page.get_by_role("group", name="Leg").get_by_role("button")
    expect(legs).to_have_text(["Italian → English", "English → German"])
    expect(page.locator("#figure-parts")).to_contain_text("transformer-it+pt-en")
    legs.nth(1).click()
    expect(legs.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#figure-parts")).to_contain_text("transformer-en-fr+de")
    expect(page.locator("#figure-heading")).to_contain_text("Il Cane")
    page.locator("#translation .word").nth(1).hover()
    expect(page.locator("#partners")).to_contain_text("“CANE” is aligned with “cane”")  # through both legs
    view(page, "Table")
    expect(page.get_by_role("rowheader", name="CANE", exact=True)).to_be_visible()
    unfold(page, "Export")
    assert "source=en" in page.locator("#curl").inner_text()
    link = page.get_by_role("link", name="Link to this view").get_attribute("href")
    assert link is not None
    assert "leg=2" in link
    page.get_by_role("combobox", name="From").select_option("en")
    expect(page.locator("#pivot")).to_be_hidden()
    expect(page.locator("#legs")).to_be_hidden()
    assert complaints == []
    page.close()


def test_a_pivoted_sentence_can_be_watched_being_written(browser: Browser, url_of_languages: str) -> None:
    page = browser.new_page()
    page.goto(f"{url_of_languages}/#source=pt&target=fr&text=o+gato&live=1")
    expect(page.locator("#pivot")).to_have_text("Translated through English: O Gato")
    expect(page.locator("#translation")).to_have_text("O GATO")
    page.close()


def test_signs_of_doubt_are_shown(page: Page, url: str) -> None:
    translate(page, url, "the dog sleeps here")
    expect(page.locator("#doubts")).to_contain_text("The model was unsure. Check the translation before you use it.")
    page.get_by_label("Text", exact=True).fill("Ich möchte morgen mit meiner Schwester ins Kino gehen.")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#doubts")).to_contain_text("This looks like German, but it is translated from English.")
    page.get_by_label("Text", exact=True).fill("Mañana por la tarde me gustaría ir al cine con mi hermana pequeña.")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#doubts")).to_contain_text("This looks like Spanish, but it is translated from English.")
    page.get_by_label("Text", exact=True).fill("I have 500 reasons.")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("I HAVE 500 REASONS.")
    expect(page.locator("#doubts")).not_to_contain_text("Numbers differ")


def test_the_page_names_the_model_that_translated_where_the_usual_one_has_failed(page: Page, url: str) -> None:
    warning = {"code": "default_model_failed", "message": "…", "language": None, "model": "bahdanau-en-fr"}

    def warned(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "warnings": [warning]})

    page.route("**/translate", warned)
    translate(page, url, "the dog sleeps here")
    doubt = "The usual model has failed. bahdanau-en-fr has translated instead."
    expect(page.locator("#doubts")).to_contain_text(doubt)
    expect(page.locator("#status")).to_contain_text("Translated by bahdanau-en-fr in")


def test_numbers_that_the_search_has_kept_are_no_sign_of_doubt(page: Page, url: str) -> None:
    page.goto(url)
    sentence = {"source": {"text": "At 3:30 pm."}, "target": {"text": "À 15 h 30."}, "score": -0.1, "quality": 0.9}
    module = "document.querySelector('script[type=module]').src.replace('main.js', 'doubts.js')"
    doubts = f"async (sentence) => (await import({module})).doubtsOf([sentence])"
    assert len(page.evaluate(doubts, sentence)) == 1
    assert page.evaluate(doubts, {**sentence, "values": "search"}) == []


def test_a_sentence_of_low_quality_is_underlined(page: Page, url: str) -> None:
    qualities = iter((0.1, 0.9))

    def judged(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["details"]["sentences"][0]["quality"] = next(qualities)
        route.fulfill(response=answer, json=body)

    page.route("**/translate", judged)
    translate(page, url, "the dog sleeps here")
    expect(page.locator("#translation mark")).to_have_text("THE DOG SLEEPS HERE")
    expect(page.locator("#translation mark")).to_have_attribute("title", "This sentence may be wrong.")
    expect(page.locator("#doubts")).to_have_text("This sentence may be wrong.")
    page.get_by_label("Text", exact=True).fill("the cat sleeps here")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("THE CAT SLEEPS HERE")
    expect(page.locator("#translation mark")).to_have_count(0)
    expect(page.locator("#doubts")).to_be_hidden()
