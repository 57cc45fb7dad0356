"""Translates with bundles through the command line, exactly as the service does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from service.bundle import SERVICE


class TeacherError(ValueError):
    """A teacher could not translate; the message is its own."""


def ask(teacher: Path, sentences: Path, *options: str | Path) -> None:
    """Run ``translucent translate`` with a bundle over a file; raises TeacherError with its error message."""
    command = [sys.executable, "-m", SERVICE, "translate", "--model", str(teacher), "--input", str(sentences)]
    command.append("--no-split-sentences")  # each line is one sentence
    result = subprocess.run([*command, *map(str, options)], capture_output=True, text=True, check=False)
    if result.returncode:
        raise TeacherError(f"{teacher}: {result.stderr.strip()[-500:]}")
