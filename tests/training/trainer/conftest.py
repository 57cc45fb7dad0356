"""A prepared toy run, and training as a user starts it: in a separate process, or in this one to save time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toy_runs import ROOT, TOY, Starter
from training.data.prepare import prepare
from training.recipe import load_recipe
from training.runs.folder import RunFolder


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of runs with the prepared toy; copy it before training."""
    runs = tmp_path_factory.mktemp("runs")
    prepare(load_recipe(TOY), RunFolder(runs / "toy"), None, runs)
    return runs


@pytest.fixture
def start(prepared: Path, tmp_path: Path) -> Starter:
    """Start ``train`` on a named copy of the prepared toy; the same name goes on with the same run."""

    def start_training(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        if not (tmp_path / name).exists():
            shutil.copytree(prepared, tmp_path / name)
        command = [sys.executable, "-m", "training", "train", str(TOY), "--runs", str(tmp_path / name), *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)

    return start_training


@pytest.fixture
def toy(prepared: Path, tmp_path: Path) -> RunFolder:
    """Return a prepared run folder of the toy, for training."""
    return RunFolder(shutil.copytree(prepared / "toy", tmp_path / "toy"))
