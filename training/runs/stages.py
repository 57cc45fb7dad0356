"""The stages of a run: each start of `train`, with the code, the recipe and the precision that it used."""

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning
import torch

from service.bundle.manifest import MANIFEST_NAME
from training.files import git_revision, write_json
from training.runs.fingerprint import MISSING, changes

Stage = dict[str, Any]


def load_stages(path: Path) -> list[Stage]:
    """Return the recorded stages of a run folder; none for a run that has not begun."""
    if not path.exists():
        return []
    stages: list[Stage] = json.loads(path.read_text(encoding="utf-8"))
    return stages


def save_stages(path: Path, stages: list[Stage]) -> None:
    """Write them as JSON."""
    write_json(path, stages)


def new_stage(first: int, precision: str, before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> Stage:
    """Return the record of a stage that begins at update ``first``; ``before``, ``now``: recipes as plain data."""
    return {
        "from_update": first,
        "to_update": None,
        "precision": precision,
        "git_revision": git_revision(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "lightning": lightning.__version__,
        "changed": {key: None if new is MISSING else new for key, _, new in changes(before or now, now)},
    }


def origin(folder: Path) -> Stage:
    """Return the origin of a run that began with the parameters in ``folder``: a run with its stages, or a bundle.

    A bundle's own stages stand in its manifest of that version.
    """
    manifest = folder / MANIFEST_NAME
    if not manifest.exists():
        return {"run": folder.name, "legs": load_stages(folder / "legs.json")}
    content = json.loads(manifest.read_text(encoding="utf-8"))
    card = content["card"]
    if "imported" in card:  # what is made from it has its licence
        stated = {"imported": card["imported"]["name"], "licence": card["data"][0]["licence"]}
    else:
        stated = {"git_revision": card["git_revision"]}
    return {"bundle": content["name"], "version": content["version"], **stated}


def extend(stages: list[Stage], stage: Stage) -> list[Stage]:
    """Return the stages with one more; earlier ones that it repeats (after a kill, for example) end where it begins."""
    kept = [earlier for earlier in stages if earlier["from_update"] < stage["from_update"]]
    if kept and (kept[-1]["to_update"] is None or kept[-1]["to_update"] > stage["from_update"]):
        kept = [*kept[:-1], {**kept[-1], "to_update": stage["from_update"]}]
    return [*kept, stage]


def closed(stages: list[Stage], last: int) -> list[Stage]:
    """Return the stages with the ``last`` update recorded; a stage without updates is dropped."""
    done = [*stages[:-1], {**stages[-1], "to_update": last}]
    return done[:-1] if done[-1]["from_update"] == last else done
