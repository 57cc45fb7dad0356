"""The systemd unit: it outlives the drain, and systemd itself finds it hardened."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.settings import Settings

UNIT = Path(__file__).parents[2] / "deploy/systemd/translucent.service"
MOST_EXPOSURE = 2.0  # of 10


def test_stopping_waits_longer_than_the_drain_and_reload_is_a_signal() -> None:
    text = UNIT.read_text("utf-8")
    seconds = int(re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[0])
    assert seconds > Settings().drain_timeout_seconds
    assert "ExecReload=/bin/kill -HUP $MAINPID" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_it_hardened() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= MOST_EXPOSURE
