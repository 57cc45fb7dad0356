"""What a visitor does with a translation: editing it, hearing it, finding it again; in real Chromium."""

from playwright.sync_api import Page, expect

from tests.support.page_views import translate

TWO = "the dog sleeps here\n\na cat eats"
VOICES = """
window.said = [];
Object.defineProperty(window, "speechSynthesis", { value: Object.assign(new EventTarget(), {
  getVoices: () => [{ lang: "fr-FR", name: "Voice" }],
  speak(spoken) { said.push([spoken.text, spoken.lang]); this.now = spoken; },
  cancel() { this.now?.onend(); this.now = undefined; },
}) });
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
"""


def test_a_translation_is_edited_by_hand_and_its_words_still_light_up(page: Page, url: str) -> None:
    translate(page, url, TWO)
    page.get_by_role("button", name="Edit", exact=True).click()
    box = page.get_by_label("Edit translation")
    expect(box).to_be_focused()
    box.fill("THE DOG DOZES HERE\n\nA CAT EATS")
    page.get_by_role("button", name="Done").click()
    expect(page.locator("#translation")).to_have_text("THE DOG DOZES HERE\n\nA CAT EATS", use_inner_text=True)
    expect(page.locator("#figure svg")).to_contain_text("DOZES")
    page.locator("#translation .word").nth(2).hover()
    expect(page.locator("#partners")).to_contain_text("“DOZES” is aligned with “sleeps”")
    page.locator("#translation .word", has_text="CAT").hover()
    expect(page.locator("#partners")).to_contain_text("“CAT” is aligned with “cat”")
    page.get_by_role("button", name="Edit", exact=True).click()
    box.fill("nothing of this")
    box.press("Escape")
    expect(page.locator("#translation")).to_contain_text("DOZES")
    page.get_by_role("button", name="Edit", exact=True).click()
    box.fill("ONE TEXT FOR BOTH")
    box.press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("ONE TEXT FOR BOTH")
    page.get_by_role("button", name="Copy translation").click()
    expect(page.locator("#status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "ONE TEXT FOR BOTH"


def test_the_last_translations_stay_in_the_browser_until_they_are_cleared(page: Page, url: str) -> None:
    kept = "JSON.parse(localStorage.getItem('translations') ?? '[]').map(({ text }) => text)"
    page.goto(f"{url}/#source=en&target=fr")
    box = page.get_by_label("Text", exact=True)
    texts = ["a dog", "a dog sleeps", "one cat"]
    for text in texts:
        box.fill(text)
        expect(page.locator("#translation")).to_have_text(text.upper())
        expect(page.locator("#spoken")).to_have_text(text.upper())  # it is kept when it is announced
    assert page.evaluate(kept) == ["one cat", "a dog sleeps"], "a text that grows is one text"
    page.goto("about:blank")
    page.goto(f"{url}/#source=en&target=de")
    page.locator("#history summary").click()
    page.locator("#history-list").get_by_role("button").nth(1).click()
    expect(box).to_have_value("a dog sleeps")
    expect(page.locator("#translation")).to_have_text("A DOG SLEEPS")
    expect(page.locator("#target")).to_have_value("fr")
    page.locator("#history summary").click()
    page.get_by_role("button", name="Clear history").click()
    expect(page.locator("#history")).to_be_hidden()


def test_a_translation_is_read_aloud_where_the_browser_has_a_voice(page: Page, url: str) -> None:
    page.add_init_script(VOICES)
    translate(page, url)
    listen = page.get_by_role("button", name="Read translation aloud")
    listen.click()
    expect(listen).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("said") == [["THE DOG SLEEPS HERE", "fr"]]
    listen.click()
    expect(listen).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("button", name="Read text aloud")).to_be_hidden()  # no English voice
