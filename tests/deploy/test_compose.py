"""The real image and compose.yaml, run: hardened, healthy, watched by Prometheus, and back after its death.

Needs podman, podman-compose and the images: `make containers` builds and runs this.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml

from deploy.sources import ROOT
from tests.deploy.stack import IMAGE, METRICS_TOKEN, PROMETHEUS_IMAGE, Stack, missing, podman, up
from tests.support.polling import wait_until

REASON = missing(IMAGE, PROMETHEUS_IMAGE, programs=("podman", "podman-compose"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with up("translucent", "prometheus") as running:
        running.wait_until_healthy()
        yield running


def test_it_translates_through_the_published_port(stack: Stack) -> None:
    assert "perdu" in stack.translate()


def test_it_runs_as_nobody_with_no_rights_on_a_read_only_root(stack: Stack) -> None:
    status = dict(line.split(":\t", 1) for line in stack.inside("cat", "/proc/1/status").splitlines() if ":\t" in line)
    assert set(status["Uid"].split()) == {"10001"}
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    for folder in ("/", "/models", "/opt/translucent"):
        with pytest.raises(subprocess.CalledProcessError) as refused:
            stack.inside("touch", f"{folder}/new")
        assert "Read-only file system" in refused.value.stderr


def test_it_brings_no_torch_no_pip_and_reports_to_nobody(stack: Stack) -> None:
    code = "import importlib.util as u; print([m for m in ('torch', 'lightning', 'pip') if u.find_spec(m)])"
    assert stack.inside("/opt/translucent/bin/python", "-c", code) == "[]"
    assert "Microsoft" not in stack.inside("find", "/tmp")


def test_its_metrics_are_for_prometheus_alone(stack: Stack) -> None:
    address = f"http://127.0.0.1:{stack.port}/metrics"
    assert httpx.get(address).status_code == 403
    assert httpx.get(address, headers={"Authorization": f"Bearer {METRICS_TOKEN}"}).status_code == 200
    assert "METRICS_TOKEN" not in podman("exec", stack.prometheus, "sh", "-c", "tr '\\0' '\\n' < /proc/1/environ")


def rules_of(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rule for group in groups for rule in group["rules"]]


def test_prometheus_scrapes_it_and_has_our_metrics_and_rules(stack: Stack) -> None:
    stack.translate()
    logs = f"see `podman logs {stack.prometheus}`"
    wait_until(lambda: stack.value('up{job="translucent"}') == 1, 90, lambda: f"up is not 1; {logs}")
    wait_until(
        lambda: stack.value('sum(translucent_http_requests_total{route="/translate"})') > 0,
        60,
        lambda: f"no requests counted; {logs}",
    )
    models = {found["metric"]["model"] for found in stack.query("translucent_model_info")}
    assert models == {path.parent.name for path in ROOT.glob("models/*/manifest.json")}
    wait_until(lambda: bool(stack.ask("rules")["groups"]), 60, lambda: f"no rules; {logs}")
    written = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text("utf-8"))["groups"]
    assert len(rules_of(stack.ask("rules")["groups"])) == len(rules_of(written))

    def wrong() -> list[str]:
        return [rule["name"] for rule in rules_of(stack.ask("rules")["groups"]) if rule["health"] != "ok"]

    wait_until(lambda: not wrong(), 60, lambda: f"rules with errors: {wrong()}")
    podman("exec", stack.prometheus, "promtool", "check", "config", "/etc/prometheus/prometheus.yml")


def test_it_comes_back_when_the_process_is_killed(stack: Stack) -> None:
    """As the kernel does when memory runs out."""
    process = int(stack.state(".State.Pid"))
    restarts = int(stack.state(".RestartCount"))
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: stack.state(".State.Pid") not in {str(process), "0"}, 60, lambda: "it was not restarted")
    stack.wait_until_healthy()
    assert int(stack.state(".RestartCount")) == restarts + 1
    assert "perdu" in stack.translate()
    wait_until(lambda: stack.value('up{job="translucent"}') == 1, 90, lambda: "Prometheus does not find it any more")


def test_it_stops_without_an_error(stack: Stack) -> None:
    podman("stop", "-t", "40", stack.service)
    assert stack.state(".State.ExitCode") == "0"
