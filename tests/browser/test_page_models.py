"""Models, pivots and signs of doubt on the page, in real Chromium."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.page_views import translate, unfold, view
from tests.support.server import running


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
    expect(page.locator("#source")).to_contain_text("French")


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

    page.route(re.compile(r"/models\?brief=true$"), answer)
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#model")).to_contain_text("BLEU 42.9 (tatoeba)")
    expect(page.locator("#model")).to_contain_text("BLEU 41.2 (tatoeba)")


@pytest.fixture(scope="module")
def url_of_languages() -> Iterator[str]:
    """Serve a model of two targets, one of two sources; English is between the others."""
    names = ("transformer-en-fr+de", "bahdanau-en-fr", "transformer-it+pt-en")
    with running("-m", "tests.browser.serve_gallery", *names) as server:
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


def test_an_ensemble_is_compared_by_what_each_of_its_members_looks_at(browser: Browser) -> None:
    names = ("transformer-en-fr", "bahdanau-en-fr", "ensemble-en-fr")
    with running("-m", "tests.browser.serve_gallery", *names) as server:
        server.wait_for("ready")
        page = browser.new_page()
        translate(page, server.url)
        unfold(page, "Options")
        page.locator("#model").select_option("ensemble-en-fr")
        expect(page.locator("#status")).to_contain_text("Translated by ensemble-en-fr")
        with page.expect_request(lambda request: '"view":"compare"' in (request.post_data or "")) as asked:
            view(page, "Compare models")
        assert "other_model" not in (asked.value.post_data or "")
        for name in names[:2]:
            expect(page.locator("#figure svg")).to_contain_text(name)
            expect(page.locator("#both")).to_contain_text(name)
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


def test_signs_of_doubt_are_shown(page: Page, url: str) -> None:
    translate(page, url, "the dog sleeps here")
    expect(page.locator("#doubts")).to_contain_text("The model was unsure. Check the translation before you use it.")
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


def test_a_doubtful_sentence_is_underlined_and_says_why_on_both_sides(page: Page, url: str) -> None:
    doubtful = {"quality": 0.1, "token_logprobs": [-0.1, -2.0, -0.1, -0.1, -0.1], "word_alignment": [[3, 3]]}

    def judged(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        found = doubtful if "dog" in (route.request.post_data or "") else {"quality": 0.9}
        body["details"]["sentences"][0].update(found)
        route.fulfill(response=answer, json=body)

    page.route("**/translate", judged)
    translate(page, url, "the dog sleeps here")
    expect(page.locator("mark")).to_have_text(["the dog sleeps here", "THE DOG SLEEPS HERE"])
    reason = page.get_by_role("tooltip")
    said = (
        "This sentence may be wrong: “the dog sleeps” may be left out; the model was unsure of “DOG”. "
        "It is usable with a probability of 10 %."
    )
    expect(page.locator("#doubts")).to_have_text(said)
    expect(reason).to_be_hidden()
    place = page.locator("#mirror .word").nth(1).bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 5, place["y"] + 10)  # over the box of the text
    expect(reason).to_have_text(said)
    reason.hover()
    expect(reason).to_be_visible()
    page.mouse.move(5, 5)
    expect(reason).to_be_hidden()
    page.locator("#translation .word").nth(2).hover()
    expect(reason).to_have_text(said)
    page.mouse.move(5, 5)
    page.locator("#translation .word").nth(0).focus()
    expect(reason).to_be_visible()
    page.keyboard.press("Escape")
    expect(reason).to_be_hidden()
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("Home")
    expect(reason).to_be_visible()
    expect(page.get_by_label("Text", exact=True)).to_have_accessible_description(re.compile("may be left out"))
    page.get_by_label("Text", exact=True).fill("the cat sleeps here")
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("THE CAT SLEEPS HERE")
    expect(page.locator("mark")).to_have_count(0)
    expect(reason).to_be_hidden()
    expect(page.locator("#doubts")).to_be_hidden()


def test_the_operator_adds_a_language_and_others_are_told_whom_to_ask(page: Page, url: str) -> None:
    listed = {"source": "en", "target": "es", "source_name": "English", "target_name": "Spanish",
              "bytes": 17_200_000, "model": "firefox tiny 3.0", "licence": "MPL-2.0"}  # fmt: skip
    asked: list[tuple[str, str | None]] = []
    states = [{"state": "running", "message": ""}, {"state": "added", "message": "firefox-en-es is the default."}]

    def answer(route: Route) -> None:
        asked.append((route.request.method, route.request.headers.get("authorization")))
        if route.request.url.endswith("/state"):
            route.fulfill(json=states.pop(0))
        elif route.request.method == "POST":
            assert route.request.post_data_json == {"source": "en", "target": "es"}
            route.fulfill(json={"state": "running", "message": ""}, status=202)
        else:
            route.fulfill(json={"models": [listed] if len(asked) == 1 else []})

    page.route("**/v2/repository/published*", answer)
    page.route("**/v2/repository/published/state", answer)
    page.goto(url)
    page.get_by_role("link", name="Models").click()
    expect(page.locator("#other-languages")).to_contain_text("Whoever runs this server can add a published model")
    page.get_by_label("Operator’s token").fill("let-me-in")
    page.get_by_role("button", name="Show languages").click()
    page.get_by_role("button", name="Add English → Spanish, 17 MB").click()
    expect(page.locator("#adding")).to_have_text("firefox-en-es is the default.")
    expect(page.locator("#published button")).to_have_count(0)
    assert set(asked) == {("GET", "Bearer let-me-in"), ("POST", "Bearer let-me-in")}
