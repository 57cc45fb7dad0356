"""The page finds the language of a text, remembers what was chosen, and translates nothing that no model reads."""

from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.page_requests import posted

ENGLISH = "My sister never told me why she left the house so early."
FRENCH = "Ma sœur ne m'a jamais dit pourquoi elle est partie si tôt."
SPANISH = "Mañana por la tarde me gustaría ir al cine con mi hermana pequeña."


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Return a function that opens a page in a browser of a language, for the first time."""
    contexts = []

    def opened(locale: str) -> Page:
        contexts.append(browser.new_context(locale=locale))
        return contexts[-1].new_page()

    yield opened
    for context in contexts:
        context.close()


def pair(page: Page) -> tuple[str, str]:
    return page.locator("#source").input_value(), page.locator("#target").input_value()


@pytest.mark.parametrize(
    ("locale", "text", "shown", "wanted"),
    [
        ("de-DE", ENGLISH, ENGLISH.upper(), "de"),
        ("fr-FR", ENGLISH, ENGLISH.upper(), "fr"),
        ("fr-FR", FRENCH, FRENCH.title(), "en"),
        ("en-GB", FRENCH, FRENCH.title(), "en"),
        ("en-GB", ENGLISH, ENGLISH.upper(), "fr"),
        ("pt-BR", FRENCH, FRENCH.title(), "en"),
    ],
)
def test_a_first_visit_translates_any_language_into_that_of_the_browser(
    visit: Callable[[str], Page], url: str, locale: str, text: str, shown: str, wanted: str
) -> None:
    page = visit(locale)
    page.goto(url)
    expect(page.locator("#source")).to_have_value("auto")
    page.locator("#text").fill(text)
    expect(page.locator("#translation")).to_have_text(shown)
    assert pair(page) == ("auto", wanted)


def test_the_target_comes_back_when_the_language_of_the_text_allows_it(visit: Callable[[str], Page], url: str) -> None:
    page = visit("fr-FR")
    page.goto(url)
    for text, target in ((FRENCH, "en"), (ENGLISH, "fr"), (FRENCH, "en")):
        page.locator("#text").fill(text)
        expect(page.locator("#target")).to_have_value(target)


def test_the_pair_that_was_chosen_is_there_at_the_next_visit(visit: Callable[[str], Page], url: str) -> None:
    page = visit("en-GB")
    page.goto(url)
    page.locator("#source").select_option("en")
    page.locator("#target").select_option("de")
    later = page.context.new_page()
    later.goto(url)
    expect(later.locator("#target")).to_have_value("de")
    assert pair(later) == ("en", "de")
    later.goto(f"{url}/#source=fr&target=en")
    expect(later.locator("#source")).to_have_value("fr")


def test_the_address_of_another_page_of_this_kind_works_and_the_text_leaves_it(
    visit: Callable[[str], Page], url: str
) -> None:
    page = visit("en-GB")
    page.goto(f"{url}/?{urlencode({'q': FRENCH, 'source': 'fr', 'target': 'en'})}")
    expect(page.locator("#translation")).to_have_text(FRENCH.title())
    assert pair(page) == ("fr", "en")
    assert "?" not in page.url
    page.goto(f"{url}/?{urlencode({'q': ENGLISH})}")
    expect(page.locator("#translation")).to_have_text(ENGLISH.upper())
    assert pair(page) == ("auto", "fr")


def test_a_word_without_evidence_is_taken_to_be_in_the_language_so_far(visit: Callable[[str], Page], url: str) -> None:
    page = visit("fr-FR")
    page.goto(url)
    page.locator("#text").fill("Je")
    expect(page.locator("#translation")).to_have_text("Je")
    assert pair(page) == ("auto", "en")
    page.locator("#text").fill(ENGLISH)
    expect(page.locator("#translation")).to_have_text(ENGLISH.upper())
    page.locator("#text").fill("The")
    expect(page.locator("#translation")).to_have_text("THE")
    expect(page.locator("#error")).to_be_hidden()


def test_a_text_in_another_language_is_translated_from_it_by_a_button(page: Page, url: str) -> None:
    page.goto(f"{url}/#{urlencode({'source': 'en', 'target': 'fr', 'text': FRENCH})}")
    expect(page.locator("#doubts")).to_contain_text("This looks like French, but it is translated from English.")
    page.get_by_role("button", name="Translate from French").click()
    expect(page.locator("#translation")).to_have_text(FRENCH.title())
    assert pair(page) == ("fr", "en")
    expect(page.locator("#doubts")).not_to_contain_text("looks like")


def test_a_language_that_no_model_reads_is_not_translated_unless_one_insists(page: Page, url: str) -> None:
    page.goto(f"{url}/#source=en&target=fr")
    bodies = posted(page)
    page.locator("#text").fill(SPANISH)
    expect(page.get_by_role("alert")).to_contain_text("This looks like Spanish. This server translates from English")
    expect(page.locator("#translation")).to_be_empty()
    page.get_by_role("button", name="Translate anyway").click()
    expect(page.locator("#translation")).to_have_text(SPANISH.upper())
    expect(page.get_by_role("button", name="Translate anyway")).to_be_hidden()
    assert len(bodies) == 2
