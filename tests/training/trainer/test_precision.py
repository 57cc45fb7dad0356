"""A run trains in the precision that its recipe names, or in the quickest, and keeps to it."""

import json
import math
import threading
from pathlib import Path

import pytest
import torch

from tests.support.toy_runs import development_losses, train_some
from training.runs.folder import RunFolder
from training.trainer import precision as precisions
from training.trainer.precision import PrecisionError, choose, measure, quickest, wait_for_choice

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own
NEEDS_A_GPU = (pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here"))


@pytest.mark.parametrize(
    ("precision", "updates"), [("fp32", 10), ("bf16", 10), pytest.param("fp16", 30, marks=NEEDS_A_GPU)]
)
def test_a_run_learns_in_every_precision(precision: str, updates: int, toy: RunFolder) -> None:
    options = (f"optimisation.max_updates={updates}", "optimisation.warmup_updates=5")
    train_some(toy, f"optimisation.precision={precision}", *options)

    checkpoint = torch.load(toy.checkpoints / f"{updates:08d}.ckpt", weights_only=False)
    assert checkpoint["global_step"] == updates
    assert all(value.dtype == torch.float32 for value in checkpoint["state_dict"].values())
    assert development_losses(toy.path.parent)[updates] < math.log(420), "no better than guessing"
    assert json.loads(toy.stages.read_text())[0]["precision"] == precision


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_fp16_without_a_gpu_is_refused_and_changes_nothing(toy: RunFolder) -> None:
    before = toy.recipe.read_bytes()

    with pytest.raises(PrecisionError, match="fp16 needs an NVIDIA GPU: use bf16, fp32 or auto"):
        train_some(toy, "optimisation.precision=fp16")

    assert toy.recipe.read_bytes() == before


def test_auto_says_what_it_measured_and_a_resumed_run_keeps_the_choice(
    toy: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precisions, "measure", lambda *_: {"fp32": 2.0, "bf16": 1.0})
    train_some(toy, "optimisation.precision=auto", "optimisation.max_updates=2")
    kept = json.loads(toy.precision.read_text())
    assert (kept["precision"], kept["seconds"]) == ("bf16", {"fp32": 2.0, "bf16": 1.0})
    assert "precision auto: bf16 (fp32 2 s, bf16 1 s" in toy.log.read_text()

    monkeypatch.setattr(precisions, "measure", lambda *_: {"fp32": 1.0, "bf16": 2.0})
    train_some(toy, "optimisation.precision=auto", "optimisation.max_updates=4")

    assert "precision auto: bf16, as chosen when this run began" in toy.log.read_text()
    assert [stage["precision"] for stage in json.loads(toy.stages.read_text())] == ["bf16", "bf16"]


def test_the_network_is_measured_with_its_own_losses_and_left_as_it_was() -> None:
    network = torch.nn.Linear(4, 4)
    before = network.weight.clone()

    def losses(own: torch.nn.Module) -> torch.Generator:  # type: ignore[misc]
        yield own(torch.ones(2, 4)).square().mean()

    seconds = measure(network, losses, torch.device("cpu"))  # type: ignore[arg-type]

    assert set(seconds) == {"fp32", "bf16"}
    assert all(0 < value < math.inf for value in seconds.values())
    torch.testing.assert_close(network.weight, before)


def test_half_precision_must_be_worth_it() -> None:
    assert quickest({"fp32": 1.0, "bf16": 0.98}) == "fp32"
    assert quickest({"fp32": 1.0, "bf16": 0.6, "fp16": math.inf}) == "bf16"


def test_other_processes_take_what_the_first_one_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    monkeypatch.setattr(precisions, "measure", lambda *_: {"fp32": 2.0, "bf16": 1.0})
    chooser = threading.Timer(0.3, choose, (folder, torch.nn.Linear(1, 1), None, torch.device("cpu")))
    chooser.start()

    assert wait_for_choice(folder, seconds=60) == "bf16"

    chooser.join()
    folder.precision.unlink()
    with pytest.raises(PrecisionError, match="did not appear"):
        wait_for_choice(folder, seconds=0.1)
