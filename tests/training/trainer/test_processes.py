"""Two processes learn what one learns."""

from pathlib import Path

import pytest

from tests.support.toy_runs import Starter, development_losses


def test_two_processes_follow_the_curve_of_one(start: Starter, tmp_path: Path) -> None:
    """Two processes with half the batch each: the same tokens an update, drawn in another order."""
    common = ("--set", "optimisation.max_updates=90", "--set", "validation.every_updates=45")

    assert start("one", *common).wait() == 0
    assert start("two", *common, "--set", "optimisation.batch_tokens=300", "--processes", "2").wait() == 0

    one, two = development_losses(tmp_path / "one"), development_losses(tmp_path / "two")
    assert one.keys() == two.keys()
    assert two[45] == pytest.approx(one[45], rel=0.35)
    assert two[90] == pytest.approx(one[90], rel=0.5)
