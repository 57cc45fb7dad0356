"""Print the label that `make containers` gives the image: a digest of everything that it is made of.

A test can then tell an image of these sources from one that was built before they changed.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
LABEL = "translucent.sources"
# The files that .dockerignore lets through, and those that define the build.
PARTS = (
    "Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE",
    "service", "training", "translucent_mt", "deploy/locked", "deploy/wheel.py", "models",
)  # fmt: skip


def digest() -> str:
    """Return the digest of the names and contents of the tracked files among them, as they are in the working tree."""
    names = _git("ls-files", "-z", "--", *PARTS).rstrip("\0").split("\0")
    there = [name for name in names if (ROOT / name).is_file()]
    blobs = _git("hash-object", "--stdin-paths", text="\n".join(there)).split()
    return _git("hash-object", "--stdin", text="\n".join(map(" ".join, zip(blobs, there, strict=True)))).strip()


def _git(*arguments: str, text: str = "") -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    print(f"{LABEL}={digest()}")  # noqa: T201 - the Makefile reads it
