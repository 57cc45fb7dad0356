"""Terms of a glossary and files, as a visitor gives them to the page, in real Chromium."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.page_requests import posted
from tests.support.page_views import unfold

pytestmark = pytest.mark.browser


@pytest.fixture
def bodies(page: Page, url: str) -> list[tuple[str, dict[str, object]]]:
    """Open the page for English into French, and return what it posts from then on."""
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#model")).to_contain_text("Transformer")
    return posted(page)


def last(bodies: list[tuple[str, dict[str, object]]], name: str) -> dict[str, object]:
    return [body for path, body in bodies if path == name][-1]


def test_terms_go_with_the_text_and_with_the_attention(page: Page, bodies: list[tuple[str, dict[str, object]]]) -> None:
    unfold(page, "Options")
    page.get_by_label("Your terms").fill("dog = chien | chienne\n\nhouse=maison\n")
    page.get_by_label("Text", exact=True).fill("the dog sleeps")
    expect(page.locator("#translation")).to_have_text("THE DOG SLEEPS")
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator("#figure svg")).to_be_visible()
    assert last(bodies, "translate")["glossary"] == [["dog", ["chien", "chienne"]], ["house", ["maison"]]]
    assert last(bodies, "attention")["target_text"] == "THE DOG SLEEPS"
    assert "chien" not in page.url


def test_a_line_that_is_no_term_is_named(page: Page, bodies: list[tuple[str, dict[str, object]]]) -> None:
    unfold(page, "Options")
    page.get_by_label("Text", exact=True).fill("the dog")
    expect(page.locator("#translation")).to_have_text("THE DOG")
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


def test_a_file_is_translated_and_fetched(page: Page, bodies: object, tmp_path: Path) -> None:
    removed: list[str] = []
    page.on("request", lambda request: removed.append(request.url) if request.method == "DELETE" else None)
    file = tmp_path / "letter.txt"
    file.write_text("Dear friend,\nI lost.\n")
    page.get_by_label("Translate a file").set_input_files(file)
    link = page.get_by_role("link", name="Download letter.fr.txt")
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "letter.fr.txt"
    assert Path(download.value.path()).read_text() == "DEAR FRIEND,\nI LOST.\n"
    expect(page.locator("#job-state")).to_contain_text("Translated")
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    assert len(removed) == 1  # the server keeps nothing of it


def test_a_file_is_dropped_on_the_text_with_the_terms(page: Page, bodies: object) -> None:
    page.evaluate(
        "() => { const { append } = FormData.prototype; window.sent = {};"
        " FormData.prototype.append = function (name, value)"
        " { window.sent[name] = value; append.call(this, name, value); }; }"
    )
    unfold(page, "Options")
    page.get_by_label("Your terms").fill("dog = chien")
    dropped = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['A dog.'], 'dog.txt')); return data; }"
    )
    page.dispatch_event("#text", "dragover", {"dataTransfer": dropped})
    expect(page.locator(".dropping")).to_have_count(1)
    page.dispatch_event("#text", "drop", {"dataTransfer": dropped})
    expect(page.get_by_role("link", name="Download dog.fr.txt")).to_be_visible()
    expect(page.locator(".dropping")).to_have_count(0)
    assert page.evaluate("() => window.sent.glossary") == '[["dog",["chien"]]]'


def test_a_file_that_cannot_be_read_is_an_error_in_words(page: Page, bodies: object) -> None:
    page.get_by_label("Translate a file").set_input_files(
        {"name": "broken.docx", "mimeType": "application/zip", "buffer": b"PK no zip"}
    )
    expect(page.get_by_role("alert")).to_contain_text("damaged")
    expect(page.locator("#job")).to_be_hidden()


def test_a_waiting_file_can_be_cancelled(page: Page, bodies: object) -> None:
    job = {"id": "0" * 32, "state": "running", "progress": {"segments": 40, "segments_done": 10}}
    removed: list[str] = []

    def answer(route: Route) -> None:
        if route.request.method == "DELETE":
            removed.append(route.request.url)
            route.fulfill(status=204)
        else:
            route.fulfill(body=json.dumps(job), content_type="application/json")

    page.route("**/jobs", answer)
    page.route("**/jobs/*", answer)
    page.get_by_label("Translate a file").set_input_files(
        {"name": "long.txt", "mimeType": "text/plain", "buffer": b"A dog."}
    )
    expect(page.locator("#job-state")).to_have_text("10 of 40 passages")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#job")).to_be_hidden()
    assert len(removed) == 1
