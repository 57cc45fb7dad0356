"""A folder that names other bundles: it is read only with exactly these members beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.bundle.errors import BundleCorrupt, BundleIncompatible, BundleMissing
from service.bundle.load import check_unchanged, load_bundle, read_bundle
from service.bundle.write import write_manifest
from tests.support.manifests import manifest_document, write_bundle
from tests.support.paths import MODELS

GRAPHS = manifest_document()["graphs"]


def write_ensemble(folder: Path, *members: Path, **changes: Any) -> Path:
    """Write an ensemble of bundles that stand beside it."""
    bundles = [load_bundle(member) for member in members]
    document = {
        "format_version": 4,
        "name": folder.name,
        "version": "1",
        "members": [{"name": each.folder.name, "version": "1", "digest": each.digest} for each in bundles],
        "decoding": {"beam_size": 4, "length_penalty": 1.0},
        "card": {"parameters": 20, "scores": []},
    }
    folder.mkdir()
    write_manifest(folder, document | changes)
    return folder


@pytest.fixture
def members(tmp_path: Path) -> list[Path]:
    other = manifest_document(architecture="bahdanau", limits={"source_tokens": 200, "target_tokens": 300})
    data = [{"name": "own text", "pairs": 5, "licence": "CC0", "credit": "us"}]
    changes = {name: other[name] for name in ("architecture", "limits")} | {"card": other["card"] | {"data": data}}
    return [
        write_bundle(tmp_path / "one", name="one"),
        write_bundle(tmp_path / "two", name="two", **changes),
    ]


def test_shipped_ensembles_are_of_the_shipped_versions() -> None:
    """After a new version of a member: `python -m training ensemble`, as models/README.md says."""
    shipped = sorted(path.parent for path in MODELS.glob("ensemble-*/manifest.json"))
    assert shipped
    for folder in shipped:
        assert all(member.folder.parent == MODELS for member in read_bundle(folder).members)


def test_it_is_read_as_one_model_of_all_its_members(tmp_path: Path, members: list[Path]) -> None:
    bundle = load_bundle(write_ensemble(tmp_path / "both", *members))
    manifest = bundle.manifest
    assert (manifest.name, manifest.architecture, manifest.vocabulary_size) == ("both", "ensemble", 400)
    assert [each.name for each in manifest.members] == ["one", "two"]
    assert (manifest.limits.source_tokens, manifest.limits.target_tokens) == (200, 256)
    assert [array.name for array in manifest.graphs["int8"].memory] == ["cross_key_0", "cross_key_0@1"]
    assert [entry["name"] for entry in manifest.card["data"]] == ["tatoeba", "own text"]
    assert bundle.tokenizer_path == tmp_path / "one" / "tokenizer.json"
    assert manifest.may_be_default


def test_a_member_that_is_missing_is_named(tmp_path: Path, members: list[Path]) -> None:
    folder = write_ensemble(tmp_path / "both", *members)
    members[1].rename(tmp_path / "elsewhere")
    with pytest.raises(BundleMissing, match=r"member two \(version 1\) is missing; put its bundle into .*/two, or rem"):
        read_bundle(folder)


def test_another_version_of_a_member_is_refused_with_both_versions(tmp_path: Path, members: list[Path]) -> None:
    bundle = load_bundle(write_ensemble(tmp_path / "both", *members))
    manifest = json.loads((members[1] / "manifest.json").read_text("utf-8"))
    (members[1] / "manifest.json").write_text(json.dumps(manifest | {"version": "2"}), "utf-8")
    for read in (lambda: read_bundle(bundle.folder), lambda: check_unchanged(bundle)):
        with pytest.raises(BundleIncompatible, match=r"made of two version 1 .* has version 2 .* training ensemble"):
            read()


def test_a_changed_file_of_a_member_is_found(tmp_path: Path, members: list[Path]) -> None:
    folder = write_ensemble(tmp_path / "both", *members)
    (members[1] / "weights.bin").write_bytes(b"other")
    with pytest.raises(BundleCorrupt, match=r"two/weights\.bin.*SHA-256"):
        load_bundle(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 500}, "one and two differ in their vocabulary"),
        ({"special_ids": {"pad": 0, "bos": 2, "eos": 1}}, "differ in their vocabulary"),
        ({"target_language": "de"}, "differ in their languages"),
        ({"graphs": {"fp32": GRAPHS["int8"]}}, "one, two have no precision in common"),
        ({"graphs": {"int8": GRAPHS["int8"] | {"shortlist": "weights.bin"}}}, "some of its members have a shortlist"),
    ],
    ids=["vocabulary", "ends", "languages", "precision", "shortlist"],
)
def test_members_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    members = write_bundle(tmp_path / "one", name="one"), write_bundle(tmp_path / "two", name="two", **changes)
    with pytest.raises(BundleIncompatible, match=message):
        load_bundle(write_ensemble(tmp_path / "both", *members))


def test_another_tokenizer_is_refused(tmp_path: Path) -> None:
    members = [
        write_bundle(tmp_path / "one", name="one"),
        write_bundle(tmp_path / "two", {"tokenizer.json": b"other"}, name="two"),
    ]
    with pytest.raises(BundleIncompatible, match="differ in their tokenizer"):
        load_bundle(write_ensemble(tmp_path / "both", *members))


def test_an_ensemble_of_ensembles_is_refused(tmp_path: Path, members: list[Path]) -> None:
    inner = write_ensemble(tmp_path / "both", *members)
    with pytest.raises(BundleIncompatible, match="both is an ensemble itself"):
        load_bundle(write_ensemble(tmp_path / "more", inner, members[1]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": []}, "members"),
        ({"graphs": GRAPHS}, "graphs"),
        ({"name": "one"}, "different names"),
        ({"confidence": {"version": 1, "intercept": 0, "coefficients": {"luck": 1}}}, "luck"),
    ],
    ids=["no members", "graphs", "name", "signals"],
)
def test_a_manifest_that_contradicts_itself_is_corrupt(
    tmp_path: Path, members: list[Path], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BundleCorrupt, match=message):
        write_ensemble(tmp_path / "both", *members, **changes)
