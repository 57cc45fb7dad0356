"""Text, languages and models on the page, in real Chromium."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.page_requests import Bodies, posted
from tests.support.page_views import unfold

ENGLISH = "My sister never told me why she left the house so early."
FRENCH = "Ma sœur ne m'a jamais dit pourquoi elle est partie si tôt."


def translated(bodies: Bodies) -> list[dict[str, object]]:
    return [body for name, body in bodies if name == "translate"]


def test_a_text_is_translated_while_it_is_typed(page: Page, bodies: Bodies) -> None:
    page.get_by_label("Text", exact=True).press_sequentially("the dog sleeps", delay=20)
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS")
    assert translated(bodies)[-1]["q"] == "the dog sleeps"
    assert len(translated(bodies)) <= 6  # 14 keys in 0.3 s, or more on a busy machine
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    page.get_by_label("Text", exact=True).press_sequentially(" here")
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS HERE")


def test_translation_while_typing_can_be_switched_off_for_good(page: Page, bodies: Bodies) -> None:
    unfold(page, "Options")
    page.get_by_label("Translate as you type").uncheck()
    page.get_by_label("Text", exact=True).fill("the dog")
    page.wait_for_timeout(1_200)
    assert translated(bodies) == []
    page.reload()
    expect(page.locator("#model")).to_contain_text("Transformer")
    unfold(page, "Options")
    expect(page.get_by_label("Translate as you type")).not_to_be_checked()
    unfold(page, "Options")
    page.get_by_label("Translate as you type").check()
    page.get_by_label("Text", exact=True).fill("the cat")
    expect(page.locator("#translation")).to_have_text("THE CAT")


def test_the_language_is_detected_and_named(page: Page, bodies: Bodies) -> None:
    page.get_by_role("combobox", name="From").select_option("auto")
    expect(page.locator("#model")).to_be_disabled()
    page.get_by_label("Text", exact=True).fill(ENGLISH)
    expect(page.locator("#translation")).to_have_text(ENGLISH.upper())
    expect(page.get_by_role("combobox", name="From").locator("option:checked")).to_have_text("English (detected)")
    expect(page.locator("#model")).to_be_enabled()
    assert translated(bodies)[0]["source"] == "en"
    page.get_by_label("Text", exact=True).fill(FRENCH)
    expect(page.locator("#translation")).to_have_text(FRENCH.title())
    expect(page.get_by_role("combobox", name="From").locator("option:checked")).to_have_text("French (detected)")
    assert (translated(bodies)[-1]["source"], translated(bodies)[-1]["target"]) == ("fr", "en")
    page.wait_for_function("text => new URLSearchParams(location.hash.slice(1)).get('text') === text", arg=FRENCH)
    page.reload()
    expect(page.get_by_role("combobox", name="From").locator("option:checked")).to_have_text("French (detected)")


@pytest.mark.parametrize(
    ("locale", "text", "said"),
    [
        ("en", "Mañana me gustaría ir al cine.", "This looks like Spanish. This server translates from English"),
        ("de", "Vorrei un caffè e un cornetto, per favore.", "Erkannte Sprache: Italienisch. "),
        ("fr", "Jutro pójdę do kina z moją siostrą.", "Langue reconnue : Polonais. "),
        ("en", "2 + 2", "was not recognised. Choose it above the text: English, French."),
        ("de", "2 + 2", "nicht erkannt. Wählen Sie sie über dem Text: Englisch, Französisch."),
    ],
)
def test_a_language_that_cannot_be_translated_is_named_or_asked_for(
    browser: Browser, url: str, locale: str, text: str, said: str
) -> None:
    page = browser.new_context(locale=locale).new_page()
    bodies = posted(page)
    page.goto(f"{url}/#{urlencode({'source': 'auto', 'target': 'fr', 'text': text})}")
    expect(page.get_by_role("alert")).to_contain_text(said)
    assert {body["source"] for body in translated(bodies)} == {"auto"}  # no model has translated it
    page.context.close()


def test_languages_change_sides(page: Page, bodies: Bodies) -> None:
    page.get_by_label("Text", exact=True).fill("the dog")
    expect(page.locator("#translation")).to_have_text("THE DOG")
    page.get_by_role("button", name="Swap languages").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("THE DOG")
    expect(page.get_by_role("combobox", name="From")).to_have_value("fr")
    expect(page.get_by_role("combobox", name="to", exact=True)).to_have_value("en")
    expect(page.locator("#status")).to_contain_text("transformer-fr-en")
    assert (translated(bodies)[-1]["source"], translated(bodies)[-1]["q"]) == ("fr", "THE DOG")
    expect(page.locator("#translation")).to_have_text("The Dog")
    page.get_by_role("button", name="Swap languages").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("the dog")  # not “The Dog”
    expect(page.get_by_role("combobox", name="From")).to_have_value("en")


def test_languages_without_a_way_back_cannot_be_swapped(page: Page, bodies: Bodies) -> None:
    expect(page.get_by_role("button", name="Swap languages")).to_be_enabled()
    page.get_by_role("combobox", name="to", exact=True).select_option("de")
    expect(page.get_by_role("button", name="Swap languages")).to_be_disabled()


def test_a_text_is_copied_cleared_and_counted(page: Page, bodies: Bodies) -> None:
    expect(page.get_by_role("button", name="Clear")).to_be_hidden()
    page.get_by_label("Text", exact=True).fill("the dog")
    expect(page.locator("#count")).to_have_text("7 / 100,000 characters")
    page.get_by_role("button", name="Copy translation").click()
    expect(page.locator("#status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "THE DOG"
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("")
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    expect(page.locator("#translation")).to_have_text("")
    expect(page.locator("#count")).to_have_text("0 / 100,000 characters")


def test_examples_are_offered_in_the_language_of_the_text(page: Page, bodies: Bodies) -> None:
    examples = page.get_by_role("list", name="Try").get_by_role("button")
    expect(examples).to_have_count(3)
    examples.nth(1).click()
    expect(page.locator("#translation")).to_contain_text("MY SISTER NEVER TOLD ME")
    expect(examples).to_have_count(0)
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("combobox", name="From").select_option("fr")
    expect(examples.first).to_contain_text("J'ai perdu")
    expect(examples.first).to_have_attribute("lang", "fr")


def test_a_failure_of_the_second_model_leaves_the_first_translation(browser: Browser, url: str) -> None:
    page = browser.new_page()
    busy = {"error": "The queue of the model is full.", "code": "overloaded"}

    def answer(route: Route) -> None:
        if "bahdanau" in (route.request.post_data or ""):
            route.fulfill(status=503, json=busy)
        else:
            route.continue_()

    page.route("**/translate", answer)
    page.goto(f"{url}/#text=the+dog&view=compare")
    expect(page.locator("#translation")).to_have_text("THE DOG")
    expect(page.get_by_role("alert")).to_have_text("The queue of the model is full.")
    expect(page.get_by_role("alert")).to_have_attribute("lang", "en")
    expect(page.locator("#translation .word")).to_have_text(["THE", "DOG"])
    page.close()


@pytest.mark.parametrize(
    ("locale", "language", "button", "count"),
    [
        ("fr-CA", "fr", "Effacer", "7 / 100\u202f000 caractères"),
        ("de-AT", "de", "Löschen", "Zeichen"),
        ("pt-BR", "en", "Clear", "7 / 100,000 characters"),
    ],
)
def test_the_page_speaks_the_language_of_the_browser(
    browser: Browser, url: str, locale: str, language: str, button: str, count: str
) -> None:
    page = browser.new_context(locale=locale).new_page()
    page.goto(url)
    expect(page.locator("html")).to_have_attribute("lang", language)
    page.locator("#text").fill("the dog")
    expect(page.get_by_role("button", name=button, exact=True)).to_be_visible()
    expect(page.locator("#count")).to_contain_text(count)
    expect(page.locator("#translation")).to_have_attribute("lang", "de" if language == "de" else "fr")
    page.context.close()


def test_the_language_of_the_page_is_switched_and_kept(page: Page, bodies: Bodies) -> None:
    page.get_by_label("Text", exact=True).fill("the dog")
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator("#figure svg")).to_be_visible()
    page.get_by_label("Language of this page").select_option("de")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page).to_have_title("Translucent: sehen, worauf eine Übersetzung achtet")
    expect(page.get_by_role("combobox", name="Von").locator("option:checked")).to_have_text("Englisch")
    expect(page.locator("#layer")).to_contain_text("Alignment-Schicht")
    expect(page.locator("#figure svg")).to_contain_text("Gewicht")
    expect(page.locator("#figure-heading")).to_contain_text("Alignment-Kopf")
    expect(page.get_by_role("button", name="Tabelle")).to_be_visible()
    expect(page.locator("#translation")).to_have_text("THE DOG")
    page.locator("#translation .word").nth(1).focus()
    expect(page.locator("#partners")).to_contain_text("gehört zu")
    page.get_by_role("link", name="Modelle").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    card = page.locator("#models .card").filter(has_text="Englisch → Französisch").first
    expect(card).to_contain_text("Standard für diese Sprachen")
    page.get_by_label("Sprache dieser Seite").select_option("en")
    expect(page.get_by_role("heading", level=1)).to_have_text("Models")


def test_an_error_of_the_server_is_told_in_the_language_of_the_page(browser: Browser, url: str) -> None:
    page = browser.new_context(locale="de-DE").new_page()
    busy = {"error": "The queue of the model is full.", "code": "overloaded"}
    page.route("**/translate", lambda route: route.fulfill(status=503, json=busy))
    page.goto(f"{url}/#text=the+dog")
    alert = page.get_by_role("alert")
    expect(alert).to_have_text("Der Server ist ausgelastet. Versuchen Sie es gleich noch einmal.")
    expect(alert).not_to_have_attribute("lang", "en")
    page.context.close()
