"""What is shown stays until another translation takes its place, and the page recovers by itself, in real Chromium."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.support.page_requests import posted
from tests.support.page_views import unfold
from tests.support.server import free_port, running

PAIR = "source=en&target=fr"
BUSY = {"error": "The queue of the model is full.", "code": "overloaded"}


@pytest.fixture
def quiet(browser: Browser, url: str) -> Iterator[Page]:
    """Yield a page that shows a translation, and whose console may complain about requests that fail."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(f"{url}/#{PAIR}&text=the+dog")
    expect(page.locator("#translation")).to_have_text("THE DOG")
    yield page
    page.close()


def is_old(page: Page) -> None:
    expect(page.locator("#translation")).to_have_text("THE DOG")
    expect(page.locator("#translation")).to_have_class("translation old")
    expect(page.get_by_text("Not up to date")).to_be_visible()


def is_current(page: Page, text: str) -> None:
    expect(page.locator("#translation")).to_have_text(text)
    expect(page.locator("#translation")).to_have_class("translation")
    expect(page.get_by_text("Not up to date")).to_be_hidden()
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("button", name="Retry")).to_be_hidden()


def box(page: Page) -> Locator:
    return page.get_by_label("Text", exact=True)


def paste(page: Page, text: str) -> None:
    """Put a text into the box at once: Chromium takes seconds to type hundreds of lines."""
    put = "(box, text) => { box.value = text; box.dispatchEvent(new InputEvent('input', { bubbles: true })); }"
    box(page).evaluate(put, text)


def test_a_language_that_is_not_served_keeps_the_last_translation(quiet: Page) -> None:
    quiet.get_by_role("combobox", name="From").select_option("auto")
    box(quiet).fill("Mañana por la tarde me gustaría ir al cine con mi hermana pequeña.")
    expect(quiet.get_by_role("alert")).to_contain_text("This looks like Spanish.")
    is_old(quiet)


def test_a_text_over_the_limit_keeps_the_last_translation_and_says_so_at_its_count(quiet: Page) -> None:
    bodies = posted(quiet)
    box(quiet).fill("d" * 100_001)
    expect(quiet.locator(".own").get_by_role("alert")).to_have_text("The text is 1 character too long for this server.")
    is_old(quiet)
    assert bodies == []
    box(quiet).fill("the cat")
    is_current(quiet, "THE CAT")


@pytest.mark.parametrize("answer", ["stopped", "busy", "proxy"])
def test_a_request_that_fails_is_repeated_until_it_is_answered(quiet: Page, answer: str) -> None:
    asked: list[str] = []

    def fail(route: Route) -> None:
        asked.append(route.request.url)
        if answer == "stopped":
            route.abort()
        else:
            route.fulfill(status=429 if answer == "busy" else 502, json=BUSY if answer == "busy" else {})

    quiet.route("**/translate", fail)
    box(quiet).fill("the cat")
    expect(quiet.get_by_role("alert")).to_be_visible()
    expect(quiet.get_by_role("button", name="Retry")).to_be_visible()
    is_old(quiet)
    quiet.unroute("**/translate")
    is_current(quiet, "THE CAT")  # nobody presses a key
    assert asked


def test_retry_asks_at_once_and_an_error_of_the_request_itself_is_not_repeated(quiet: Page) -> None:
    bodies = posted(quiet)
    waits = {"Retry-After": "300"}
    quiet.route("**/translate", lambda route: route.fulfill(status=503, json=BUSY, headers=waits), times=1)
    box(quiet).fill("the cat")
    quiet.get_by_role("button", name="Retry").click()
    is_current(quiet, "THE CAT")
    refused = {"error": "Too many words.", "code": "input_too_long"}
    quiet.route("**/translate", lambda route: route.fulfill(status=400, json=refused))
    bodies.clear()
    box(quiet).fill("the mouse")
    expect(quiet.get_by_role("alert")).to_have_text("Too many words.")
    expect(quiet.get_by_role("button", name="Retry")).to_be_hidden()
    expect(quiet.locator("#translation")).to_have_text("THE CAT")
    assert len(bodies) == 1


def test_a_request_that_hangs_does_not_hold_the_next_text(quiet: Page) -> None:
    held: list[Route] = []
    quiet.route("**/translate", lambda route: held.append(route), times=1)
    with quiet.expect_request("**/translate"):
        box(quiet).fill("the cat")
    expect(quiet.locator("#translation")).to_have_attribute("aria-busy", "true")
    box(quiet).fill("the cat sleeps")
    is_current(quiet, "THE CAT SLEEPS")
    held[0].abort()


def test_a_server_that_starts_after_the_page_is_found(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.route("**/frontend/settings", lambda route: route.abort(), times=2)
    page.goto(f"{url}/#{PAIR}&text=the+dog")
    expect(page.get_by_role("alert")).to_have_text("The server cannot be reached.")
    is_current(page, "THE DOG")
    page.close()


@pytest.mark.slow
def test_a_server_is_stopped_and_started_while_one_types(browser: Browser) -> None:
    port = str(free_port())
    serve = ("-m", "tests.browser.serve_gallery")
    page = browser.new_page()
    with running(*serve, TRANSLUCENT_PORT=port):
        page.goto(f"http://127.0.0.1:{port}/#{PAIR}&text=the+dog")
        is_current(page, "THE DOG")
    box(page).press_sequentially(" sleeps")
    expect(page.get_by_role("alert")).to_have_text("The server cannot be reached.")
    is_old(page)
    with running(*serve, TRANSLUCENT_PORT=port):
        is_current(page, "THE DOG SLEEPS")
        page.close()


def test_with_the_button_only_the_last_translation_is_out_of_date(quiet: Page) -> None:
    unfold(quiet, "Options")
    quiet.get_by_label("Translate as you type").uncheck()
    box(quiet).fill("the cat")
    is_old(quiet)
    quiet.get_by_role("button", name="Translate", exact=True).click()
    is_current(quiet, "THE CAT")


def test_an_edit_of_a_long_text_asks_for_its_paragraph_only(page: Page, url: str) -> None:
    page.goto(f"{url}/#{PAIR}")
    bodies = posted(page)
    paragraphs = [f"Paragraph {at} is about a dog that sleeps here." for at in range(450)]
    text = "\n\n".join(paragraphs)
    assert len(text) > 20_000
    paste(page, text)
    output = page.locator("#translation")
    expect(output).to_contain_text("PARAGRAPH 449 IS")
    assert [body["q"] for _, body in bodies] == [text]
    bodies.clear()
    place = text.index("Paragraph 55")
    box(page).evaluate("(box, at) => { box.focus(); box.setSelectionRange(at, at); }", place)
    page.keyboard.insert_text("A cat. ")
    expect(output).to_contain_text("A CAT. PARAGRAPH 55 IS")
    assert [body["q"] for _, body in bodies] == [["A cat. " + paragraphs[55]]]
    edited = text[:place] + "A cat. " + text[place:]
    assert output.text_content() == edited.upper()
    expect(page.locator("#translation .word")).to_have_count(len(edited.split()))
    page.locator("#translation .word").last.hover()
    expect(page.locator("#partners")).to_contain_text("“HERE.” is aligned with “here.”")
    bodies.clear()
    box(page).evaluate("(box, at) => box.setSelectionRange(at, at + 7)", place)
    page.keyboard.press("Delete")
    expect(output).not_to_contain_text("A CAT.")
    assert output.text_content() == text.upper()


def test_a_text_that_is_pasted_over_a_long_one_is_asked_for_as_a_whole(page: Page, url: str) -> None:
    page.goto(f"{url}/#{PAIR}")
    first, second = ("\n\n".join(f"{word} {at} sleeps here." for at in range(150)) for word in ("Dog", "Cat"))
    paste(page, first)
    expect(page.locator("#translation")).to_contain_text("DOG 149 SLEEPS")
    bodies = posted(page)
    paste(page, second)
    expect(page.locator("#translation")).to_contain_text("CAT 149 SLEEPS")
    assert [body["q"] for _, body in bodies] == [second]


def test_half_a_word_waits_for_a_pause(page: Page, url: str) -> None:
    page.clock.install(time=0)
    page.goto(f"{url}/#{PAIR}")
    expect(page.locator("#model")).to_contain_text("Transformer")
    page.clock.pause_at(3_600)  # from here on the time of the page goes on as the keys do
    bodies = posted(page)
    text = "my sister never told me why she left so early."
    box(page).focus()
    for key in f"{text} I wo":
        page.keyboard.type(key)
        page.clock.run_for(60)
    whole = {" ".join(text.split()[: count + 1]) for count in range(len(text.split()))}
    asked = {str(body["q"]).strip() for name, body in bodies if name == "translate"}
    assert asked <= whole | {f"{text} I"}
    assert "my sister" in asked
    page.clock.run_for(600)  # the keys pause
    expect(page.locator("#translation")).to_have_text(f"{text.upper()} I WO")


def test_clear_is_undone_by_a_button_and_by_the_usual_key(page: Page, url: str) -> None:
    page.goto(f"{url}/#{PAIR}&text=the+dog")
    is_current(page, "THE DOG")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#translation")).to_be_empty()
    page.get_by_role("button", name="Undo").click()
    expect(box(page)).to_have_value("the dog")
    is_current(page, "THE DOG")
    expect(page.get_by_role("button", name="Undo")).to_be_hidden()
    page.get_by_role("button", name="Clear").click()
    expect(box(page)).to_be_focused()
    page.keyboard.press("Control+z")
    expect(box(page)).to_have_value("the dog")
    is_current(page, "THE DOG")


def test_a_text_that_no_address_holds_is_there_after_a_reload(page: Page, url: str) -> None:
    page.goto(f"{url}/#{PAIR}")
    text = "the dog sleeps here. " * 600
    box(page).fill(text)
    expect(page.locator("#translation")).to_contain_text("THE DOG")
    page.reload()
    expect(box(page)).to_have_value(text)
    expect(page.locator("#translation")).to_contain_text("THE DOG")


def test_blanks_alone_are_no_work(page: Page, url: str) -> None:
    page.goto(f"{url}/#{urlencode({'source': 'en', 'target': 'fr'})}")
    expect(page.locator("#model")).to_contain_text("Transformer")
    bodies = posted(page)
    box(page).press_sequentially("  \n ")
    page.wait_for_timeout(600)
    assert bodies == []
    expect(page.locator("#translation")).not_to_have_attribute("aria-busy", "true")
