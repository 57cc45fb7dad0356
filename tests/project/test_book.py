"""The book is built from what the pages and our code say now, its cells run, and every formula leads somewhere."""

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from docs.tools import book
from tests.support.paths import ROOT
from training.networks.transformer import sinusoidal_positions

PAGES = book.pages()
FORMULAS: list[dict[str, Any]] = yaml.safe_load((ROOT / "docs/formulas.yaml").read_text("utf-8"))
SLOW = ("11-complexity",)  # measures, and says how long it takes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_built_page_is_made_of_its_text_and_our_code_as_they_are_now(page: book.Page) -> None:
    assert book.stored_digest(page) == page.digest, "run `make book`"


def test_a_page_with_a_shipped_model_is_built_again_for_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = next(page for page in PAGES if page.name == "00-overview")
    assert [path.parent.name for path in page.bundles] == ["transformer-en-fr"]
    before = page.digest
    (tmp_path / "transformer-en-fr").mkdir()
    shutil.copy(book.MODELS / "transformer-en-fr" / "manifest.json", tmp_path / "transformer-en-fr")
    monkeypatch.setattr(book, "MODELS", tmp_path)
    assert page.digest == before
    manifest = tmp_path / "transformer-en-fr" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8") + " ", "utf-8")
    assert page.digest != before


def test_the_contents_list_every_page_and_nothing_else_is_sent() -> None:
    assert (book.BUILT / "index.html").read_text("utf-8") == book.contents(PAGES), "run `make book`"
    assert {path.stem for path in book.BUILT.iterdir()} == {"index", *(page.name for page in PAGES)}


@pytest.mark.filterwarnings("ignore:__array")  # torch's, when matplotlib reads a tensor
@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in SLOW], ids=lambda page: page.name)
def test_every_cell_of_a_page_runs_and_a_picture_is_drawn(page: book.Page) -> None:
    results = list(book.run_cells(page))
    assert len(results) == len(page.cells)
    assert any(pictures for _, pictures in results)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_its_five_parts(page: book.Page) -> None:
    text = page.text
    assert "$$\n" in text, "a formula"
    assert page.included, "our code, by name"
    assert page.cells
    assert "## Try it" in text
    assert "](http://localhost:8000/" in text
    exercises = text.partition("## Exercises\n")[2]
    assert (
        len(re.findall(r"^\*\*\d\.\*\* .*?<details><summary>Answer</summary>\n.*?</details>$", exercises, re.S | re.M))
        == 5
    )


def test_the_book_is_small_and_loads_nothing_from_elsewhere() -> None:
    contents = [path.read_text("utf-8") for path in book.BUILT.iterdir()]
    assert sum(map(len, contents)) <= 400_000
    assert not any(re.search(r'(src|href)="https?://', content) for content in contents)


@pytest.mark.parametrize("entry", FORMULAS, ids=lambda entry: f"{entry['page']} {entry['function'].split('.')[-1]}")
def test_a_formula_has_a_function_a_test_and_a_page(entry: dict[str, Any]) -> None:
    assert book.resolved(entry["function"]) is not None
    path, _, name = entry["test"].partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    page = book.Page(book.PAGES / f"{entry['page']}.md")
    shown = any(entry["function"].startswith(name) for name in page.included)
    used = entry["function"].rsplit(".", 1)[1] in "".join(page.cells)
    assert shown or used, "the page shows or runs the function"
    assert "<svg" in (book.BUILT / f"{page.name}.html").read_text("utf-8")


def test_every_page_has_a_formula_that_is_tied() -> None:
    assert {entry["page"] for entry in FORMULAS} == {page.name for page in PAGES}


def test_a_shift_of_positions_is_a_rotation() -> None:
    width, shift = 16, 5
    table = sinusoidal_positions(40, width).double()
    rates = 10_000.0 ** (-torch.arange(0, width, 2).double() / width)
    for pair, rate in enumerate(rates):
        cosine, sine = torch.cos(shift * rate), torch.sin(shift * rate)
        rotation = torch.stack([torch.stack([cosine, sine]), torch.stack([-sine, cosine])])
        columns = table[:, 2 * pair : 2 * pair + 2]
        torch.testing.assert_close(columns[:-shift] @ rotation.T, columns[shift:], atol=1e-5, rtol=0)
