"""docs/credits.md credits everything that the shipped models learned from: their cards lead there."""

import csv
import re

import pytest

from docs.tools import credits as credited
from tests.support.paths import ROOT

PAGE = (ROOT / "docs/credits.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]
CARDS = dict(credited.cards())


@pytest.mark.parametrize("model", CARDS)
def test_every_corpus_of_a_card_is_credited(model: str) -> None:
    for entry in CARDS[model]:
        name, credit = (re.sub(r"\b(?:fr|de)_", "", entry[key]) for key in ("name", "credit"))
        rows = [row for row in ROWS if f"`{name}`" in row.split("|")[1]]
        assert any(f"| {credit} " in row for row in rows), f"{name}: {credit}"


def test_every_card_leads_to_a_page_that_is_there() -> None:
    named = {page for data in CARDS.values() for entry in data for page in re.findall(r"docs/\S+\.md", entry["credit"])}
    assert named == {"docs/credits.md"}
    assert "docs/credits.md" in (ROOT / "docs/site/nav.yaml").read_text("utf-8")


def test_every_licence_that_is_not_the_public_domain_has_an_address() -> None:
    assert len(ROWS) >= 30
    for row in ROWS:
        licence = row.split(" | ")[2]
        assert licence.startswith("public domain") or re.search(r"\]\(https://\S+\)", licence), row


def test_every_book_has_its_author_titles_and_numbers() -> None:
    with credited.BOOKS.open(encoding="utf-8", newline="") as file:
        books = list(csv.DictReader(file, delimiter="\t"))
    assert len(books) == 90
    assert all(value for book in books for value in book.values())
    for book in books:
        assert f"| {book['author']} | {book['English title']} | [{book['English numbers'].split()[0]}](" in PAGE
        assert f"| {book['title']} (" in PAGE
