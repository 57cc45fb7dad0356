"""Terms of a glossary and files, as a visitor gives them to the page, in real Chromium."""

import json
import re

from playwright.sync_api import Page, Route, expect

from tests.support.page_requests import Bodies, posted
from tests.support.page_views import unfold


def last(bodies: Bodies, name: str) -> dict[str, object]:
    return [body for path, body in bodies if path == name][-1]


def test_terms_go_with_the_text_and_with_the_attention(page: Page, bodies: Bodies) -> None:
    unfold(page, "Options")
    page.get_by_label("Your terms").fill("dog = chien | chienne\n\nhouse=maison\n")
    page.get_by_label("Text", exact=True).fill("the dog sleeps")
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS")
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator("#figure svg")).to_be_visible()
    assert last(bodies, "translate")["glossary"] == [["dog", ["chien", "chienne"]], ["house", ["maison"]]]
    assert last(bodies, "attention")["target_text"] == "THE DOG SLEEPS"
    assert "chien" not in page.url


def test_a_line_that_is_no_term_is_named(page: Page, bodies: Bodies) -> None:
    unfold(page, "Options")
    page.get_by_label("Text", exact=True).fill("the dog")
    expect(page.locator("#translation")).to_have_text("THE DOG")
    with page.expect_response("**/translate"):
        page.get_by_label("Your terms").fill("dog = chien\nhouse")
    expect(page.get_by_role("alert")).to_have_text("Line 2 of your terms has no “=”.")
    expect(page.get_by_label("Your terms")).to_have_accessible_description(re.compile("Line 2 of your terms"))
    expect(page.locator("#translation")).to_have_text("THE DOG")
    page.get_by_label("Your terms").fill("dog = chien\n= maison")
    expect(page.get_by_role("alert")).to_have_text("Line 2 of your terms has no word before “=”.")
    assert last(bodies, "translate")["glossary"] == [["dog", ["chien"]]]  # the other lines are used
    page.reload()
    unfold(page, "Options")
    expect(page.get_by_label("Your terms")).to_have_value("dog = chien\n= maison")
    page.get_by_label("Your terms").fill("dog = chien\nhouse = maison")
    expect(page.locator("#translation")).to_have_text("THE DOG")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_glossary_of_the_server_is_chosen_by_name(page: Page, url: str) -> None:
    served = [{"name": "legal", "source": "en", "target": "fr", "terms": 3}]
    page.route("**/glossaries", lambda route: route.fulfill(body=json.dumps(served), content_type="application/json"))
    page.goto(f"{url}/#source=en&target=fr")
    found = posted(page)

    def answer(route: Route) -> None:
        route.fulfill(body=json.dumps({"translatedText": "LE CHIEN"}), content_type="application/json")

    page.route("**/translate", answer)  # this server has no such glossary
    unfold(page, "Options")
    page.get_by_role("combobox", name="Glossary").select_option("legal")
    expect(page.get_by_label("Your terms")).to_be_hidden()
    page.get_by_label("Text", exact=True).fill("the dog")
    expect(page.locator("#translation")).to_have_text("LE CHIEN")
    assert last(found, "translate")["glossary"] == "legal"
    page.get_by_role("combobox", name="to").select_option("de")
    expect(page.get_by_role("combobox", name="Glossary")).to_be_hidden()
