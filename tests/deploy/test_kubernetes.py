"""The manifests as kustomize renders them, against Kubernetes' own schemas and our settings."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.metrics import Metrics
from service.settings import PREFIX, Settings, variable

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy/kubernetes"
LABEL = {"app.kubernetes.io/name": "translucent"}
OVERLAYS = ["base", "overlays/gpu"]
SCHEMAS = ["1.30", "1.33", "1.37"]  # of Kubernetes: the oldest we claim, one between, and the newest there is

Manifests = dict[str, dict[str, Any]]

pytestmark = pytest.mark.skipif(
    shutil.which("kubectl") is None and shutil.which("kustomize") is None, reason="no kubectl and no kustomize here"
)


def render(folder: Path) -> Manifests:
    command = ["kubectl", "kustomize"] if shutil.which("kubectl") else ["kustomize", "build"]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return {document["kind"]: document for document in yaml.safe_load_all(done.stdout) if document}


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
    assert {"secretRef": {"name": "translucent-secrets", "optional": True}} in container["envFrom"]
    policy = manifests["NetworkPolicy"]["spec"]
    assert policy["egress"] == []
    clients = [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"translucent/client": "true"}}}]
    assert [rule["from"] for rule in policy["ingress"]] == [clients]


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


def test_the_monitoring_component_can_be_added_to_an_overlay(tmp_path: Path) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, folder)
    (folder / "overlays/mine").mkdir()
    (folder / "overlays/mine/kustomization.yaml").write_text(
        "resources: [../../base]\ncomponents: [../../components/monitoring]\n", "utf-8"
    )
    found = render(folder / "overlays/mine")
    monitor = found["ServiceMonitor"]["spec"]
    assert monitor["selector"]["matchLabels"] == LABEL
    credentials = monitor["endpoints"][0]["authorization"]["credentials"]
    assert credentials == {"name": "translucent-secrets", "key": variable("metrics_token")}
    ports = [port["name"] for port in found["Service"]["spec"]["ports"]]
    assert [endpoint["port"] for endpoint in monitor["endpoints"]] == ports
