"""Check what would be released: build it, look at it, install and use it with every Python that is here.

    python -m deploy.release_check [--tools FOLDER] [PYTHON …]

`make release-check` runs it. It needs the network, for the packages that an empty environment installs.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "build/dist"
BUNDLE = ROOT / "models/transformer-en-fr"
EXTRAS = "cpu,client,documents"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a program; exit with its name if it fails."""
    print("+", *command, flush=True)  # noqa: T201
    if subprocess.run([str(part) for part in command], cwd=cwd, check=False).returncode:
        raise SystemExit(f"release-check: {Path(command[0]).name} failed")


def interpreters() -> list[str]:
    """Return one interpreter of each supported version that is here, also those of pyenv."""
    folders = sorted((Path.home() / ".pyenv/versions").glob("3.*"))
    found = []
    for version in VERSIONS:
        candidates = [shutil.which(f"python{version}"), *(str(each / "bin/python") for each in folders)]
        found += [each for each in candidates if each and _version(each) == version][:1]
    return found


def _version(python: str) -> str:
    program = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=False).stdout.strip()


def build(tools: Path) -> tuple[Path, Path]:
    """Return the built source distribution, and the wheel that was made from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(tools / "python", "-m", "build", "--outdir", DIST)
    [source], [wheel] = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    run(tools / "twine", "check", "--strict", source, wheel)
    run(tools / "check-wheel-contents", "--toplevel", "translucent_mt", wheel)
    return source, wheel


def use(python: str, source: Path, wheel: Path) -> None:
    """Install and use the wheel in an empty environment; then the source distribution in its place."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "bin/python"
        run(python, "-m", "venv", folder)
        install = (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*install, "--constraint", ROOT / "constraints.txt", f"{wheel}[{EXTRAS}]")
        run(own, "-m", "pip", "check")
        run(own, ROOT / "deploy/smoke.py", BUNDLE, cwd=Path(folder))
        run(*install, "--no-deps", "--force-reinstall", source)
        run(own, ROOT / "deploy/smoke.py", BUNDLE, cwd=Path(folder))


def main() -> None:
    """Check the two distributions with the interpreters of the command line, or with all that are here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, default=Path(sys.executable).parent, help="Folder of build and twine")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    options = parser.parse_args()
    source, wheel = build(options.tools.absolute())
    pythons = options.pythons or interpreters()
    for python in pythons:
        use(python, source, wheel)
    print(f"release-check: {source.name} and {wheel.name} work with", *pythons)  # noqa: T201


if __name__ == "__main__":
    main()
