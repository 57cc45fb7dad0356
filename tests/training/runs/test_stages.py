"""The stages of a run: repeated updates count once, and the origin of a run is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from training.runs.stages import closed, extend, load_stages, new_stage, origin, save_stages


def stage(first: int, last: int | None = None) -> dict[str, Any]:
    return {"from_update": first, "to_update": last}


def spans(stages: list[dict[str, Any]]) -> list[tuple[int, int | None]]:
    return [(each["from_update"], each["to_update"]) for each in stages]


@pytest.mark.parametrize(
    ("before", "now", "kept"),
    [
        ([stage(0, 500), stage(500)], stage(800), [(0, 500), (500, 800), (800, None)]),  # killed
        ([stage(0, 500), stage(500, 900)], stage(500), [(0, 500), (500, None)]),  # done over again
        ([stage(0, 500), stage(500, 900)], stage(700), [(0, 500), (500, 700), (700, None)]),
    ],
)
def test_a_stage_ends_where_the_next_one_begins(
    before: list[dict[str, Any]], now: dict[str, Any], kept: list[tuple[int, int | None]]
) -> None:
    assert spans(extend(before, now)) == kept


def test_a_start_that_made_no_update_is_no_stage() -> None:
    assert spans(closed([stage(0, 500), stage(500)], 500)) == [(0, 500)]


def test_a_stage_says_what_of_the_recipe_changed() -> None:
    before = {"seed": 1, "optimisation": {"peak_rate": 0.1, "beta2": 0.98}}
    now = {"seed": 1, "optimisation": {"peak_rate": 0.2, "beta2": 0.98}, "max_tokens": 64}
    made = new_stage(500, "bf16", before, now)
    assert made["changed"] == {"optimisation.peak_rate": 0.2, "max_tokens": 64}
    assert made["git_revision"]
    assert new_stage(0, "fp32", None, now)["changed"] == {}


def test_what_a_run_began_from_is_told(tmp_path: Path) -> None:
    save_stages(tmp_path / "legs.json", [stage(0, 500)])
    assert origin(tmp_path) == {"run": tmp_path.name, "legs": load_stages(tmp_path / "legs.json")}
    card = {"git_revision": "abc", "legs": [stage(0, 90)]}
    (tmp_path / "manifest.json").write_text(json.dumps({"name": "old", "version": "3", "card": card}))
    assert origin(tmp_path) == {"bundle": "old", "version": "3", **card}
