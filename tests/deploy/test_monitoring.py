"""Prometheus' rules, Grafana's dashboard and the runbook name only what the service shows."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from service.metrics import Metrics
from tests.support.paths import ROOT

PROMETHEUS = ROOT / "deploy/prometheus"
DASHBOARD = ROOT / "deploy/grafana/dashboards/translucent.json"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((PROMETHEUS / "rules.yml").read_text("utf-8"))["groups"] for rule in group["rules"]
]
ALERTS = [rule["alert"] for rule in RULES if "alert" in rule]
TARGET_LABELS = {"job", "instance", "le", "quantile"}  # from the scrape and from histograms


def series() -> dict[str, set[str]]:
    """Return every series that a scrape can bring, and its labels."""
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}
    found: dict[str, set[str]] = {}
    defined: dict[str, set[str]] = {}

    def noting(kind: Any) -> Callable[..., Any]:
        def make(name: str, text: str, labels: Sequence[str] = (), **options: Any) -> Any:
            defined[name] = set(labels)
            return kind(name, text, labels, **options)

        return make

    with pytest.MonkeyPatch.context() as patch:
        for kind in (Counter, Gauge, Histogram):
            patch.setattr(f"service.metrics.series.{kind.__name__}", noting(kind))
        metrics = Metrics()
    for family in metrics.registry.collect():
        names = defined.get(family.name, {label for sample in family.samples for label in sample.labels})
        for ending in endings.get(family.type, [""]):
            found[family.name + ending] = names | TARGET_LABELS
    return found | {"up": set(TARGET_LABELS)}


def expressions() -> Iterator[tuple[str, str]]:
    """Every query of the rules and of the dashboard, with where it stands."""
    for rule in RULES:
        yield rule.get("record") or rule["alert"], rule["expr"]
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Return the metric names in a query, each with the labels that select it."""
    for name, inside in re.findall(
        r"\b((?:translucent|process|python)[_:][a-zA-Z0-9_:]+|up)\b(\{[^}]*\})?", expression
    ):
        yield name, set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", inside))


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_queries_name_what_the_service_shows(where: str, expression: str) -> None:
    known = series() | {rule["record"]: {"job", "model", "route", "status"} for rule in RULES if "record" in rule}
    found = list(selectors(expression))
    assert found, f"{where}: no metric in {expression!r}"
    for name, labels in found:
        assert name in known, f"{where}: there is no metric {name}"
        assert labels <= known[name], f"{where}: {name} has no label {sorted(labels - known[name])}"


def test_the_dashboard_is_what_grafana_loads() -> None:
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["type"] == "row" or panel["description"] for panel in panels)
    cells = [
        (column, line)
        for panel in panels
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)), "panels lie on each other"
    assert max(column for column, _ in cells) < 24
    sources = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yaml").read_text("utf-8"))
    assert [source["type"] for source in sources["datasources"]] == ["prometheus"]


def test_every_alert_has_a_page_in_the_runbook_and_a_test() -> None:
    headings = re.findall(r"^## (Translucent\w+)$", (ROOT / "docs/runbook.md").read_text("utf-8"), re.MULTILINE)
    assert headings == ALERTS
    tested = yaml.safe_load((PROMETHEUS / "rules.test.yml").read_text("utf-8"))["tests"]
    raised = {case["alertname"] for test in tested for case in test["alert_rule_test"] if case.get("exp_alerts")}
    silent = {case["alertname"] for test in tested for case in test["alert_rule_test"] if not case.get("exp_alerts")}
    assert raised == silent == set(ALERTS)
    for rule in RULES:
        if "alert" in rule:
            address = re.sub(r"{{.*?}}", "", rule["annotations"]["runbook_url"].replace("{{ . }}", ""))
            assert address == f"docs/runbook.md#{rule['alert'].lower()}", "without the external label `runbook`"
            assert rule["labels"]["severity"] in {"page", "ticket"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool (Debian's package prometheus) is not installed")
@pytest.mark.parametrize(
    "command", [("check", "config", "--syntax-only", "prometheus.yml"), ("test", "rules", "rules.test.yml")]
)
def test_promtool_accepts_configuration_and_rules(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *command], cwd=PROMETHEUS, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
