"""Graphs of shipped bundles: those of fp16 open on a CPU."""

import subprocess
import sys

import pytest

from tests.support.paths import MODELS

OPEN = """
import sys
from pathlib import Path
from service.engine.model.device import ModelSettings, Placement
from service.engine.model.session import open_session
for graph in sorted(Path(sys.argv[1]).glob("*.fp16.onnx")):
    open_session(graph, Placement("cpu", "CPUExecutionProvider", "fp16", None), ModelSettings(device="cpu"))
    print(graph.name)
"""


@pytest.mark.parametrize("bundle", sorted(path.parent.name for path in MODELS.glob("*/explain.fp16.onnx")))
def test_every_graph_opens(bundle: str) -> None:
    """In a process of its own: ONNX Runtime ended it with a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(MODELS / bundle)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split() == [
        f"{kind}.fp16.onnx" for kind in ("decoder", "encoder", "explain", "forced", "join", "run")
    ]
