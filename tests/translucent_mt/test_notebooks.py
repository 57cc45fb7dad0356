"""The notebooks of docs/ run from the beginning to the end, and are kept with their outputs."""

from itertools import groupby
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
WITH_PICTURES = DOCS / "attention.ipynb"  # tests/browser/test_notebook.py runs it with a server


# Jupyter's own warnings: a kernel on TCP in this machine, and its zmq loop.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_is_kept_with(path: Path) -> None:
    kept, fresh = nbformat.read(path, 4), nbformat.read(path, 4)
    NotebookClient(fresh, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    for before, after in zip(kept.cells, fresh.cells, strict=True):
        assert shown(before) == shown(after), before.source


def shown(cell: nbformat.NotebookNode) -> list[list[str]]:
    """Return what a cell shows; printed lines may come in one piece or in several."""
    return [kind for kind, _ in groupby(map(kinds, cell.get("outputs", [])))]


def kinds(output: nbformat.NotebookNode) -> list[str]:
    """Return what an output consists of: text, pictures, tables."""
    return sorted(output.get("data", {"stream": ""}))


@pytest.mark.parametrize("path", [*NOTEBOOKS, WITH_PICTURES], ids=lambda path: path.stem)
def test_a_notebook_is_small_and_has_its_outputs_in_order(path: Path) -> None:
    assert path.stat().st_size <= (300_000 if path == WITH_PICTURES else 60_000)
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not any(output.output_type == "error" for cell in cells for output in cell.outputs)
