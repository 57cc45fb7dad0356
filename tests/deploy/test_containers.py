"""The images, compose.yaml and the systemd unit: what they promise on paper; test_compose.py runs them."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.sources import ROOT
from service.settings import Settings
from tests.deploy.stack import IMAGE, missing

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
EXTRAS = ("documents", "import", "tracing")  # of both images
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "python_full_version": "3.13.5"}
REASON = missing(IMAGE)
HARDENING = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]


def stages() -> dict[str, str]:
    """Return the Dockerfile's stages with their instructions, in order."""
    parts = re.split(r"^FROM \S+ AS (\S+)$", DOCKERFILE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_images_are_of_numbered_users_without_torch_and_without_registries() -> None:
    assert "gpu" in stages()
    assert list(stages())[-1] == "cpu", "the default"
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", stages()["runtime"], re.MULTILINE)
    assert not re.search(r"https?://|index-url|\[.*training.*\]", DOCKERFILE)
    installs = re.findall(r"pip .*install (.*)$", DOCKERFILE, re.MULTILINE)
    assert len(installs) == 5
    assert all(line.startswith("--require-hashes ") or line == "--no-deps /wheel/*.whl" for line in installs)


@pytest.mark.parametrize("name", ["cpu", "gpu", "build"])
def test_what_an_image_installs_is_locked_by_hash_to_the_pinned_versions(name: str) -> None:
    """`make locked` writes the files."""
    text = (ROOT / f"deploy/locked/{name}.txt").read_text("utf-8").replace("\\\n", " ")
    assert "://" not in text
    pinned = {canonicalize_name(line.partition("==")[0]): line for line in constraints()}
    locked = set()
    for line in text.splitlines():
        requirement = Requirement(line.partition(" --hash")[0])
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}", line), line
        key = canonicalize_name(requirement.name)
        if requirement.marker is None or requirement.marker.evaluate(LINUX):
            assert pinned[key] == f"{pinned[key].partition('==')[0]}{requirement.specifier}"
            locked.add(key)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lines = project["build-system"]["requires"]
    if name != "build":
        extras = project["project"]["optional-dependencies"]
        lines = [*project["project"]["dependencies"], *(line for each in (name, *EXTRAS) for line in extras[each])]
    assert {canonicalize_name(Requirement(line).name) for line in lines} <= locked, "run `make locked`"


def constraints() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if "==" in line and not line.startswith("#")]


def test_only_what_is_named_is_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE) for word in line.split()}
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} <= copied


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_every_container_is_hardened_bounded_and_comes_back(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert {"mem_limit", "cpus"} <= service.keys()
    assert 256 <= service["pids_limit"] <= 512
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        assert not source.startswith("./") or (ROOT / source).is_dir()
    for port in service["ports"]:
        assert re.match(r"127\.0\.0\.1:|\$\{PUBLISH:-127\.0\.0\.1\}:", port), port
    image = re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", service["image"])
    digest = r":v?\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$"
    assert image.startswith("translucent") or re.search(digest, image), f"{image} is not one image"


def test_no_password_has_a_default_and_nobody_is_let_in_without_one() -> None:
    variables = {name: value for service in SERVICES.values() for name, value in service.get("environment", {}).items()}
    secrets = {name: value for name, value in variables.items() if re.search("PASSWORD|TOKEN", name)}
    assert set(secrets) == {"TRANSLUCENT_METRICS_TOKEN", "METRICS_TOKEN", "GF_SECURITY_ADMIN_PASSWORD"}
    assert all(re.fullmatch(r"\$\{\w+:\?[A-Z][^}]+\}", value) for value in secrets.values())
    assert not [name for name in variables if "ANONYMOUS" in name]


def test_scraping_has_a_network_of_its_own_which_leads_nowhere() -> None:
    networks = {name: set(service["networks"]) for name, service in SERVICES.items()}
    internal = {name for name, options in COMPOSE["networks"].items() if (options or {}).get("internal")}
    assert networks["translucent"] & networks["prometheus"] == internal == {"scraping"}
    assert networks["translucent-gpu"] == networks["translucent"]
    assert not networks["grafana"] & networks["translucent"]


def test_stopping_waits_longer_than_the_drain() -> None:
    seconds = int(SERVICES["translucent"]["stop_grace_period"].removesuffix("s"))
    delay = int(re.findall(r":-(\d+)", SERVICES["translucent"]["environment"]["TRANSLUCENT_DRAIN_DELAY_SECONDS"])[0])
    assert seconds > delay + 30  # the default of TRANSLUCENT_DRAIN_TIMEOUT_SECONDS


@pytest.mark.slow
@pytest.mark.skipif(bool(REASON), reason=REASON)
def test_the_image_needs_no_network() -> None:
    command = ["podman", "run", "--rm", "-i", "--pull", "never", "--network", "none", *HARDENING, IMAGE]
    command += ["translate", "--model", "transformer-en-fr"]
    done = subprocess.run(command, input="I lost.\n", capture_output=True, text=True, timeout=120, check=False)
    assert "perdu" in done.stdout, done.stderr


UNIT = Path(__file__).parents[2] / "deploy/systemd/translucent.service"
MOST_EXPOSURE = 2.0  # of 10


def test_stopping_waits_longer_than_the_drain_and_reload_is_a_signal() -> None:
    text = UNIT.read_text("utf-8")
    seconds = int(re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[0])
    assert seconds > Settings().drain_timeout_seconds
    assert "ExecReload=/bin/kill -HUP $MAINPID" in text


def test_the_unit_cannot_take_the_whole_machine() -> None:
    options = dict(re.findall(r"^(\w+)=(.*)$", UNIT.read_text("utf-8"), re.MULTILINE))
    assert (options["MemoryMax"], options["TasksMax"]) == ("1536M", "512")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_it_hardened() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= MOST_EXPOSURE
