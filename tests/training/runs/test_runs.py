"""The stages of a run and its origin are recorded; a run can have the vocabulary of another run or bundle."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_runs import ROOT, toy_recipe
from training.data.dataset import EncodedPairs
from training.data.prepare import prepare
from training.recipe import Recipe
from training.runs.folder import RunFolder
from training.runs.stages import closed, extend, load_stages, origin, save_stages


def stage(first: int, last: int | None = None) -> dict[str, Any]:
    return {"from_update": first, "to_update": last}


def test_a_stage_ends_where_the_next_one_begins() -> None:
    killed, ended = [stage(0, 500), stage(500)], [stage(0, 500), stage(500, 900)]
    assert extend(killed, stage(800)) == [stage(0, 500), stage(500, 800), stage(800)]
    assert extend(ended, stage(500)) == [stage(0, 500), stage(500)]  # done over again
    assert extend(ended, stage(700)) == [stage(0, 500), stage(500, 700), stage(700)]


def test_a_start_that_made_no_update_is_no_stage() -> None:
    assert closed([stage(0, 500), stage(500)], 500) == [stage(0, 500)]


def test_what_a_run_began_from_is_told(tmp_path: Path) -> None:
    save_stages(tmp_path / "legs.json", [stage(0, 500)])
    assert origin(tmp_path) == {"run": tmp_path.name, "legs": load_stages(tmp_path / "legs.json")}
    card = {"git_revision": "abc", "legs": [stage(0, 90)]}
    (tmp_path / "manifest.json").write_text(json.dumps({"name": "old", "version": "3", "card": card}))
    assert origin(tmp_path) == {"bundle": "old", "version": "3", "git_revision": "abc"}


BUNDLE = ROOT / "models" / "transformer-en-fr"


def with_vocabulary_of(folder: Path) -> Recipe:
    return toy_recipe(vocabulary={"same_as": folder})


def test_text_of_one_s_own_is_encoded_with_the_vocabulary_of_a_bundle(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    prepare(with_vocabulary_of(BUNDLE), run, None, tmp_path)
    vocabulary = run.load_tokenizer()
    assert vocabulary.get_vocab() == RunFolder(BUNDLE).load_tokenizer().get_vocab()
    assert run.load_recipe().vocabulary.same_as == BUNDLE
    first = EncodedPairs.load(run.corpus("toy")).source[0].tolist()
    assert max(first) < vocabulary.get_vocab_size()
    assert vocabulary.decode(first).strip()


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"same_as: .* is neither a run folder nor a bundle"):
        prepare(with_vocabulary_of(tmp_path / "nothing"), RunFolder(tmp_path / "run"), None, tmp_path)
