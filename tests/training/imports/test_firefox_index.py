"""A downloaded list of Firefox's models says which files belong to a pair."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from training.imports.files import ImportRefused
from training.imports.firefox_index import indexed_folder

NAMES = ("model.enes.intgemm.alphas.bin", "lex.50.50.enes.s2t.bin", "vocab.enes.spm")
KINDS = ("model", "lexicalShortlist", "vocab")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def registry(status: str = "Release") -> dict[str, Any]:
    files = {
        kind: {"path": f"models/en-es/x/{name}.gz", "uncompressedHash": sha256(name.encode())}
        for kind, name in zip(KINDS, NAMES, strict=True)
    }
    old = {"releaseStatus": "Nightly", "files": {"model": {"path": "models/en-es/old/model.enes.bin.gz"}}}
    return {"baseUrl": "…", "models": {"en-es": [old, {"releaseStatus": status, "files": files}], "xx-en": []}}


def records() -> dict[str, Any]:
    def record(kind: str, name: str, version: str, **more: Any) -> dict[str, Any]:
        attachment = {"filename": f"{name}.zst", "location": f"main/{version}/{name}.zst"}
        languages = {"sourceLanguage": "en", "targetLanguage": "es", "filter_expression": ""}
        own = {"fileType": kind, "version": version, "decompressedHash": sha256(name.encode())}
        return {**languages, **own, "attachment": attachment, **more}

    newest = [record(kind, name, "10.0") for kind, name in zip(("model", "lex", "vocab"), NAMES, strict=True)]
    return {"data": [record("model", "model.old.bin", "9.9"), *newest,
                     record("model", "model.android.bin", "11.0", filter_expression="env.channel == 'x'")]}  # fmt: skip


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    """Return a folder of downloads, packed and unpacked, among files of another pair."""
    folder = tmp_path / "downloads"
    (folder / "more").mkdir(parents=True)
    (folder / NAMES[0]).write_bytes(NAMES[0].encode())
    (folder / "more" / f"{NAMES[1]}.gz").write_bytes(gzip.compress(NAMES[1].encode()))
    (folder / NAMES[2]).write_bytes(NAMES[2].encode())
    (folder / "model.esen.intgemm.alphas.bin").write_bytes(b"another pair")
    return folder


def chosen(downloads: Path, content: dict[str, Any], target: str = "es") -> list[str]:
    index = downloads.parent / "models.json"
    index.write_text(json.dumps(content))
    with indexed_folder(downloads, index, "en", target) as folder:
        assert all(path.read_bytes() for path in folder.iterdir())
        return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", [registry(), records()], ids=["registry", "records"])
def test_the_released_files_of_the_pair_are_taken(downloads: Path, content: dict[str, Any]) -> None:
    assert chosen(downloads, content) == sorted([NAMES[0], f"{NAMES[1]}.gz", NAMES[2]])


def test_the_first_version_of_the_records_has_other_names(downloads: Path) -> None:
    content = records()
    for record in content["data"]:
        record["fromLang"], record["toLang"] = record.pop("sourceLanguage"), record.pop("targetLanguage")
    assert len(chosen(downloads, content)) == 3


def test_what_does_not_fit_is_refused_by_name(downloads: Path) -> None:
    with pytest.raises(ImportRefused, match=r"no model for en-fr; it has en-es$"):
        chosen(downloads, registry(), "fr")
    with pytest.raises(ImportRefused, match="no list of Firefox's models"):
        chosen(downloads, {"other": 1})
    (downloads / NAMES[2]).write_bytes(b"cut")
    with pytest.raises(ImportRefused, match=r"its SHA-256 is not the one of the list; download models/en-es"):
        chosen(downloads, registry())
    (downloads / NAMES[2]).rename(downloads / f"{NAMES[2]}.zst")
    with pytest.raises(ImportRefused, match="zstd -d"):
        chosen(downloads, registry())
    (downloads / f"{NAMES[2]}.zst").unlink()
    with pytest.raises(ImportRefused, match=r"vocab.enes.spm is missing; the list has it at main/10.0/vocab"):
        chosen(downloads, records())
    outside = registry()
    outside["models"]["en-es"][1]["files"]["model"]["path"] = "../../outside/model.enes.bin"
    with pytest.raises(ImportRefused, match=r"model.enes.bin is missing"):
        chosen(downloads, outside)
