"""Two processes learn what one learns."""

from pathlib import Path

import pytest

from tests.support.toy_runs import Starter, development_losses


def test_two_processes_learn_what_one_learns_from_the_same_batches(start: Starter, tmp_path: Path) -> None:
    """One process that adds the gradients of two batches makes the updates of two processes with one batch each."""
    common = (
        *("--set", "optimisation.max_updates=40", "--set", "validation.every_updates=20"),
        *("--set", "optimisation.batch_tokens=300"),
    )

    assert start("one", *common, "--set", "optimisation.accumulate=2").wait() == 0
    assert start("two", *common, "--processes", "2").wait() == 0

    one, two = development_losses(tmp_path / "one"), development_losses(tmp_path / "two")
    assert sorted(one) == [20, 40]
    assert two == pytest.approx(one, rel=2e-3)
