"""The result of a run: the mean of its last checkpoints, without one that was cut off."""

from pathlib import Path

import pytest
import torch

from training.runs.folder import RunFolder
from training.trainer.checkpoints import average_checkpoints, damaged_checkpoints, newest_checkpoint


def test_the_last_whole_checkpoints_are_averaged(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match="train first"):
        average_checkpoints(folder, last=2)
    folder.checkpoints.mkdir()
    for step, value in ((500, 100.0), (1000, 1.0), (1500, 3.0), (2000, 0.0)):
        torch.save({"state_dict": {"network.w": torch.full((100,), value)}}, folder.checkpoints / f"{step:08d}.ckpt")
    cut = folder.checkpoints / "00002000.ckpt"
    cut.write_bytes(cut.read_bytes()[:-200])

    assert newest_checkpoint(folder) == folder.checkpoints / "00001500.ckpt"
    assert damaged_checkpoints(folder) == [cut]
    assert average_checkpoints(folder, last=2)["w"].tolist() == [2.0] * 100
