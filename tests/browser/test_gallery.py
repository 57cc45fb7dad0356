"""The tab "Kinds of attention", over the real models of the gallery, in Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.page_requests import posted
from tests.support.page_views import unfold, view
from tests.support.server import running

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MODELS = Path(__file__).resolve().parents[2] / "models"
SENTENCE = "The+dog+sees+the+cow."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve one ordinary model and the gallery."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("bahdanau-en-fr", "gallery"):
        (folder / name).symlink_to(MODELS / name)
    with running("-m", "service", "serve", TRANSLUCENT_MODELS_DIR=str(folder), TRANSLUCENT_GALLERY="true") as server:
        yield server.url


def drawn(page: Page) -> str:
    """Return the text of the figure, once it shows the gallery."""
    expect(page.locator("#figure svg")).to_contain_text("gallery-rnn")
    return page.locator("#figure svg").text_content() or ""


def test_each_kind_is_drawn_for_the_same_sentence(page: Page, url: str) -> None:
    sent = posted(page)
    page.goto(f"{url}/#text={SENTENCE}&source=en&target=fr&view=heatmap")
    view(page, "Kinds of attention")
    text = drawn(page)
    for name in ("gallery-rnn", "gallery-rnn-attention-hard", "gallery-rnn-attention-local"):
        assert name in text
    models = [str(body["models"]) for path, body in sent if path == "attention" and body.get("models")]
    assert models[-1].split(",") == [
        "gallery-rnn",
        "gallery-rnn-attention-hard",
        "gallery-rnn-attention-local",
        "gallery-rnn-attention-none",
    ]
    unfold(page, "Details")
    expect(page.get_by_role("combobox", name="Layer")).to_be_disabled()
    expect(page.locator("#downloads")).not_to_contain_text("BertViz")


def test_groups_and_single_kinds_are_switched_and_the_address_keeps_them(page: Page, url: str) -> None:
    page.goto(f"{url}/#text={SENTENCE}&source=en&target=fr&view=models")
    drawn(page)
    groups = page.locator("#gallery .chooser[role=group]")
    expect(groups).to_have_count(6)
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.locator("#figure svg")).to_contain_text("gallery-rnn-score-dot")
    expect(page.get_by_role("button", name="dot product", exact=True)).to_have_attribute("aria-pressed", "true")
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
    page.goto(f"{url}/#text={SENTENCE}&source=en&target=fr&view=models")
    drawn(page)
    page.get_by_role("button", name="The small black cat does not see the red house.").click()
    expect(page.locator("#text")).to_have_value("The small black cat does not see the red house.")
    expect(page.locator("#status")).to_contain_text("bahdanau-en-fr")
    expect(page.locator("#figure svg")).to_contain_text("black")
    options = page.get_by_label("Model").locator("option").all_inner_texts()
    assert not [option for option in options if "gallery" in option]


def test_a_transformer_with_and_without_positions_and_the_decoder_one_step_later(page: Page, url: str) -> None:
    page.goto(f"{url}/#text={SENTENCE}&source=en&target=fr&view=models")
    drawn(page)
    page.get_by_role("button", name="Positions", exact=True).click()
    expect(page.locator("#figure svg")).to_contain_text("gallery-transformer-small-positions-none")
    page.get_by_role("button", name="Query", exact=True).click()
    expect(page.locator("#figure svg")).to_contain_text("gallery-rnn-conditional")
    expect(page.get_by_role("button", name="state after the previous word")).to_have_attribute("aria-pressed", "true")
