"""A folder of bundles becomes models that serve pairs; what is wrong with a folder is said, not passed over."""

import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.engine.errors import (
    BundleCorrupt,
    BundleIncompatible,
    BundleMissing,
    NotReady,
    UnknownModel,
    UnsupportedLanguage,
    UnsupportedPair,
)
from service.engine.loader import (
    EngineSettings,
    default_engine_processes,
    default_first_rows,
    default_inter_threads,
    default_rows,
    own_cores,
    suiting,
)
from service.engine.model_info import WorkerState
from service.engine.registry import Registry
from service.engine.scheduling.pending import WorkerSettings
from service.engine.scheduling.scheduler import Budget
from service.engine.types import TranslationOptions
from tests.support.manifests import manifest_document, write_bundle
from tests.support.models_folder import WriteModel, model_writer
from tests.support.vocabulary import tokenizer_json


@pytest.fixture
def write_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteModel:
    return model_writer(tmp_path, monkeypatch)


@pytest.fixture
def registry(tmp_path: Path, write_model: WriteModel) -> Registry:
    for name in ("bahdanau-en-fr", "transformer-en-fr", "bahdanau-en-de"):
        write_model(name)
    found = Registry(tmp_path)
    found.load()
    return found


def test_among_models_without_scores_the_name_decides(registry: Registry) -> None:
    assert registry.resolve("en", "fr").name == "bahdanau-en-fr"
    assert registry.resolve("en", "de").name == "bahdanau-en-de"


def bleu(score: float, test_set: str = "tatoeba", precision: str = "int8") -> dict[str, Any]:
    return {"test_set": test_set, "metric": "BLEU", "score": score, "precision": precision}


def card(*scores: dict[str, Any]) -> dict[str, Any]:
    return {**manifest_document()["card"], "scores": list(scores)}


def loaded(folder: Path, **settings: Any) -> Registry:
    registry = Registry(folder, EngineSettings(**settings))
    registry.load()
    return registry


def test_the_model_with_the_best_score_is_the_default_and_a_toy_is_not(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr", card=card(bleu(39.19)))
    write_model("zz-en-fr", architecture="bahdanau", card=card(bleu(40.07)))
    write_model("a-en-fr", architecture="transformer")  # without a score, and first by its name
    registry = loaded(tmp_path)
    assert registry.resolve("en", "fr").name == "zz-en-fr"
    assert registry.resolve("en", "fr", "transformer").name == "transformer-en-fr"
    assert registry.resolve("en", "fr", "a-en-fr").name == "a-en-fr"


def test_a_score_on_a_test_set_of_its_own_does_not_win(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("a-en-fr", architecture="transformer", card=card(bleu(95.0, "toy")))
    write_model("b-en-fr", architecture="transformer", card=card(bleu(15.0, "news"), bleu(39.0)))
    assert loaded(tmp_path).resolve("en", "fr").name == "b-en-fr"
    write_model("c-en-fr", architecture="transformer", card=card(bleu(13.0, "news"), bleu(40.0)))
    # The mean over what both have decides: 27 against 26.5.
    assert loaded(tmp_path).resolve("en", "fr").name == "b-en-fr"
    own = [bleu(14.0, "news.en-fr"), bleu(41.0, "tatoeba.en-fr"), bleu(99.0, "news.de-en"), bleu(0.0, "development/x")]
    write_model("d-en-fr", architecture="transformer", card=card(*own))
    assert loaded(tmp_path).resolve("en", "fr").name == "d-en-fr"


def test_scores_are_compared_on_the_precision_that_runs(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("a-en-fr", architecture="transformer", card=card(bleu(42.0, precision="pytorch"), bleu(38.0)))
    # What is measured twice counts as it was first.
    write_model("b-en-fr", architecture="transformer", card=card(bleu(39.0), bleu(12.0)))
    assert loaded(tmp_path).resolve("en", "fr").name == "b-en-fr"


def test_the_operator_names_the_default(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr", card=card(bleu(39.19)))
    write_model("bahdanau-en-fr", card=card(bleu(40.07)))
    registry = loaded(tmp_path, default_models=("transformer-en-fr",))
    assert registry.resolve("en", "fr").name == "transformer-en-fr"
    with pytest.raises(BundleMissing, match="no bundle named tranformer-en-fr"):
        loaded(tmp_path, default_models=("tranformer-en-fr",))


def test_a_model_is_chosen_by_its_name_or_its_architecture(registry: Registry) -> None:
    assert registry.resolve("en", "fr", "bahdanau").name == "bahdanau-en-fr"
    assert registry.resolve("en", "fr", "bahdanau-en-fr").name == "bahdanau-en-fr"
    assert registry.resolve("en", "fr", "").name == "bahdanau-en-fr"
    assert registry.resolve("en", "fr", "transformer").name == "transformer-en-fr"


@pytest.fixture
def gallery(tmp_path: Path, registry: Registry, write_model: WriteModel) -> Path:
    """Return the folder of the registry, with models for teaching in its gallery."""
    write_model("transformer-en-es")
    (tmp_path / "gallery").mkdir()
    for name in ("bahdanau-en-fr", "transformer-en-es"):
        copy = tmp_path / "gallery" / f"small-{name}"
        shutil.copytree(tmp_path / name, copy)
        manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
        (copy / "manifest.json").write_text(json.dumps(manifest | {"name": copy.name}), "utf-8")
    shutil.rmtree(tmp_path / "transformer-en-es")
    return tmp_path


def test_the_gallery_is_served_only_if_it_is_wanted(gallery: Path) -> None:
    assert all(not info.gallery for info in loaded(gallery).models())
    served = loaded(gallery, gallery=True)
    assert [info.name for info in served.models() if info.gallery] == [
        "small-bahdanau-en-fr",
        "small-transformer-en-es",
    ]


def test_a_model_of_the_gallery_translates_only_if_it_is_named(gallery: Path) -> None:
    served = loaded(gallery, gallery=True)
    assert served.resolve("en", "fr").name == "bahdanau-en-fr"
    assert served.resolve("en", "fr", "bahdanau").name == "bahdanau-en-fr"
    assert served.resolve("en", "fr", "small-bahdanau-en-fr").name == "small-bahdanau-en-fr"
    assert served.resolve("en", "es", "small-transformer-en-es").info.gallery
    with pytest.raises(UnsupportedPair, match="Only models of the gallery translate from en to es: small-transformer"):
        served.resolve("en", "es")
    with pytest.raises(UnknownModel):
        served.resolve("en", "es", "transformer")


async def test_the_gallery_is_looked_through_again_with_the_folder(gallery: Path) -> None:
    served = loaded(gallery, gallery=True)
    shutil.rmtree(gallery / "gallery" / "small-bahdanau-en-fr")
    outcomes = {change.name: change.outcome for change in await served.reload()}
    assert outcomes["small-transformer-en-es"] == "unchanged"
    assert outcomes["small-bahdanau-en-fr"] == "missing"


def test_what_no_model_serves_is_told_apart(registry: Registry) -> None:
    with pytest.raises(UnsupportedLanguage, match=r"^zz is not supported$"):
        registry.resolve("en", "zz")
    with pytest.raises(UnsupportedLanguage, match=r"^xx is not supported$"):
        registry.resolve("xx", "fr")
    with pytest.raises(UnsupportedPair, match="from fr to en"):
        registry.resolve("fr", "en")
    with pytest.raises(UnknownModel, match=r"'lstm' from en to fr; available: bahdanau, bahdanau-en-fr, transformer"):
        registry.resolve("en", "fr", "lstm")
    with pytest.raises(UnknownModel):
        registry.resolve("en", "fr", "bahdanau-en-de")


def test_models_and_languages_are_listed(registry: Registry) -> None:
    assert [info.name for info in registry.models()] == ["bahdanau-en-de", "bahdanau-en-fr", "transformer-en-fr"]
    assert registry.languages().targets == {"de": ("de",), "en": ("de", "en", "fr"), "fr": ("fr",)}
    info = registry.models()[2]
    assert (info.precision, info.device, info.provider) == ("int8", "cpu", "CPUExecutionProvider")
    assert info.digest.startswith("sha256:")


async def test_it_is_ready_between_start_and_stop(registry: Registry) -> None:
    await registry.start()
    assert (registry.ready, registry.dead) == (True, False)
    [translation] = await registry.resolve("en", "fr").translate(["I lost. He's calm.\n"])
    assert translation.text == "I lost. He's calm.\n"
    await registry.stop(1.0)
    assert (registry.ready, registry.dead) == (False, False)
    with pytest.raises(NotReady):
        await registry.resolve("en", "fr").translate(["I lost."])


async def test_a_model_that_fails_leaves_the_others_ready(registry: Registry) -> None:
    assert {each.state for each in registry.states()} == {"starting"}
    await registry.start()
    assert [(each.name, each.state) for each in registry.states()] == [
        ("bahdanau-en-de", "ready"),
        ("bahdanau-en-fr", "ready"),
        ("transformer-en-fr", "ready"),
    ]
    first, second, third = (translator._worker for translator in registry.translators)  # type: ignore[union-attr]
    first._table._state = WorkerState.DEAD  # type: ignore[union-attr]
    states = {each.name: each.state for each in registry.states()}
    assert states["bahdanau-en-de"] == "failed"
    assert states["transformer-en-fr"] == "ready"
    assert (registry.ready, registry.dead, registry.stalled) == (True, False, False)
    third._table._state = second._table._state = WorkerState.DEAD  # type: ignore[union-attr]
    assert (registry.ready, registry.dead) == (False, True)
    await registry.stop(0.0)


async def test_starting_loads_what_is_not_loaded(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr")
    registry = Registry(tmp_path, EngineSettings(wrap_tokens=16))
    assert (registry.ready, registry.models()) == (False, [])
    await registry.start()
    assert len(registry.models()) == 1
    await registry.stop(0.0)


@pytest.mark.parametrize(("decoding", "parts"), [({}, 1), ({"wrap_tokens": 16}, 3)])
async def test_a_manifest_says_which_sentences_are_translated_in_parts(
    decoding: dict[str, int], parts: int, tmp_path: Path, write_model: WriteModel
) -> None:
    write_model("transformer-en-fr", decoding={"beam_size": 1, "length_penalty": 1.0, **decoding})
    registry = Registry(tmp_path)
    await registry.start()
    text = "abc, abc, abc, abc, abc, abc, abc, abc."
    [translation] = await registry.resolve("en", "fr").translate([text], TranslationOptions(beam_size=1, details=True))
    assert len(translation.sentences) == parts
    await registry.stop(0.0)


def test_two_threads_decode_where_there_are_cores_for_them() -> None:
    assert [default_inter_threads("cpu", cores) for cores in (1, 2, 4, 64)] == [1, 2, 2, 2]
    assert default_inter_threads("cuda", 64) == 1
    assert [default_first_rows("cpu", cores) for cores in (1, 2, 3, 4, 64)] == [48, 48, 48, 0, 0]
    assert default_first_rows("cuda", 2) == 0


def test_rows_are_few_where_two_threads_share_two_cores() -> None:
    assert [default_rows("cpu", cores) for cores in (1, 2, 3, 4, 64)] == [160, 96, 96, 160, 160]
    assert default_rows("cuda", 2) == 160


def test_settings_that_leave_the_choice_get_what_suits_the_device() -> None:
    free = WorkerSettings(Budget(rows=0))
    assert _chosen(free, "cpu", 2) == (96, 2, 48)
    assert _chosen(free, "cuda", 2) == (160, 1, 0)
    assert _chosen(replace(free, inter_threads=32), "cpu", 2) == (256, 32, 48)  # the widest beam fits in each
    assert _chosen(WorkerSettings(Budget(rows=8)), "cpu", 2) == (8, 1, 48)
    assert _chosen(WorkerSettings(Budget(rows=64), inter_threads=1), "cpu", 8) == (64, 1, 0)


def _chosen(settings: WorkerSettings, device: str, cores: int) -> tuple[int, int, int]:
    """Return rows, decode threads and the rows that the first of them gets before the others."""
    found = suiting(settings, device, cores)
    return found.budget.rows, found.inter_threads, found.first_rows


def test_there_is_an_engine_process_for_every_four_cores() -> None:
    assert [default_engine_processes("cpu", cores) for cores in (1, 2, 4, 7, 8, 16, 64)] == [1, 1, 1, 1, 2, 4, 8]
    assert [default_engine_processes("cuda", 64, gpus) for gpus in (0, 1, 4)] == [1, 1, 4]


@pytest.mark.parametrize(("quota", "expected"), [("150000 100000", 2), ("20000 100000", 1), ("max 100000", 64)])
def test_the_limit_of_a_container_counts_as_cores(
    quota: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: range(64), raising=False)
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert own_cores(tmp_path / "cpu.max") == expected


def test_folders_that_are_no_bundles_are_ignored_with_a_warning(
    tmp_path: Path, write_model: WriteModel, caplog: pytest.LogCaptureFixture
) -> None:
    write_model("transformer-en-fr")
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("models")
    registry = Registry(tmp_path)
    with caplog.at_level(logging.WARNING):
        registry.load()
    assert [info.name for info in registry.models()] == ["transformer-en-fr"]
    assert [record.getMessage() for record in caplog.records if "notes" in record.getMessage()]
    assert "README" not in caplog.text


def test_one_corrupt_bundle_refuses_to_load_and_says_which(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr")
    (write_model("bahdanau-en-fr") / "weights.bin").write_bytes(b"damaged")
    registry = Registry(tmp_path)
    with pytest.raises(BundleCorrupt, match=r"bahdanau-en-fr.weights\.bin"):
        registry.load()
    assert registry.models() == []


def test_no_folder_and_no_bundle_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleMissing, match="no such folder"):
        Registry(tmp_path / "nowhere").load()
    with pytest.raises(BundleMissing, match="no bundle in it"):
        Registry(tmp_path).load()


def test_two_bundles_of_one_name_are_refused(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr")
    write_model("transformer-en-de", name="transformer-en-fr")
    with pytest.raises(BundleIncompatible, match="both named transformer-en-fr"):
        Registry(tmp_path).load()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"{}", BundleCorrupt, "cannot be read as a tokenizer"),
        (tokenizer_json().replace("<0x41>", "<0xZZ>").encode(), BundleIncompatible, "1 of the 256 byte tokens"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_refused(
    tmp_path: Path, write_model: WriteModel, content: bytes, error: type[Exception], message: str
) -> None:
    write_bundle(tmp_path / "m", {"tokenizer.json": content})
    with pytest.raises(error, match=message):
        Registry(tmp_path).load()


def test_a_vocabulary_larger_than_the_models_is_refused(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr", vocabulary_size=300)
    with pytest.raises(BundleIncompatible, match="vocabulary_size is 300"):
        Registry(tmp_path).load()


SEVERAL = {"format_version": 2, "source_languages": ["de", "fr"]}


async def test_a_model_of_several_source_languages_serves_each_pair_with_one_worker(
    tmp_path: Path, write_model: WriteModel
) -> None:
    write_model("transformer-de-en", **SEVERAL)
    write_model("bahdanau-fr-en", card=card(bleu(30.0)))
    registry = Registry(tmp_path)
    await registry.start()
    assert dict(registry.languages().targets) == {"de": ("de", "en"), "en": ("en",), "fr": ("en", "fr")}
    german = registry.resolve("de", "en")
    french = registry.resolve("fr", "en", "transformer")
    assert (german.name, french.name) == ("transformer-de-en", "transformer-de-en")
    assert (german.info.source_language, french.info.source_language) == ("de", "fr")
    assert registry.resolve("fr", "en").name == "bahdanau-fr-en"  # measured, the other is not
    assert german.ready
    assert french.ready
    for translator in (german, french):
        [translation] = await translator.translate(["ab. ba."], TranslationOptions(beam_size=1))
        assert translation.text == "ab. ba."
    with pytest.raises(UnsupportedPair):
        registry.resolve("de", "fr")
    await registry.stop(drain=1.0)
    assert not french.ready


async def test_a_request_for_one_source_language_outlives_an_exchange(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-de-en", **SEVERAL)
    registry = Registry(tmp_path)
    await registry.start()
    french = registry.resolve("fr", "en")
    shutil.rmtree(tmp_path / "transformer-de-en")
    write_model("transformer-de-en", version="2", source_language="de", target_language="en")
    changes = await registry.reload()
    assert [change.outcome for change in changes] == ["replaced"]
    [translation] = await french.translate(["ab."], TranslationOptions(beam_size=1))  # by the worker of version 1
    assert translation.text == "ab."
    with pytest.raises(UnsupportedLanguage):
        registry.resolve("fr", "en")
    await registry.stop(drain=1.0)
