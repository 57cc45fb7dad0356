"""What training shows: the lines of its log in a pipe, a bar and the validations on a terminal, and nothing else."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.toy_runs import ROOT, TOY

COMMAND = [sys.executable, "-m", "training", "train", str(TOY), "--set", "validation.every_updates=20"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def shown_on_a_terminal(command: list[str]) -> str:
    """Return what a program writes to a terminal without a size, as that of `script`."""
    mine, own = pty.openpty()
    program = subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=own, stderr=own)
    os.close(own)
    parts = []
    try:
        while part := os.read(mine, 65536):
            parts.append(part)
    except OSError:  # the program has closed its side
        pass
    finally:
        os.close(mine)
    assert program.wait(timeout=60) == 0
    return b"".join(parts).decode("utf-8")


def test_training_shows_its_log_in_a_pipe_and_a_bar_on_a_terminal(prepared: Path, tmp_path: Path) -> None:
    log = shutil.copytree(prepared / "toy", tmp_path / "toy") / "train.log"
    command = [*COMMAND, "--runs", str(tmp_path), "--set"]
    piped = subprocess.run([*command, "optimisation.max_updates=20"], cwd=ROOT, env=ENVIRONMENT, capture_output=True)
    assert piped.returncode == 0
    assert piped.stdout == b""
    assert piped.stderr.decode("utf-8") == log.read_text("utf-8")
    assert " update=20 train_loss=" in log.read_text("utf-8")
    resumed = shown_on_a_terminal([*command, "optimisation.max_updates=40"])
    *_, last = [line for line in resumed.replace("\r", "\n").splitlines() if line.strip()]
    assert last.startswith("100 %|")
    assert all(name in last for name in ("40/40", "loss ", "BLEU ", "rate ", "tokens/s ")), last
    lines = {line for line in resumed.splitlines() if " update=" in line}
    assert lines == {line for line in log.read_text("utf-8").splitlines() if "dev_bleu=" in line and "=20 " not in line}
    rest = [line for line in resumed.replace("\r", "\n").splitlines() if line.strip() and line not in lines]
    assert all(line.lstrip()[0].isdecimal() and "left" in line for line in rest), rest
