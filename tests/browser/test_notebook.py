"""The notebook in docs/ runs against a server."""

import json
import sys
import types
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "attention.ipynb"


def test_every_cell_of_the_notebook_runs(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[bytes] = []
    stand_in = types.ModuleType("IPython.display")
    stand_in.Image = bytes  # type: ignore[attr-defined]
    stand_in.display = drawn.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", stand_in)
    monkeypatch.setenv("TRANSLUCENT_URL", url)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert len(drawn) == 4
    assert all(picture.startswith(b"\x89PNG") for picture in drawn)
    assert "layers" in capsys.readouterr().out


def test_the_notebook_is_stored_with_its_pictures() -> None:
    """As GitHub shows it; a cell that was changed has to be run again."""
    assert NOTEBOOK.stat().st_size < 300_000
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    pictures = [output for cell in cells for output in cell["outputs"] if "image/png" in output.get("data", {})]
    assert len(pictures) == 4
    assert all(cell["outputs"] for cell in cells)
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
