"""The intended use in a model card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training.export.card import readme

MODELS = Path(__file__).resolve().parents[3] / "models"


@pytest.mark.parametrize("path", sorted(MODELS.glob("gallery/*/manifest.json")), ids=lambda path: path.parent.name)
def test_a_model_of_the_gallery_says_that_it_is_for_teaching(path: Path) -> None:
    card = readme(json.loads(path.read_text("utf-8")))
    assert card == (path.parent / "README.md").read_text("utf-8")
    assert "must not translate text of your own" in card
    assert "everyday text" not in card


def test_a_model_of_real_text_says_what_it_translates() -> None:
    document = json.loads((MODELS / "bahdanau-en-fr/manifest.json").read_text("utf-8"))
    assert "This model translates sentences of everyday text from en to fr" in readme(document)
