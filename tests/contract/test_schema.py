"""The OpenAPI document under attack: schemathesis sends what it allows and what it does not, and judges the answers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.made_up_bundles import write_made_up_bundles
from tests.support.server import ROOT, ServerProcess, running, running_dummy

# Left out: `negative_data_rejection`, because clients of this dialect may send numbers as text, null for "use the
# default" and fields that we do not know; `positive_data_acceptance`, because a schema cannot say which languages there
# are. `refused_for_a_reason` (schema_checks.py) stands for the latter.
CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance"),
    *("response_schema_conformance", "allow_header_conformance", "unsupported_method", "refused_for_a_reason"),
)
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "")
MANY = 5_000


def attack(server: ServerProcess, folder: Path, phases: str, examples: int) -> int:
    """Attack every route; returns the number of requests, and fails with schemathesis' report."""
    report = folder / "report.json"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
        *("--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", str(examples), "--seed", "1"),
        *("--request-timeout", "120"),  # a busy machine draws a picture in more than the usual ten
        *("--generation-database", "none", "--report", "json", "--report-json-path", str(report), "--no-color"),
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract.schema_checks", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads(report.read_text("utf-8"))
    assert summary["failures"] == summary["errors"] == []
    assert summary["operations"]["tested"] == summary["operations"]["total"]
    return int(summary["test_cases"]["generated"])


def test_a_few_cases_for_each_route(tmp_path: Path) -> None:
    with running_dummy() as server:
        assert attack(server, tmp_path, "examples,fuzzing", 8) > 80


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLES, reason="SCHEMATHESIS_EXAMPLES=450 makes more than 5,000 requests")
def test_thousands_of_cases_over_real_models(tmp_path: Path) -> None:
    models = write_made_up_bundles(tmp_path / "models")
    with running("-m", "service", "serve", "--models-dir", str(models), "--device", "cpu") as server:
        cases = attack(server, tmp_path, "examples,coverage,fuzzing", int(EXAMPLES))
        answer = httpx.post(f"{server.url}/translate", json={"q": "I lost.", "source": "en", "target": "fr"})
        metrics = httpx.get(f"{server.url}/metrics").text
        server.signal()
        assert server.exit_code() == 0
    print(f"{cases} requests")  # noqa: T201
    assert cases >= MANY
    assert answer.status_code == 200
    assert 'translucent_rows_in_use{model="transformer-en-fr"} 0.0' in metrics
    assert [line for line in server.lines if line["level"] in ("error", "critical")] == []
