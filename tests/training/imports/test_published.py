"""Which models published lists offer, and which of them is chosen."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.training.imports.mirror import record, sha256
from training.imports.catalogue import Folder
from training.imports.files import ImportRefused
from training.imports.get import Offer, Wanted, choose, into, offers, pairs_of
from training.imports.published import read_list

ANDROID, DESKTOP = "env.appinfo.OS == 'Android'", "env.appinfo.OS != 'Android'"
NIGHTLY = "env.channel == 'default' || env.channel == 'nightly'"


def records(pair: str = "en-es", architecture: str = "tiny", **more: Any) -> list[dict[str, Any]]:
    source, target = pair.split("-")
    made = []
    for kind, name in (("model", "model.x.bin"), ("lex", "lex.x.bin"), ("vocab", "vocab.x.spm")):
        content = f"{pair} {architecture} {kind} {more}".encode()
        own = record(kind, name, content, f"main/{sha256(content)[:8]}.zst", (source, target))
        made.append(own | {"architecture": architecture} | more)
    return made


def registry(pair: str, *architectures: str, status: str = "Release", **metrics: float) -> dict[str, Any]:
    source, target = pair.split("-")
    entries = [
        {
            "architecture": architecture,
            "releaseStatus": status,
            "sourceLanguage": source,
            "targetLanguage": target,
            "files": {
                "model": {
                    "path": f"models/{pair}/{architecture}/model.bin.gz",
                    "uncompressedHash": sha256(architecture.encode()),
                },
                "vocab": {"path": f"models/{pair}/{architecture}/vocab.spm.gz"},
            },
            "metrics": {"flores200-plus": {name: score + place for name, score in metrics.items()}},
        }
        for place, architecture in enumerate(architectures)
    ]
    return {"generated": "2026-01-01", "baseUrl": "https://example.org/bucket", "models": {pair: entries}}


def argos(source: str, target: str, version: str = "1.9") -> dict[str, Any]:
    link = f"https://example.org/v1/translate-{source}_{target}-1_9.argosmodel"
    return {"package_version": version, "argos_version": "1.9.0", "from_code": source, "from_name": "…",
            "to_code": target, "to_name": "…", "links": ["ipfs://Qm", link], "code": "…"}  # fmt: skip


def offered(folder: Path, *lists: Any) -> list[Offer]:
    for place, content in enumerate(lists):
        (folder / f"{place}.json").write_text(json.dumps(content))
    return offers([Folder(folder)], lambda line: pytest.fail(line))


CHOICES = {
    "the larger architecture": (
        [*records(architecture="tiny"), *records(architecture="base-memory")], "base-memory 3.0"),
    "desktops have another than Android": (
        [*records(architecture="tiny", filter_expression=ANDROID),
         *records(architecture="base-memory", filter_expression=DESKTOP)], "base-memory 3.0"),
    "what only desktops have": (records(architecture="base", filter_expression=DESKTOP), "base 3.0"),
    "released before nightly": (
        [*records(architecture="base", filter_expression=NIGHTLY), *records(version="2.1")], "tiny 2.1"),
    "nightly if there is nothing else": (records(filter_expression=NIGHTLY), "tiny 3.0 (not released)"),
    "the newer version": ([*records(version="2.1"), *records(version="2.10"), *records(version="2.10a1")], "tiny 2.10"),
    "no major version of the future": ([*records(version="4.0"), *records(version="2.0")], "tiny 2.0"),
    "no variant": ([*records(variant="x"), *records(version="1.0")], "tiny 1.0"),
    "no model without its vocabulary": ([*records(version="2.0"), *records(version="3.0")[:2]], "tiny 2.0"),
    "files of one architecture and version": (
        [*records(architecture="base", version="2.0")[:2], *records(architecture="tiny", version="3.0")], "tiny 3.0"),
}  # fmt: skip


@pytest.mark.parametrize(("listed", "chosen"), CHOICES.values(), ids=CHOICES)
def test_one_model_of_the_records_is_chosen_with_its_own_files(
    listed: list[dict[str, Any]], chosen: str, tmp_path: Path
) -> None:
    (offer,) = choose(offered(tmp_path, {"data": listed}), "en", "es", Wanted(), "en")
    assert str(offer.model) == f"firefox {chosen}"
    one = {(entry["architecture"], entry["version"]) for entry in listed
           if entry["attachment"]["location"] in {file.path for file in offer.model.files}}  # fmt: skip
    assert len(one) == 1
    assert {file.kind for file in offer.model.files} == {"model", "lex", "vocab"}


def test_the_better_score_decides_where_all_state_one(tmp_path: Path) -> None:
    small_is_better = registry("en-es", "base", "tiny", comet22=0.8, bleu=20)
    (offer,) = choose(offered(tmp_path, small_is_better), "en", "es", Wanted(), "en")
    assert (offer.model.architecture, offer.model.scores) == ("tiny", {"COMET": 1.8, "BLEU": 21})
    assert offer.model.weights.base == "https://example.org/bucket/"
    (named,) = choose(offered(tmp_path, small_is_better), "en", "es", Wanted("base"), "en")
    assert named.model.architecture == "base"
    with pytest.raises(
        ImportRefused, match="no such model from en to es is listed; there are: firefox tiny, firefox base"
    ):
        choose(offered(tmp_path, small_is_better), "en", "es", Wanted("huge"), "en")


def test_a_model_of_two_lists_is_one_with_the_scores_of_either(tmp_path: Path) -> None:
    listed, scored = records(), registry("en-es", "tiny", bleu=30)
    scored["models"]["en-es"][0]["files"]["model"]["uncompressedHash"] = listed[0]["decompressedHash"]
    ((offer,),) = pairs_of(offered(tmp_path, {"data": listed}, scored)).values()
    assert (offer.model.version, offer.model.scores) == ("3.0", {"BLEU": 30})


def test_argos_is_chosen_where_firefox_has_nothing_and_its_own_codes_are_known(tmp_path: Path) -> None:
    packages = [argos("en", "es"), argos("en", "zt"), argos("en", "pb", "1.0"), {"type": "sbd", "code": "sbd"}]
    found = offered(tmp_path, {"data": records()}, packages)
    assert choose(found, "en", "es", Wanted(), "en")[0].model.format == "firefox"
    assert choose(found, "en", "es", Wanted(format="argos"), "en")[0].model.format == "argos"
    for asked in ("zt", "zh-Hant", "zh-TW"):
        (offer,) = choose(found, "en", asked, Wanted(), "en")
        assert offer.model.target == "zh-Hant"
    assert choose(found, "en", "pt", Wanted(), "en")[0].model.target == "pt-BR"


def test_a_pair_through_english_is_two_models_and_what_is_not_listed_is_refused(tmp_path: Path) -> None:
    found = offered(tmp_path, {"data": [*records("de-en"), *records("en-es"), *records("fr-en")]})
    legs = choose(found, "de", "es", Wanted(), "en")
    assert [(offer.model.source, offer.model.target) for offer in legs] == [("de", "en"), ("en", "es")]
    with pytest.raises(ImportRefused, match="no model from de to fr is listed, nor both of de-en and en-fr"):
        choose(found, "de", "fr", Wanted(), "en")
    with pytest.raises(ImportRefused, match="no model from de to es is listed; translucent models available"):
        choose(found, "de", "es", Wanted(), None)
    with pytest.raises(ImportRefused, match="no language code"):
        choose(found, "../evil", "es", Wanted(), "en")
    assert [offer.model.source for offer in into(found, "en", Wanted())] == ["de", "fr"]
    with pytest.raises(ImportRefused, match="no model into ja"):
        into(found, "ja", Wanted())


@pytest.mark.parametrize(
    "content",
    [
        {}, [], {"data": []}, {"data": [1, {}, {"attachment": 3}]}, {"models": {"en-es": [{}]}}, [{"links": 3}],
        {"data": [{"attachment": {}, "fileType": [], "version": {}}]}, "text", 3,
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused(content: Any) -> None:
    with pytest.raises(ImportRefused, match="no list of models"):
        read_list(content, "list.json")


@pytest.mark.parametrize("path", ["../x.bin", "/etc/passwd", "a/../../b", "a\\..\\b", "https://elsewhere.example/x"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    listed = records()
    listed[0]["attachment"]["location"] = path
    with pytest.raises(ImportRefused, match="a path below the list's address is needed"):
        read_list({"data": listed}, "list.json")


def test_two_runs_of_a_pair_are_told_apart_by_the_lists_own_paths(tmp_path: Path) -> None:
    """The model alone has a checksum; vocabulary and shortlist of another run have the same names."""
    folder = tmp_path / "downloads"
    content = registry("en-es", "tiny")
    files = content["models"]["en-es"][0]["files"]
    files["model"] |= {"path": "models/en-es/spring/model.bin.gz", "uncompressedHash": sha256(b"spring model")}
    files["vocab"]["path"] = "models/en-es/spring/vocab.spm.gz"
    for run in ("autumn", "spring"):
        place = folder / "models/en-es" / run
        place.mkdir(parents=True)
        (place / "model.bin").write_bytes(f"{run} model".encode())
        (place / "vocab.spm").write_bytes(f"{run} vocab".encode())
    (folder / "models.json").write_text(json.dumps(content))
    assert [path.read_text() for path in found(folder)] == ["spring model", "spring vocab"]
    (folder / "models/en-es/spring/vocab.spm").rename(folder / "vocab.spm")
    said = r"2 files vocab.spm; put the right one where the list has it: models/en-es/spring/vocab"
    with pytest.raises(ImportRefused, match=said):
        found(folder)


def found(folder: Path) -> list[Path]:
    """Return where a folder has the files of its model from English into Spanish."""
    catalogue = Folder(folder)
    (offer,) = choose(offers([catalogue], pytest.fail), "en", "es", Wanted(), None)
    return [catalogue.find(file) for file in offer.model.files]


def downloads(folder: Path, listed: list[dict[str, Any]]) -> None:
    """Write the files of records into a folder, by name, one of them packed; and the list itself."""
    for kind in ("model", "lex", "vocab"):
        content = f"en-es tiny {kind} {{}}".encode()
        (folder / f"{kind}.x.{'spm' if kind == 'vocab' else 'bin'}").write_bytes(content)
    (folder / "lex.x.bin").rename(folder / "plain")
    (folder / "lex.x.bin.gz").write_bytes(gzip.compress((folder / "plain").read_bytes()))
    for entry in listed:
        entry["attachment"]["location"] = f"main/{entry['attachment']['filename']}"
    (folder / "records.json").write_text(json.dumps({"data": listed}))


def test_files_that_lie_elsewhere_are_found_by_name_and_checksum(tmp_path: Path) -> None:
    listed = records()
    for entry in listed:  # as the first version of the records called them
        entry["fromLang"], entry["toLang"] = entry.pop("sourceLanguage"), entry.pop("targetLanguage")
    downloads(tmp_path, listed)
    assert sorted(path.name for path in found(tmp_path)) == ["lex.x.bin.gz", "model.x.bin", "vocab.x.spm"]
    (tmp_path / "vocab.x.spm").write_bytes(b"cut")
    said = "its SHA-256 is not the one of the list; download main/vocab.x.spm.zst again"
    with pytest.raises(ImportRefused, match=said):
        found(tmp_path)
    (tmp_path / "vocab.x.spm").unlink()
    said = "vocab.x.spm is missing; the list has it at main/vocab.x.spm.zst"
    with pytest.raises(ImportRefused, match=said):
        found(tmp_path)
