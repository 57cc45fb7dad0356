"""The OpenAPI document under attack: schemathesis sends what it allows and what it does not, and judges the answers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
from tests.support.server import metric, running_dummy

# Left out: `negative_data_rejection`, because clients of this dialect may send numbers as text, null for "use the
# default" and fields that we do not know; `positive_data_acceptance`, because a schema cannot say which languages there
# are. `refused_for_a_reason` (schema_checks.py) stands for the latter.
CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance"),
    *("response_schema_conformance", "allow_header_conformance", "unsupported_method", "refused_for_a_reason"),
)
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "")


def test_the_answers_are_those_that_the_document_describes(tmp_path: Path) -> None:
    """A few cases of each route, or thousands: SCHEMATHESIS_EXAMPLES says how many of each."""
    phases = "examples,coverage,fuzzing" if EXAMPLES else "examples,fuzzing"
    report = tmp_path / "report.json"
    with running_dummy() as server:
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", EXAMPLES or "8", "--seed", "1"),
            *("--request-timeout", "120"),  # a busy machine draws a picture in more than the usual ten
            *("--generation-database", "none", "--report", "json", "--report-json-path", str(report), "--no-color"),
        ]
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract.schema_checks", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert metric(server.url, "rows_in_use") == 0
    summary: dict[str, Any] = json.loads(report.read_text("utf-8"))
    assert summary["failures"] == summary["errors"] == []
    assert summary["operations"]["tested"] == summary["operations"]["total"]
    assert summary["test_cases"]["generated"] > 80
    assert [line for line in server.lines if line["level"] in ("error", "critical")] == []
