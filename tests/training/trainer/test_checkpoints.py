"""The result of a run: the mean of its last checkpoints."""

from pathlib import Path

import pytest
import torch

from training.runs.folder import RunFolder
from training.trainer.checkpoints import average_checkpoints, damaged_checkpoints, newest_checkpoint


def test_only_the_last_checkpoints_are_averaged(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    for step, value in ((500, 100.0), (1000, 1.0), (1500, 3.0)):
        torch.save({"state_dict": {"network.w": torch.tensor([value])}}, folder.checkpoints / f"{step:08d}.ckpt")

    assert average_checkpoints(folder, last=2) == {"w": torch.tensor([2.0])}


def test_a_checkpoint_that_was_cut_off_is_named_and_the_one_before_is_used(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    whole, cut = (folder.checkpoints / f"{step:08d}.ckpt" for step in (500, 1000))
    for path in (whole, cut):
        torch.save({"state_dict": {"network.w": torch.ones(100)}}, path)
    cut.write_bytes(cut.read_bytes()[:-200])

    assert newest_checkpoint(folder) == whole
    assert damaged_checkpoints(folder) == [cut]
    assert average_checkpoints(folder, last=1)["w"].sum() == 100


def test_a_run_without_checkpoints_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="train first"):
        average_checkpoints(RunFolder(tmp_path), last=2)
