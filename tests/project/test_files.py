"""The project's own files agree: versions, pinned dependencies, pages and code."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import service
import training
from docs.tools import generate
from service.settings import Settings, settings_table
from tests.support.paths import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
SHOWN = ("docs", "service", "training", "translucent_mt", "deploy")  # what readers and users see
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def constraints() -> dict[str, str]:
    """Return the pinned versions; a line that is no exact version, an address for example, fails the test."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()[1:]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9_.]*", line) for line in lines)
    pinned = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): next(iter(one.specifier)).version for one in pinned}


def test_one_version_everywhere() -> None:
    assert PROJECT["version"] == service.__version__ == training.__version__
    assert f"## [{service.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize("extra", ["", "cpu", "gpu", "documents", "mcp", "training", "docs", "dev"])
def test_what_make_installs_is_pinned_to_a_version_that_is_accepted(extra: str) -> None:
    pinned = constraints()
    for line in EXTRAS[extra] if extra else PROJECT["dependencies"]:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        assert requirement.specifier.contains(pinned[name]), f"{line} is not met by {name}=={pinned[name]}"


def test_serving_needs_no_torch_and_only_one_of_the_two_runtimes() -> None:
    names = {extra: {canonicalize_name(Requirement(line).name) for line in lines} for extra, lines in EXTRAS.items()}
    base = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    runtimes = {"onnxruntime", "onnxruntime-gpu"}
    assert not base & (runtimes | {"torch", "lightning"})
    assert {extra: found & runtimes for extra, found in names.items() if found & runtimes} == {
        "cpu": {"onnxruntime"},
        "gpu": {"onnxruntime-gpu"},
    }


def keys_of(schema: dict[str, Any]) -> Iterator[str]:
    """Every property that a schema names, at any depth."""
    for word, value in schema.items():
        if word == "properties":
            yield from value
        if isinstance(value, dict):
            yield from keys_of(value)


def test_every_key_of_the_manifest_is_explained() -> None:
    schema = json.loads((ROOT / "service/bundle/manifest.schema.json").read_text("utf-8"))
    page = (ROOT / "docs/bundle.md").read_text("utf-8")
    words = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert sorted(set(keys_of(schema)) - words) == []


def test_nothing_installs_the_package_by_a_name_that_a_stranger_could_register() -> None:
    files = [path for folder in SHOWN for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".py", ".ipynb"}]
    files += [*ROOT.glob("*.md"), ROOT / "service/api/examples.json", ROOT / "Dockerfile", ROOT / "Makefile"]
    named = re.compile(rf"pip3? (?:install|download|wheel)[^\n]*(?<![\w./-]){PROJECT['name']}\b")
    assert len(files) > 400
    assert [str(path) for path in files if named.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("path", generate.PAGES, ids=lambda path: path.name)
def test_the_generated_tables_are_up_to_date(path: Path) -> None:
    page = path.read_text("utf-8")
    assert page == generate.filled(page), "run `make docs`"


def test_the_table_of_settings_is_in_its_page() -> None:
    assert settings_table() in (ROOT / "docs/settings.md").read_text("utf-8")


def test_pages_name_only_settings_that_there_are() -> None:
    settings = {f"TRANSLUCENT_{name.upper()}" for name in Settings.model_fields} | {"TRANSLUCENT_API_KEY"}  # of mcp
    pages = (page.read_text("utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    named = {name for page in pages for name in re.findall(r"TRANSLUCENT_[A-Z_]*[A-Z]", page)}
    assert sorted(name for name in named - settings if name.removesuffix("_FILE") not in settings) == []


@pytest.mark.parametrize("page", ["models/README.md", *(str(path.relative_to(ROOT)) for path in PAGES)])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (ROOT / page).parent.joinpath(link).exists()] == []
