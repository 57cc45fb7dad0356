"""A bundle is read only when it is whole; what is wrong is said with the file and the place."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from service.bundle.load import is_bundle, load_bundle
from service.bundle.manifest_checks import check_manifest
from service.engine.errors import BundleCorrupt, BundleIncompatible, BundleMissing
from tests.support.manifests import FILE_NAMES, manifest_document, write_bundle


def test_a_whole_bundle_is_read_with_its_digest(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "m")
    bundle = load_bundle(folder)
    assert bundle.manifest.name == "transformer-en-fr"
    assert bundle.manifest.limits.source_tokens == 256
    assert bundle.manifest.graphs["int8"].state[0].axes == ("N", 4, "T", 64)
    assert bundle.manifest.graphs["int8"].state[0].kind == "cache"
    assert bundle.manifest.graphs["int8"].memory[0].kind == "memory"
    assert bundle.manifest.attention.encoder is not None
    assert bundle.manifest.attention.align.step == "produce"
    assert bundle.digest == "sha256:" + hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert bundle.tokenizer_path.read_bytes() == b"tokenizer.json"


def test_only_a_folder_with_a_manifest_means_to_be_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert not is_bundle(tmp_path / "notes")
    assert is_bundle(write_bundle(tmp_path / "m"))


def test_missing_folder_manifest_and_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BundleMissing, match="no such folder"):
        load_bundle(tmp_path / "nowhere")
    with pytest.raises(BundleMissing, match=r"no manifest\.json"):
        load_bundle(tmp_path)
    folder = write_bundle(tmp_path / "m")
    (folder / "weights.bin").unlink()
    with pytest.raises(BundleMissing, match=r"weights\.bin"):
        load_bundle(folder)


@pytest.mark.parametrize("name", FILE_NAMES)
def test_one_changed_byte_in_any_file_is_found(tmp_path: Path, name: str) -> None:
    folder = write_bundle(tmp_path / "m")
    content = bytearray((folder / name).read_bytes())
    content[0] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(BundleCorrupt, match=f"{name}.*SHA-256"):
        load_bundle(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000], ids=["empty", "cut", "bytes", "deep"])
def test_a_manifest_that_is_no_json_is_corrupt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(BundleCorrupt, match="cannot be read as JSON"):
        load_bundle(tmp_path)


def test_another_format_version_is_incompatible_not_corrupt(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "m", format_version=3)
    with pytest.raises(BundleIncompatible, match=r"format_version is 3; this .* reads 4. Export the model again with"):
        load_bundle(folder)


ATTENTION = manifest_document()["attention"]
ALIGNED_BY_NO_LAYER = {**ATTENTION, "align": {**ATTENTION["align"], "layer": 2}}
STATE = {"name": "h", "dtype": "float32"}


def graphs_with(**changes: Any) -> dict[str, Any]:
    return {"int8": manifest_document()["graphs"]["int8"] | changes}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"name": "../evil"}, "name"),
        ({"architecture": "mamba"}, "architecture"),
        ({"source_languages": ["English"]}, "source_languages"),
        ({"files": {"tokenizer.json": "0" * 64, "../../etc/passwd": "0" * 64}}, "passwd"),
        ({"files": {"tokenizer.json": "short"}}, "files"),
        ({"graphs": {}}, "graphs"),
        ({"graphs": {"int4": {}}}, "int4"),
        ({"graphs": graphs_with(encoder="other.onnx")}, "other.onnx is not listed"),
        ({"graphs": graphs_with(state=[{**STATE, "axes": ["N", 8], "kind": "cache"}])}, "axes"),
        ({"graphs": graphs_with(state=[{**STATE, "axes": ["N", "T"], "kind": "fixed"}])}, "axes"),
        ({"special_ids": {"pad": 0, "bos": 0, "eos": 2}}, "must differ"),
        ({"special_ids": {"pad": 0, "bos": 1, "eos": 4000}}, "outside vocabulary_size"),
        ({"card": {}}, "card"),
        ({"surprise": 1}, "surprise"),
        ({"attention": ALIGNED_BY_NO_LAYER}, "no such layer or head"),
        ({"source_languages": []}, "source_languages"),
        ({"source_languages": ["de", "de"]}, "source_languages"),
        ({"source_languages": ["de"], "source_language": "de"}, "source_language"),
    ],
)
def test_a_manifest_against_the_format_names_the_place(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(BundleCorrupt) as caught:
        check_manifest(manifest_document(**changes))
    assert place in caught.value.message


@pytest.mark.parametrize("document", [None, [], "x", 1, {}])
def test_documents_of_the_wrong_shape_are_corrupt(document: object) -> None:
    with pytest.raises(BundleCorrupt):
        check_manifest(document)


def test_both_versions_name_their_source_languages(tmp_path: Path) -> None:
    one = load_bundle(write_bundle(tmp_path / "one"))
    two = load_bundle(write_bundle(tmp_path / "two", source_languages=["de", "fr"]))
    assert one.manifest.source_languages == ("en",)
    assert two.manifest.source_languages == ("de", "fr")
    assert two.manifest.source_language == "de"
