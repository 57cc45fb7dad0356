"""The tab "Kinds of attention", over the real models of the gallery, in Chromium."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_requests import posted
from tests.support.page_views import unfold, view
from tests.support.paths import MODELS
from tests.support.server import running

pytestmark = pytest.mark.slow

SENTENCE = "The+dog+sees+the+cow."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve one ordinary model and the gallery."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("bahdanau-en-fr", "gallery"):
        (folder / name).symlink_to(MODELS / name)
    with running("-m", "service", "serve", TRANSLUCENT_MODELS_DIR=str(folder), TRANSLUCENT_GALLERY="true") as server:
        yield server.url


def opened(page: Page, url: str) -> None:
    page.goto(f"{url}/#text={SENTENCE}&source=en&target=fr&view=models")
    expect(page.locator("#figure svg")).to_contain_text("gallery-rnn")


def test_each_kind_is_drawn_for_the_same_sentence(page: Page, url: str) -> None:
    sent = posted(page)
    page.goto(f"{url}/#text={SENTENCE}&source=en&target=fr&view=heatmap")
    view(page, "Kinds of attention")
    names = ["gallery-rnn", *(f"gallery-rnn-attention-{kind}" for kind in ("hard", "local", "none"))]
    for name in names[:-1]:
        expect(page.locator("#figure svg")).to_contain_text(name)
    models = [str(body["models"]) for path, body in sent if path == "attention" and body.get("models")]
    assert models[-1].split(",") == names
    unfold(page, "Details")
    expect(page.get_by_role("combobox", name="Layer")).to_be_disabled()
    expect(page.locator("#downloads")).not_to_contain_text("BertViz")


def test_groups_and_single_kinds_are_switched_and_the_address_keeps_them(page: Page, url: str) -> None:
    opened(page, url)
    expect(page.locator("#gallery .chooser[role=group]")).to_have_count(6)
    for group, kind, name in (
        ("Positions", "without positions", "gallery-transformer-small-positions-none"),
        ("Positions", "relative", "gallery-transformer-small-positions-relative"),
        ("Query", "state after the previous word", "gallery-rnn-conditional"),
        ("Score", "dot product", "gallery-rnn-score-dot"),
    ):
        page.get_by_role("button", name=group, exact=True).click()
        expect(page.locator("#figure svg")).to_contain_text(name)
        expect(page.get_by_role("button", name=kind, exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="guided", exact=True).click()
    expect(page.locator("#figure svg")).to_contain_text("gallery-rnn-guided-alignment")
    unfold(page, "Export")
    link = page.get_by_role("link", name="Link to this view").get_attribute("href") or ""
    assert "gallery-rnn-guided-alignment" in link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#figure svg")).to_contain_text("gallery-rnn-guided-alignment")
    for name in ("dot product", "guided", "soft"):
        page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator("#figure-note")).to_contain_text("Choose at least one kind")
    page.get_by_label("Language of this page").select_option("fr")
    expect(page.locator("#figure-note")).not_to_contain_text("Choose")


def test_an_example_of_the_grammar_is_a_click_away_and_translates_by_the_ordinary_model(page: Page, url: str) -> None:
    opened(page, url)
    page.get_by_role("button", name="The small black cat does not see the red house.").click()
    expect(page.locator("#text")).to_have_value("The small black cat does not see the red house.")
    expect(page.locator("#status")).to_contain_text("bahdanau-en-fr")
    expect(page.locator("#figure svg")).to_contain_text("black")
    options = page.get_by_label("Model").locator("option").all_inner_texts()
    assert not [option for option in options if "gallery" in option]
