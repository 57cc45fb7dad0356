"""Files on the page: sent, translated in turn, fetched, and still there after a reload, in real Chromium."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import JSHandle, Locator, Page, Route, expect

from tests.support.page_views import unfold

JOB = {"id": "0" * 32, "state": "running", "format": "txt", "source": "auto", "target": "fr", "detected": "en"}


@pytest.fixture(autouse=True)
def opened(page: Page, url: str) -> None:
    """Open the page for English into French."""
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#model")).to_contain_text("Transformer")


@pytest.fixture
def answered(page: Page) -> Callable[..., list[str]]:
    """Return a function that answers every request about jobs with one, and returns the methods of the requests."""

    def with_job(**fields: object) -> list[str]:
        methods: list[str] = []

        def answer(route: Route) -> None:
            methods.append(route.request.method)
            if methods[-1] == "DELETE":
                route.fulfill(status=204)
            else:
                route.fulfill(body=json.dumps({**JOB, **fields}), content_type="application/json")

        for path in ("**/jobs", "**/jobs/*"):
            page.route(path, answer)
        return methods

    return with_job


def send(page: Page, *names: str, content: bytes = b"A dog.\n") -> None:
    files = [{"name": name, "mimeType": "text/plain", "buffer": content} for name in names]
    page.get_by_label("Translate files").set_input_files(files)  # type: ignore[arg-type]


def lines(page: Page) -> Locator:
    return page.get_by_role("region", name="Files").locator("#files-list > li")


def test_files_are_translated_in_turn_and_saved_under_the_name_of_the_server(page: Page, tmp_path: Path) -> None:
    removed: list[str] = []
    page.on("request", lambda request: removed.append(request.url) if request.method == "DELETE" else None)
    send(page, "letter.txt", "page.md", content=b"Dear friend\n")
    expect(lines(page)).to_have_count(2)
    link = page.get_by_role("link", name="Download letter.fr.txt")
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "letter.fr.txt"
    assert Path(download.value.path()).read_text() == "DEAR FRIEND\n"
    expect(page.get_by_role("link", name="Download page.fr.md")).to_be_visible()
    expect(lines(page).first).to_contain_text("English → French · Translated.")
    page.reload()
    expect(page.get_by_role("link", name="Download letter.fr.txt")).to_be_visible()
    with page.expect_download():
        page.get_by_role("link", name="Download page.fr.md").click()
    page.get_by_role("button", name="Remove letter.txt").click()
    expect(lines(page)).to_have_count(1)
    page.get_by_role("button", name="Remove page.md").click()
    expect(page.locator("#files")).to_be_hidden()
    assert len(removed) == 2  # the server keeps nothing of them


def dropped(page: Page) -> JSHandle:
    return page.evaluate_handle(
        "() => { const data = new DataTransfer();"
        " for (const name of ['dog.txt', 'cat.txt']) data.items.add(new File(['A dog.'], name)); return data; }"
    )


@pytest.mark.parametrize("place", ["#text", "#translation", "header", "footer"])
def test_files_are_dropped_anywhere_with_the_terms(page: Page, place: str) -> None:
    page.evaluate(
        "() => { const { append } = FormData.prototype; window.sent = {};"
        " FormData.prototype.append = function (name, value)"
        " { window.sent[name] = value; append.call(this, name, value); }; }"
    )
    unfold(page, "Options")
    page.get_by_label("Your terms").fill("dog = chien")
    data = dropped(page)
    page.dispatch_event(place, "dragover", {"dataTransfer": data})
    expect(page.get_by_text("Drop files here")).to_be_visible()
    page.dispatch_event(place, "drop", {"dataTransfer": data})
    expect(page.get_by_text("Drop files here")).to_be_hidden()
    expect(page.get_by_role("link", name="Download dog.fr.txt")).to_be_visible()
    expect(page.get_by_role("link", name="Download cat.fr.txt")).to_be_visible()
    assert page.evaluate("() => window.sent.glossary") == '[["dog",["chien"]]]'


@pytest.mark.parametrize(
    ("code", "language", "said"),
    [
        ("unsupported_document", "en", "Files of this kind cannot be translated."),
        ("format_not_installed", "de", "Dieser Server liest Dateien dieser Art nicht."),
        ("broken_document", "fr", "Ce fichier est endommagé"),
        ("unsafe_document", "de", "weil sie Makros, ein Kennwort"),
        ("document_encoding", "fr", "Enregistrez-le en UTF-8."),
        ("document_too_large", "de", "Diese Datei ist zu groß"),
        ("invalid_document", "fr", "Les langues de ce fichier n'ont pas été reconnues"),
        ("jobs_full", "de", "keinen Platz für weitere Dateien"),
        ("unknown_job", "en", "The translation of this file is no longer there."),
        ("key_required", "fr", "La clé d’API"),
    ],
)
def test_a_file_that_failed_says_why_in_the_language_of_the_page(
    page: Page, answered: Callable[..., list[str]], code: str, language: str, said: str
) -> None:
    page.locator("#language").select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)
    answered(state="failed", error={"error": "…", "code": code})
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"A dog."})
    expect(page.locator("#files").get_by_role("alert")).to_contain_text(said)
    expect(page.locator("#files progress")).to_be_hidden()


def test_a_damaged_file_leaves_the_others(page: Page) -> None:
    page.get_by_label("Translate files").set_input_files(
        {"name": "broken.docx", "mimeType": "application/zip", "buffer": b"PK no zip"}
    )
    expect(lines(page).get_by_role("alert")).to_contain_text("This file is damaged")
    send(page, "a.txt")
    expect(page.get_by_role("link", name="Download a.fr.txt")).to_be_visible()


def test_a_running_file_shows_how_far_it_is_and_can_be_cancelled(
    page: Page, answered: Callable[..., list[str]]
) -> None:
    methods = answered(progress={"segments": 40, "segments_done": 10})
    send(page, "long.txt")
    expect(lines(page)).to_contain_text("English (detected) → French · 10 of 40 passages")
    page.get_by_role("button", name="Cancel long.txt").click()
    expect(page.locator("#files")).to_be_hidden()
    assert methods.count("DELETE") == 1


def test_the_doubtful_passages_and_what_is_lost_are_told(page: Page, answered: Callable[..., list[str]]) -> None:
    doubtful = [{"segment": 3, "quality": 0.1, "source": "Green ideas.", "translation": "Idées vertes."}]
    quality = {"mean": 0.8, "doubtful": doubtful}
    answered(state="done", format="pdf", encoding="Windows-1252", quality=quality, file_name="guide.fr.txt")
    send(page, "guide.pdf")
    expect(page.get_by_role("link", name="Download guide.fr.txt")).to_be_visible()
    expect(lines(page)).to_contain_text("Text only: the translation of a PDF has no layout")
    expect(lines(page)).to_contain_text("Read as Windows-1252")
    page.get_by_text("1 passage to check").click()
    expect(lines(page).locator("ol span")).to_have_text(["Green ideas.", "Idées vertes."])


def test_a_file_in_the_language_of_the_browser_is_translated_into_another_one(page: Page, url: str) -> None:
    page.goto("about:blank")
    page.goto(f"{url}/#source=auto&target=en")
    expect(page.locator("#target")).to_have_value("en")
    send(page, "letter.txt", content=b"My sister never told me why she left the house so early.\n")
    expect(page.get_by_role("link", name="Download letter.fr.txt")).to_be_visible()
    expect(lines(page)).to_contain_text("English → French · Translated.")
