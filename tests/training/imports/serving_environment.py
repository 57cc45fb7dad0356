"""Commands as they run where PyTorch and the other libraries of training are not installed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ImportError(name + " is not installed here")

sys.meta_path.insert(0, Blocker())
"""
TRAINING_ALONE = ("huggingface_hub", "lightning", "sacrebleu", "safetensors", "sklearn", "torch")


def variables(folder: Path, blocked: tuple[str, ...] = TRAINING_ALONE, **more: str) -> dict[str, str]:
    """Return an environment where what only training installs, or ``blocked``, cannot be imported."""
    (folder / "blocked").mkdir(exist_ok=True)
    (folder / "blocked/sitecustomize.py").write_text(BLOCKER.replace("{names}", repr(set(blocked))))
    program = folder / "blocked/translucent"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m translucent_mt "$@"\n')
    program.chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith("TRANSLUCENT_")}
    paths = {"PYTHONPATH": f"{folder / 'blocked'}{os.pathsep}{ROOT}", "PATH": f"{folder / 'blocked'}:{own['PATH']}"}
    return own | paths | more


def done(folder: Path, environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
