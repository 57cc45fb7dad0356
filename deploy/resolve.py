"""Resolve every extra for every supported Python and system, from wheels alone, so that no pin shuts anybody out.

    python -m deploy.resolve [--uv PATH]

It needs the network, and uv, which can resolve for another system than this one.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINUX, LINUX_ARM, MACOS_ARM = "x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin"
SYSTEMS = (LINUX, LINUX_ARM, MACOS_ARM)
MACOS = "14.0"  # the oldest that ONNX Runtime has wheels for
SOURCE_ONLY = ("odfpy", "srt")  # pure Python without a wheel on the index; only tests and an extra need them
PATCH = 9  # a release of each minor version that is old enough; some packages leave out the first ones
GPU = "gpu"  # instead of the extra cpu; ONNX Runtime has it for Linux x86-64


def pythons(project: dict[str, Any]) -> list[str]:
    """Return the supported versions of Python, which the classifiers name."""
    found = (re.fullmatch(r"Programming Language :: Python :: (\d+\.\d+)", line) for line in project["classifiers"])
    return [match[1] for match in found if match]


def requirements(project: dict[str, Any], *, gpu: bool) -> list[str]:
    """Return what all extras need together, with one of the two runtimes."""
    left_out = "cpu" if gpu else GPU
    extras = [lines for name, lines in project["optional-dependencies"].items() if name != left_out]
    every = itertools.chain(project["dependencies"], *extras)
    return sorted({line for line in every if re.split(r"[\s<>=!~;\[]", line)[0] not in SOURCE_ONLY})


def resolve(uv: str, lines: Sequence[str], python: str, system: str) -> str:
    """Return an empty string, or the resolver's reason why there is no solution."""
    command = [uv, "pip", "compile", "--quiet", "--constraint", str(ROOT / "constraints.txt"), "-"]
    command += ["--python-version", f"{python}.{PATCH}", "--python-platform", system, "--only-binary", ":all:"]
    variables = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS}
    done = subprocess.run(
        command, input="\n".join(lines), env=variables, capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.stderr.strip() or "no reason given" if done.returncode else ""


def main() -> None:
    """Print one line for each combination; exit with 1 if one has no solution."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", default="uv", help="The program uv")
    options = parser.parse_args()
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    failed = False
    for python in pythons(project):
        for system, gpu in [*((system, False) for system in SYSTEMS), (LINUX, True)]:
            reason = resolve(options.uv, requirements(project, gpu=gpu), python, system)
            failed = failed or bool(reason)
            print(f"Python {python}, {system}{', gpu' if gpu else ''}: {reason or 'ok'}", flush=True)  # noqa: T201
    sys.exit(failed)


if __name__ == "__main__":
    main()
