"""Writes measured tables between their markers in `docs/benchmarks.md`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.corpora import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table with right-aligned numbers."""
    body = [[str(cell) for cell in row] for row in rows]
    numeric = [all(_is_number(row[column]) for row in body) for column in range(len(head))]
    rule = ["---:" if right else "---" for right in numeric]
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), rule, *body])


def put(name: str, text: str, page: Path = PAGE) -> None:
    """Replace the text between `<!-- name -->` and `<!-- /name -->`; a new section is appended to the page."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    content = page.read_text(encoding="utf-8") if page.is_file() else "# Benchmarks\n"
    part = f"{opening}\n{text}\n{closing}"
    if opening in content and closing in content:
        before, _, rest = content.partition(opening)
        content = before + part + rest.partition(closing)[2]
    else:
        content = f"{content.rstrip()}\n\n{part}\n"
    page.write_text(content, encoding="utf-8")


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).replace("–", "").replace(",", "").replace("×", "").strip().isdigit() or cell == "–"
