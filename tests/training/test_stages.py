"""A recipe in stages: one command runs them in order, from a model that only the history of the repository has."""

import json
import subprocess
from pathlib import Path

import pytest
import torch

from tests.support.toy_runs import TOY, write_toy
from tests.training.commands import call
from training.data.prepare import prepare
from training.git_folder import GitFolder, local_folder
from training.networks.build import build_network
from training.recipe import RecipeError, load_recipe
from training.recipe_stages import load_recipes
from training.runs.folder import RunFolder
from training.trainer.checkpoints import load_parameters

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own
LAYER = "encoder.0.feed_forward.inner.weight"
STAGES = [
    {"name": "slow", "optimisation": {"max_updates": 2, "peak_rate": 1e-9}},
    {
        "name": "fast",
        "optimisation": {"max_updates": 4, "warmup_updates": 1, "cooldown_updates": 0},
        "corpora": [{"name": "again", "path": "toy.tsv", "development": 9}],
    },
]


def git(*arguments: str, at: Path) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    return subprocess.run(["git", *identity, *arguments], cwd=at, check=True, capture_output=True, text=True).stdout


def in_stages(folder: Path, **changes: object) -> Path:
    """Write the toy recipe in two stages."""
    (folder / "toy.tsv").write_bytes(TOY.with_suffix(".tsv").read_bytes())
    return write_toy(folder, validation={"every_updates": 2, "sentences": 3}, **{"stages": STAGES} | changes)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> GitFolder:
    """Return a run that a repository had in its first revision; the repository is the folder of the path."""
    repository = tmp_path_factory.mktemp("repository")
    run, recipe = RunFolder(repository / "models" / "old"), load_recipe(TOY)
    prepare(recipe, run, None, repository)
    torch.manual_seed(3)
    network = build_network(recipe.network, run.load_tokenizer().get_vocab_size())
    torch.save(network.state_dict(), run.averaged)
    git("init", "-q", at=repository)
    git("add", "models/old", at=repository)
    git("commit", "-qm", "A model", at=repository)
    git("rm", "-rq", "models/old", at=repository)
    git("commit", "-qm", "No model", "--allow-empty", at=repository)
    return GitFolder(revision=git("rev-parse", "HEAD~", at=repository).strip(), path=repository / "models" / "old")


def test_one_command_runs_the_stages_in_order_and_what_has_ended_once(
    old: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(old.path.parents[1])
    before = {"revision": old.revision, "path": "models/old"}
    recipe, runs = (
        in_stages(tmp_path, start_from=before, vocabulary={"size": 420, "same_as": before}),
        tmp_path / "runs",
    )
    shown = call("stages", recipe, "--runs", runs)
    assert shown.splitlines()[0] == "toy-slow: begins, or resumes"
    slow, fast = RunFolder(runs / "toy-slow"), RunFolder(runs / "toy-fast")
    stated = load_parameters(runs / "downloads" / f"old-{old.revision[:8]}" / "averaged.pt")[LAYER]
    first, second = (load_parameters(run.averaged)[LAYER] for run in (slow, fast))
    torch.testing.assert_close(first, stated, rtol=0, atol=1e-6)  # a rate of nearly nothing
    assert not torch.allclose(second, first, rtol=0, atol=1e-4)
    assert slow.tokenizer.read_bytes() == fast.tokenizer.read_bytes()
    assert [pair[0] for pair in fast.load_development()] == ["again"] * 9
    (stage,) = json.loads(fast.stages.read_text())
    assert (stage["to_update"], stage["began_from"]["run"]) == (4, "toy-slow")
    assert stage["began_from"]["legs"][0]["began_from"]["run"] == f"old-{old.revision[:8]}"

    fast.averaged.unlink()  # as if killed before the end
    shown = call("stages", recipe, "--runs", runs)
    assert shown.splitlines()[:2] == ["toy-slow: has ended", "toy-fast: begins, or resumes"]
    assert fast.averaged.exists()


def test_a_clone_without_history_is_told_what_to_fetch(
    old: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = old.path.parents[1]
    git("clone", "-q", "--depth", "1", f"file://{repository}", "clone", at=tmp_path)
    monkeypatch.chdir(tmp_path / "clone")
    place = GitFolder(revision=old.revision, path=Path("models/old"))
    with pytest.raises(FileNotFoundError, match=f"git fetch --depth 1 origin {old.revision}"):
        local_folder(place, tmp_path)
    git("config", "uploadpack.allowAnySHA1InWant", "true", at=repository)
    git("fetch", "-q", "--depth", "1", "origin", old.revision, at=Path())
    assert local_folder(place, tmp_path).joinpath("tokenizer.json").exists()


def test_overrides_change_every_stage(tmp_path: Path) -> None:
    stages = load_recipes(in_stages(tmp_path), Path("runs"), ["optimisation.max_updates=7"])
    assert [stage.optimisation.max_updates for stage in stages] == [7, 7]
    assert [stage.optimisation.peak_rate for stage in stages] == [1e-9, 0.006]
    assert [(stage.name, stage.run) for stage in stages] == [("toy", "toy-slow"), ("toy", "toy-fast")]
    assert [stage.start_from for stage in stages] == [None, Path("runs/toy-slow")]


def test_a_recipe_in_stages_is_no_recipe_of_one_run(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"toy\.yaml is a recipe in stages: `python -m training stages"):
        load_recipe(in_stages(tmp_path))
    with pytest.raises(RecipeError, match="stages must be a list of sections, each with a name"):
        load_recipes(in_stages(tmp_path, stages=[{"seed": 2}]), tmp_path)
