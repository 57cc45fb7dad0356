"""A killed run resumes as if it had not been interrupted; two processes learn what one learns."""

import signal
from pathlib import Path

import pytest

from tests.support.polling import wait_until
from tests.support.toy_runs import Starter, development_losses

SHORT = ("--set", "optimisation.max_updates=45", "--set", "validation.every_updates=15", "--set", "network.dropout=0.1")


def test_sigkill_and_restart_end_in_the_same_loss(start: Starter, tmp_path: Path) -> None:
    assert start("whole", *SHORT).wait() == 0
    process = start("killed", *SHORT)
    first = tmp_path / "killed" / "toy" / "checkpoints" / "00000015.ckpt"
    wait_until(first.exists, 120, lambda: f"{first} did not appear")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 45 not in development_losses(tmp_path / "killed"), "killed too late to show anything"
    assert start("killed", *SHORT).wait() == 0
    whole, resumed = development_losses(tmp_path / "whole"), development_losses(tmp_path / "killed")
    assert [resumed[at] for at in (30, 45)] == pytest.approx([whole[at] for at in (30, 45)], rel=1e-3)


def test_two_processes_learn_what_one_learns_from_the_same_batches(start: Starter, tmp_path: Path) -> None:
    """One process that adds the gradients of two batches makes the updates of two processes with one batch each."""
    overrides = ("optimisation.max_updates=40", "validation.every_updates=20", "optimisation.batch_tokens=300")
    common = [part for override in overrides for part in ("--set", override)]
    assert start("one", *common, "--set", "optimisation.accumulate=2").wait() == 0
    assert start("two", *common, "--processes", "2").wait() == 0
    one, two = development_losses(tmp_path / "one"), development_losses(tmp_path / "two")
    assert sorted(one) == [20, 40]
    assert two == pytest.approx(one, rel=2e-3)
