"""The stages of a run: repeated updates count once, and the origin of a run is recorded."""

import json
from pathlib import Path
from typing import Any

from training.runs.stages import closed, extend, load_stages, new_stage, origin, save_stages


def stage(first: int, last: int | None = None) -> dict[str, Any]:
    return {"from_update": first, "to_update": last}


def spans(stages: list[dict[str, Any]]) -> list[tuple[int, int | None]]:
    return [(each["from_update"], each["to_update"]) for each in stages]


def test_a_killed_leg_ends_where_the_next_one_begins() -> None:
    assert spans(extend([stage(0, 500), stage(500)], stage(800))) == [(0, 500), (500, 800), (800, None)]


def test_what_is_done_over_again_counts_once() -> None:
    assert spans(extend([stage(0, 500), stage(500, 900)], stage(500))) == [(0, 500), (500, None)]
    assert spans(extend([stage(0, 500), stage(500, 900)], stage(700))) == [(0, 500), (500, 700), (700, None)]


def test_a_start_that_made_no_update_is_no_leg() -> None:
    assert spans(closed([stage(0, 500), stage(500)], 500)) == [(0, 500)]
    assert spans(closed([stage(0)], 40)) == [(0, 40)]


def test_a_leg_says_what_of_the_recipe_changed() -> None:
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
