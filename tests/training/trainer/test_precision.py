"""A run trains in the precision that its recipe names."""

import json
import math

import pytest
import torch

from tests.support.toy_runs import development_losses, train_some
from training.runs.folder import RunFolder

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own
NEEDS_A_GPU = (pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here"))


@pytest.mark.parametrize(
    ("precision", "updates", "decoder"),
    [
        ("fp32", 10, "attention"),
        ("fp32", 10, "ssru"),
        ("bf16", 10, "attention"),
        pytest.param("fp16", 30, "attention", marks=NEEDS_A_GPU),
    ],
)
def test_a_run_learns_in_every_precision(precision: str, updates: int, decoder: str, toy: RunFolder) -> None:
    options = (f"optimisation.max_updates={updates}", "optimisation.warmup_updates=5", f"network.decoder={decoder}")
    train_some(toy, f"optimisation.precision={precision}", *options)
    checkpoint = torch.load(toy.checkpoints / f"{updates:08d}.ckpt", weights_only=False)
    assert checkpoint["global_step"] == updates
    assert all(value.dtype == torch.float32 for value in checkpoint["state_dict"].values())
    assert development_losses(toy.path.parent)[updates] < math.log(420), "no better than guessing"
    assert json.loads(toy.stages.read_text())[0]["precision"] == precision


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_fp16_without_a_gpu_is_refused_and_changes_nothing(toy: RunFolder) -> None:
    before = toy.recipe.read_bytes()
    with pytest.raises(ValueError, match="fp16 needs an NVIDIA GPU: use bf16 or fp32"):
        train_some(toy, "optimisation.precision=fp16")
    assert toy.recipe.read_bytes() == before
