"""Ask the public vulnerability service about every package that constraints.txt pins, with pip-audit.

    python deploy/audit.py --pip-audit .venv/supply/bin/pip-audit

Exit codes: 0 no vulnerability is known, 1 at least one is known, 3 the service could not be asked about all packages
(pip-audit by itself reports success when the service knows no package at all, as behind a mirror). With
--tolerate-no-service the last case prints the same message, but is not a failure.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CLEAN, VULNERABLE, NOT_AUDITED = 0, 1, 3
ROOT = Path(__file__).resolve().parents[1]


@dataclass(slots=True)
class Findings:
    """The findings of pip-audit."""

    audited: int = 0
    vulnerable: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # packages that the service does not know
    error: str = ""  # of pip-audit, if it made no report

    @property
    def code(self) -> int:
        """Return the exit code; a vulnerability takes precedence over an incomplete answer."""
        if self.vulnerable:
            return VULNERABLE
        return NOT_AUDITED if self.error or self.unknown or not self.audited else CLEAN

    def __str__(self) -> str:
        """Return the findings in words."""
        if self.vulnerable:
            return "VULNERABLE:\n" + "\n".join(f"  {line}" for line in self.vulnerable)
        if self.code == NOT_AUDITED:
            reason = self.error or f"the vulnerability service does not know {_some(self.unknown)}"
            return (
                f"NOT AUDITED: {reason}. {self.audited} packages were looked up. Run it where the service can be "
                f"reached."
            )
        return f"{self.audited} packages audited, no known vulnerabilities."


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def ask(pip_audit: str, requirements: Path, more: Sequence[str]) -> Findings:
    """Run pip-audit over pinned requirements, without resolving or installing anything."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [pip_audit, "--requirement", str(requirements), "--no-deps", "--disable-pip"]
        command += ["--progress-spinner", "off", "--format", "json", "--output", str(report), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not report.is_file() or not report.read_text("utf-8").strip():
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            return Findings(error=f"pip-audit failed ({last[:300].rstrip('.')})")
        return read(json.loads(report.read_text("utf-8"))["dependencies"])


def read(dependencies: Sequence[dict[str, object]]) -> Findings:
    """Sort the reports of pip-audit on each package."""
    findings = Findings()
    for one in dependencies:
        if "skip_reason" in one:
            findings.unknown.append(str(one["name"]))
            continue
        findings.audited += 1
        found = one.get("vulns") or []
        assert isinstance(found, list)
        for each in found:
            fixed = ", ".join(each.get("fix_versions") or []) or "no version yet"
            findings.vulnerable.append(f"{one['name']} {one.get('version')}: {each['id']}, fixed in {fixed}")
    return findings


def main() -> int:
    """Ask about one package first, so that a missing service is noticed once and not for every package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pip-audit", default="pip-audit", help="the program")
    parser.add_argument("--requirements", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--tolerate-no-service", action="store_true")
    options, more = parser.parse_known_args()
    lines = [line for line in options.requirements.read_text("utf-8").splitlines() if line and line[0] != "#"]
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "requirements.txt"
        first.write_text(f"{lines[0]}\n", "utf-8")
        findings = ask(options.pip_audit, first, more)
    if findings.code != NOT_AUDITED:
        findings = ask(options.pip_audit, options.requirements, more)
    print(findings)  # noqa: T201 - a command's output
    if findings.code == NOT_AUDITED and options.tolerate_no_service:
        return CLEAN
    return findings.code


if __name__ == "__main__":
    sys.exit(main())
