"""Nothing that we import reports to anybody, or leaves traces of that in the user's home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("module", ["service.engine.model.session", "training.export.sessions"])
def test_onnx_runtime_prepares_no_report(tmp_path: Path, module: str) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_", "CI"))}
    code = f"import {module}, onnxruntime; onnxruntime.SessionOptions()"
    subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**variables, "HOME": str(tmp_path)}, timeout=120, check=True
    )
    assert [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name.lower()] == []
