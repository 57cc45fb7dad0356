"""`make audit` says plainly when it could not ask, and never takes that for a clean result."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KNOWN = {"name": "numpy", "version": "2.4.6", "vulns": []}
SKIPPED = {"name": "numpy", "skip_reason": "Dependency not found on PyPI and could not be audited: numpy (2.4.6)"}
VULNERABLE = {"name": "numpy", "version": "2.4.6", "vulns": [{"id": "CVE-1", "fix_versions": ["2.4.7"]}]}


def audit(tmp_path: Path, dependencies: list[dict[str, Any]] | None, *options: str) -> tuple[int, str]:
    """Run the command with a pip-audit that reports this, or fails; exit code and output."""
    program = tmp_path / "pip-audit"
    report = json.dumps({"dependencies": dependencies})
    write = f"pathlib.Path(sys.argv[sys.argv.index('--output') + 1]).write_text({report!r})"
    action = "sys.exit('ConnectionError: no route to the service')" if dependencies is None else write
    program.write_text(f"#!{sys.executable}\nimport pathlib, sys\n{action}\n", "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, str(ROOT / "deploy/audit.py"), "--pip-audit", str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("dependencies", "code", "words"),
    [
        ([KNOWN], 0, "1 packages audited"),
        ([KNOWN, VULNERABLE], 1, "CVE-1, fixed in 2.4.7"),
        ([SKIPPED, VULNERABLE], 1, "VULNERABLE"),
        ([SKIPPED], 3, "NOT AUDITED"),
        ([KNOWN, SKIPPED], 3, "does not know numpy"),
        ([], 3, "NOT AUDITED"),
        (None, 3, "no route to the service"),
    ],
)
def test_only_a_full_and_clean_answer_is_a_success(
    tmp_path: Path, dependencies: list[dict[str, Any]] | None, code: int, words: str
) -> None:
    found, output = audit(tmp_path, dependencies)
    assert found == code, output
    assert words in output


@pytest.mark.parametrize(("dependencies", "code"), [(None, 0), ([SKIPPED], 0), ([VULNERABLE], 1)])
def test_ci_tolerates_a_missing_service_aloud_and_nothing_else(
    tmp_path: Path, dependencies: list[dict[str, Any]] | None, code: int
) -> None:
    found, output = audit(tmp_path, dependencies, "--tolerate-no-service")
    assert found == code
    assert ("NOT AUDITED" in output) == (code == 0)
