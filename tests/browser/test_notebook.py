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
