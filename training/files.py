"""Writes the small files that commands make, and names the code that made them."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path


def write_json(path: Path, content: object) -> None:
    """Write indented UTF-8 JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write UTF-8 text, one line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def git_revision() -> str:
    """Return the commit of this code, with ``-dirty`` after it if files differ from it; ``unknown`` without git."""
    command = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    result = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
