"""The progress of runs: a table of their stages, and curves of development BLEU."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from training.__main__ import app
from training.recipe import load_recipe
from training.runs.folder import RunFolder

TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.yaml"
LOG = """\
2026-11-21 23:00:00,000 update=100 train_loss=4.6 tokens_per_second=900
2026-11-21 23:10:00,000 update=200 train_loss=4.4 tokens_per_second=900
2026-11-21 23:11:00,000 update=200 dev_loss=3.1 dev_bleu=5
2026-11-22 08:00:00,000 update=200 train_loss=4.2 tokens_per_second=900
2026-11-22 08:20:00,000 update=300 train_loss=4.1 tokens_per_second=900
2026-11-22 08:21:00,000 update=300 dev_loss=2.9 dev_bleu=12.5
2026-11-22 08:40:00,000 update=400 train_loss=4.1 tokens_per_second=900
"""


def test_stages_with_their_days_tokens_and_hours(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "toy")
    folder.path.mkdir()
    folder.save_recipe(load_recipe(TOY, ["optimisation.batch_tokens=5000", "optimisation.accumulate=2"]))
    folder.log.write_text(LOG, encoding="utf-8")
    first = {"from_update": 0, "to_update": 100, "precision": "fp32", "git_revision": "0123456789", "changed": {}}
    second = {**first, "from_update": 100, "to_update": None, "precision": "bf16", "changed": {"corpora": 1, "seed": 2}}
    second, resumed = {**second, "to_update": 200}, {**second, "from_update": 200, "changed": {}}
    folder.stages.write_text(json.dumps([first, second, resumed]), encoding="utf-8")

    result = CliRunner().invoke(app, ["progress", str(folder.path), "--output", str(tmp_path / "out" / "progress")])

    assert result.exit_code == 0, result.output
    rows = [line.strip("| ").split(" | ") for line in result.stdout.splitlines()]
    # One logged update of a stage is not an interval: its hours are unknown. Update 200 was made again after a kill.
    assert rows[2] == ["toy", "0–100", "2026-11-21", "1.0", "–", "fp32", "0123456", "–"]
    assert rows[3] == ["toy", "100–400", "2026-11-22", "3.0", "1.0", "bf16", "0123456", "`corpora`, `seed`"]
    assert (tmp_path / "out" / "progress.md").read_text(encoding="utf-8") == result.stdout
    picture = ElementTree.parse(tmp_path / "out" / "progress.svg").getroot()
    assert "million target tokens" in {"".join(item.itertext()).strip() for item in picture.iter()}


def test_a_run_without_a_log_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "toy")
    folder.path.mkdir()
    folder.save_recipe(load_recipe(TOY))
    with pytest.raises(ValueError, match="no log of a training run"):
        CliRunner().invoke(app, ["progress", str(folder.path)], catch_exceptions=False)
