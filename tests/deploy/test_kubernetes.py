"""The manifests as kustomize renders them, against Kubernetes' own schemas and our settings."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import prometheus_rule
from service.metrics import Metrics
from service.settings import PREFIX, Settings, variable
from tests.support.paths import ROOT

KUBERNETES = ROOT / "deploy/kubernetes"
LABEL = {"app.kubernetes.io/name": "translucent"}
OVERLAYS = ["base", "overlays/gpu"]
SCHEMAS = ["1.30", "1.33", "1.37"]  # of Kubernetes: the oldest we claim, one between, and the newest there is

Manifests = dict[str, dict[str, Any]]

pytestmark = pytest.mark.skipif(
    shutil.which("kubectl") is None and shutil.which("kustomize") is None, reason="no kubectl and no kustomize here"
)


def documents(folder: Path) -> list[dict[str, Any]]:
    command = ["kubectl", "kustomize"] if shutil.which("kubectl") else ["kustomize", "build"]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def render(folder: Path) -> Manifests:
    return {document["kind"]: document for document in documents(folder)}


@pytest.fixture(scope="module", params=OVERLAYS)
def manifests(request: pytest.FixtureRequest) -> Manifests:
    return render(KUBERNETES / request.param)


@pytest.mark.parametrize("version", SCHEMAS)
def test_manifests_meet_the_schemas_strictly(manifests: Manifests, version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate").validate
    assert len(manifests) == 7
    for document in manifests.values():
        validate(document, version, strict=True)


def test_everything_selects_our_pods_and_nothing_else(manifests: Manifests) -> None:
    specs = {kind: document.get("spec", {}) for kind, document in manifests.items()}
    assert specs["Deployment"]["template"]["metadata"]["labels"] == specs["Service"]["selector"] == LABEL
    for kind, selector in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert specs[kind][selector]["matchLabels"] == LABEL
    assert specs["HorizontalPodAutoscaler"]["scaleTargetRef"]["kind"] == "Deployment"
    assert "replicas" not in specs["Deployment"]


def test_settings_are_ours_and_accepted(manifests: Manifests, monkeypatch: pytest.MonkeyPatch) -> None:
    given = manifests["ConfigMap"]["data"]
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    assert set(given) <= known
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert not [name for name in given if name.endswith(("_TOKEN", "_STORAGE"))]  # they are for the Secret
    settings = Settings()
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > pause + settings.drain_delay_seconds + settings.drain_timeout_seconds
    assert pod["enableServiceLinks"] is False  # else TRANSLUCENT_PORT=tcp://…


def test_the_pod_is_locked_down_and_only_some_may_reach_it(manifests: Manifests) -> None:
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    locked = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container["securityContext"] == locked
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp"}
    assert {"secretRef": {"name": "translucent-secrets"}} in container["envFrom"]
    token = {"secretKeyRef": {"name": "translucent-secrets", "key": variable("metrics_token")}}
    assert container["env"] == [{"name": variable("metrics_token"), "valueFrom": token}], "/metrics would be open"
    policy = manifests["NetworkPolicy"]["spec"]
    assert policy["egress"] == []
    label = {"matchLabels": {"translucent/client": "true"}}
    assert [rule["from"] for rule in policy["ingress"]] == [[{"podSelector": label}, {"namespaceSelector": label}]]


def test_replicas_follow_a_metric_that_the_service_shows(manifests: Manifests) -> None:
    metrics = manifests["HorizontalPodAutoscaler"]["spec"]["metrics"]
    name = next(metric["pods"]["metric"]["name"] for metric in metrics if metric["type"] == "Pods")
    assert name in {family.name for family in Metrics().registry.collect()}
    rules = yaml.safe_load((KUBERNETES / "components/monitoring/adapter-rules.yaml").read_text("utf-8"))["rules"]
    assert [rule["name"]["matches"] for rule in rules] == [f"^{name}$"]


def test_the_gpu_overlay_asks_for_a_gpu_and_insists_on_it() -> None:
    found = render(KUBERNETES / "overlays/gpu")
    container = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "translucent:gpu"
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert found["ConfigMap"]["data"]["TRANSLUCENT_DEVICE"] == "cuda"


@pytest.fixture(scope="module")
def with_components(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what an overlay with every component is rendered to."""
    deploy = tmp_path_factory.mktemp("overlay") / "deploy"
    shutil.copytree(ROOT / "deploy", deploy)
    mine = deploy / "kubernetes/overlays/mine"
    mine.mkdir()
    components = [f"../../components/{path.name}" for path in sorted(KUBERNETES.glob("components/*"))]
    content = {"resources": ["../../base"], "components": components}
    (mine / "kustomization.yaml").write_text(yaml.safe_dump(content), "utf-8")
    return documents(mine)


def test_the_monitoring_component_has_scraping_alerts_and_dashboard(with_components: list[dict[str, Any]]) -> None:
    [monitor] = [found for found in with_components if found["kind"] == "ServiceMonitor"]
    [rule] = [found for found in with_components if found["kind"] == "PrometheusRule"]
    assert monitor["spec"]["selector"]["matchLabels"] == LABEL
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["authorization"]["credentials"] == {
        "name": "translucent-secrets",
        "key": variable("metrics_token"),
    }
    [service] = [found for found in with_components if found["kind"] == "Service"]
    assert [endpoint["port"]] == [port["name"] for port in service["spec"]["ports"]]
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text("utf-8"))
    assert prometheus_rule.WRITTEN.read_text("utf-8") == prometheus_rule.prometheus_rule(), (
        "run `python -m deploy.prometheus_rule`"
    )
    [dashboard] = [found for found in with_components if "grafana_dashboard" in found["metadata"].get("labels", {})]
    assert dashboard["data"] == {
        "translucent.json": (ROOT / "deploy/grafana/dashboards/translucent.json").read_text("utf-8")
    }


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_ingress_leads_to_the_service(with_components: list[dict[str, Any]], version: str) -> None:
    [ingress] = [found for found in with_components if found["kind"] == "Ingress"]
    pytest.importorskip("kubernetes_validate").validate(ingress, version, strict=True)
    [service] = [found for found in with_components if found["kind"] == "Service"]
    [rule] = ingress["spec"]["rules"]
    [path] = rule["http"]["paths"]
    backend = path["backend"]["service"]
    assert backend["name"] == service["metadata"]["name"]
    assert backend["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}
    assert ingress["spec"]["tls"][0]["hosts"] == [rule["host"]]
    seconds = int(ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-read-timeout"])
    assert seconds > Settings().request_timeout_seconds
