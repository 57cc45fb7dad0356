"""Going on with a run: the recipe as it is now counts, what does not fit is refused, and nothing stale is preferred."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.toy_runs import TOY, train_some
from training.data.prepare import prepare
from training.recipe import load_recipe
from training.runs.fingerprint import PreparedError
from training.runs.folder import RunFolder
from training.trainer.checkpoints import load_trained, newest_checkpoint
from training.trainer.run import require_world

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own


def newest(folder: RunFolder) -> dict[str, Any]:
    path = newest_checkpoint(folder)
    assert path is not None
    content: dict[str, Any] = torch.load(path, weights_only=False)
    return content


def groups(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the options of the newest checkpoint's last update."""
    found: list[dict[str, Any]] = newest(folder)["optimizer_states"][0]["param_groups"]
    return found


def test_a_resumed_run_uses_the_recipes_rate_betas_and_decay(toy: RunFolder) -> None:
    train_some(toy, "optimisation.max_updates=4", "optimisation.peak_rate=0.006", "optimisation.warmup_updates=1")
    changed = ("optimisation.peak_rate=0.0001", "optimisation.beta2=0.9", "optimisation.weight_decay=0.1")
    train_some(toy, "optimisation.max_updates=8", "optimisation.warmup_updates=1", *changed)
    matrices, others = groups(toy)
    assert matrices["lr"] == pytest.approx(0.0001 * 9**-0.5)  # the rate of the update that would follow
    assert matrices["betas"] == (0.9, 0.9)
    assert (matrices["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    stages = json.loads(toy.stages.read_text())
    assert [(stage["from_update"], stage["to_update"]) for stage in stages] == [(0, 4), (4, 8)]
    assert stages[1]["changed"]["optimisation.peak_rate"] == 0.0001


def test_the_mean_is_preferred_unless_it_is_stale_and_others_can_be_asked_for(
    toy: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_some(toy, "optimisation.max_updates=10")
    assert load_trained(toy.path).weights == "averaged.pt"
    assert load_trained(toy.path, "best").weights == "best.ckpt"
    toy.best.unlink()
    with pytest.raises(FileNotFoundError, match=r"best\.ckpt"):
        load_trained(toy.path, "best")
    stale = toy.averaged.read_bytes()
    monkeypatch.setattr("training.trainer.run.write_average", lambda *_: None)  # as if killed before the end
    train_some(toy, "optimisation.max_updates=20")
    assert not toy.averaged.exists()
    toy.averaged.write_bytes(stale)
    assert load_trained(toy.path).weights == "00000020.ckpt"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("vocabulary.size=430", r"vocabulary\.size: 420 → 430"),
        ("max_tokens=32", "max_tokens: 64 → 32"),
        ("cleaning.max_ratio=2", r"cleaning\.max_ratio: 3.0 → 2.0"),
    ],
)
def test_keys_that_only_prepare_reads_are_refused(toy: RunFolder, change: str, named: str) -> None:
    before = toy.recipe.read_bytes()
    with pytest.raises(PreparedError, match=f"{named}.*which only `prepare` can change"):
        train_some(toy, change, "optimisation.max_updates=2")
    assert toy.recipe.read_bytes() == before


def test_what_does_not_fit_the_checkpoints_is_refused_and_the_folder_kept(toy: RunFolder, tmp_path: Path) -> None:
    train_some(toy, "optimisation.max_updates=2")
    with pytest.raises(ValueError, match=r"^[^\n]*cannot change its network \(network\.width: 64 → 32\)[^\n]*$"):
        train_some(toy, "optimisation.max_updates=4", "network.width=32", "network.dropout=0.2")
    with pytest.raises(ValueError, match="has not kept the parameters that it began with"):
        train_some(toy, "optimisation.max_updates=4", "optimisation.start_share=0.5")
    corpus = load_recipe(TOY).corpora[0].model_copy(update={"development": 61})
    other = load_recipe(TOY).model_copy(update={"corpora": (corpus,)})
    before = {path.name: path.read_bytes() for path in toy.path.iterdir() if path.is_file()}
    with pytest.raises(PreparedError, match=r"its checkpoints were made with other text .*corpus toy.*delete them"):
        prepare(other, toy, None, tmp_path)
    assert {path.name: path.read_bytes() for path in toy.path.iterdir() if path.is_file()} == before
    moved = RunFolder(tmp_path / "other")
    prepare(other, moved, None, tmp_path)
    shutil.copytree(toy.checkpoints, moved.checkpoints)
    with pytest.raises(PreparedError, match=r"the checkpoints of .* were made with other text"):
        train_some(moved, "corpora=[{name: toy, path: toy.tsv, development: 61}]", "optimisation.max_updates=4")
    prepare(load_recipe(TOY), toy, None, tmp_path)  # the same text again is no harm
    train_some(toy, "optimisation.max_updates=4")


def test_a_launcher_with_another_number_of_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_world(1)
    monkeypatch.setenv("WORLD_SIZE", "8")
    require_world(8)
    with pytest.raises(ValueError, match="8 processes were started, but --processes and --nodes say 1"):
        require_world(1)


def test_patience_begins_the_cooldown_and_a_resumed_run_ends_with_it(toy: RunFolder) -> None:
    dull = ("optimisation.peak_rate=0.0000000001", "validation.patience=1", "optimisation.max_updates=500")
    cooling = ("optimisation.cooldown_updates=6", "validation.every_updates=4", *dull)
    train_some(toy, *cooling)
    assert newest_checkpoint(toy) == toy.checkpoints / "00000014.ckpt"  # validations at 4 and 8, then six updates
    assert "patience ended at update 8: the cooldown begins here and ends the run at update 14" in toy.log.read_text()
    assert groups(toy)[0]["lr"] == 0
    assert json.loads(toy.best_score.read_text())["update"] == 4
    train_some(toy, *cooling)
    assert newest_checkpoint(toy) == toy.checkpoints / "00000014.ckpt"
    ended = "this run has ended with update 14: its patience ended at update 8; to continue it, raise"
    assert ended in toy.log.read_text()
    (toy.checkpoints / "00000014.ckpt").unlink()  # killed in the cooldown: it goes on with it
    train_some(toy, *cooling)
    assert newest_checkpoint(toy) == toy.checkpoints / "00000014.ckpt"
    train_some(toy, *cooling, "validation.patience=9", "optimisation.max_updates=18")
    assert newest_checkpoint(toy) == toy.checkpoints / "00000018.ckpt"


def test_a_killed_run_remembers_its_looks(toy: RunFolder) -> None:
    """A checkpoint is written before the validation at its update; that validation counts nevertheless."""
    dull = ("optimisation.peak_rate=0.0000000001", "validation.patience=2", "validation.every_updates=4")
    train_some(toy, *dull, "optimisation.max_updates=9")
    (toy.checkpoints / "00000009.ckpt").unlink()  # as if killed in update 9, after the validations at 4 and 8
    train_some(toy, *dull, "optimisation.max_updates=500")

    assert newest_checkpoint(toy) == toy.checkpoints / "00000012.ckpt"
    assert "patience ended at update 12: the run ends here" in toy.log.read_text()


def test_data_go_on_where_they_were_whatever_is_accumulated_now(toy: RunFolder) -> None:
    train_some(toy, "optimisation.max_updates=4", "optimisation.accumulate=3")
    train_some(toy, "optimisation.max_updates=6", "optimisation.accumulate=1")
    assert newest(toy)["PairData"] == {"update": 6, "batches": 4 * 3 + 2}
    assert "update=0 " not in toy.log.read_text()  # batches that make no update are not logged
