"""The pages of decisions (docs/adr) are numbered without gaps, and have the form that CONTRIBUTING.md asks for."""

import re

from tests.support.paths import ROOT

DECISIONS = sorted((ROOT / "docs/adr").glob("*.md"))
TABLE = re.compile(r"^\|(?:[ :]*-+[ :]*\|)+$", re.M)
LINK = re.compile(r"\[(?:ADR\s+)?(\d+)\]\([^)\s]*?(\d{4})-[a-z0-9-]+\.md")


def test_they_are_numbered_without_gaps() -> None:
    assert [path.name[:4] for path in DECISIONS] == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]


def test_each_has_its_number_a_status_and_at_most_one_table() -> None:
    for number, path in enumerate(DECISIONS, 1):
        text = path.read_text("utf-8")
        assert text.startswith(f"# {number}. "), path.name
        assert "\n**Status**: accepted" in text, path.name
        assert len(TABLE.findall(text)) <= 1, path.name


def test_a_link_names_the_number_of_its_page() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "models/README.md"]:
        links = LINK.findall(path.read_text("utf-8"))
        assert [link for link in links if int(link[0]) != int(link[1])] == [], path.name
