"""Writes the alerts of deploy/prometheus as a PrometheusRule for Kubernetes: `python -m deploy.prometheus_rule`.

A test fails if it is out of date.
"""

from pathlib import Path

import yaml

DEPLOY = Path(__file__).parent
RULES = DEPLOY / "prometheus/rules.yml"
WRITTEN = DEPLOY / "kubernetes/components/monitoring/prometheusrule.yaml"


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as such, as people do."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def prometheus_rule() -> str:
    """Return the object of the Prometheus operator, as YAML."""
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "translucent"},
        "spec": yaml.safe_load(RULES.read_text("utf-8")),
    }
    written = yaml.dump(rule, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return f"# Written by `python -m deploy.prometheus_rule` from deploy/prometheus/rules.yml.\n{written}"


if __name__ == "__main__":
    WRITTEN.write_text(prometheus_rule(), "utf-8")
