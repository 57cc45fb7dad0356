"""A folder of bundles becomes models that serve pairs; what is wrong with a folder is said, not passed over."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.engine.cores import own_cores
from service.engine.errors import (
    BundleCorrupt,
    BundleIncompatible,
    BundleMissing,
    NotReady,
    UnknownModel,
    UnsupportedPair,
)
from service.engine.loader import (
    EngineSettings,
    default_engine_processes,
    worker_settings_for,
)
from service.engine.registry import Registry
from service.engine.scheduling.pending import Budget, WorkerSettings
from service.engine.types import TranslationOptions
from tests.support.manifests import manifest_document, write_bundle
from tests.support.models_folder import WriteModel
from tests.support.vocabulary import tokenizer_json


@pytest.fixture
def registry(tmp_path: Path, write_model: WriteModel) -> Registry:
    for name in ("bahdanau-en-fr", "transformer-en-fr", "bahdanau-en-de"):
        write_model(name)
    return loaded(tmp_path)


def loaded(folder: Path, **settings: Any) -> Registry:
    registry = Registry(folder, EngineSettings(**settings))
    registry.load()
    return registry


def card(score: float) -> dict[str, Any]:
    scores = [{"test_set": "tatoeba", "metric": "BLEU", "score": score, "precision": "int8"}]
    return {**manifest_document()["card"], "scores": scores}


def test_the_operator_names_the_default(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr", card=card(39.19))
    write_model("bahdanau-en-fr", card=card(40.07))
    assert loaded(tmp_path, default_models=("transformer-en-fr",)).resolve("en", "fr").name == "transformer-en-fr"
    with pytest.raises(BundleMissing, match="no bundle named tranformer-en-fr"):
        loaded(tmp_path, default_models=("tranformer-en-fr",))


async def test_the_gallery_is_served_if_it_is_wanted_and_translates_only_if_it_is_named(
    tmp_path: Path, registry: Registry, write_model: WriteModel
) -> None:
    names = ["small-bahdanau-en-fr", "small-transformer-en-es"]
    for name in names:
        _, architecture, source, target = name.split("-")
        write_model(f"gallery/{architecture}-{source}-{target}", name=name, architecture=architecture)
    assert not any(info.gallery for info in loaded(tmp_path).models())
    served = loaded(tmp_path, gallery=True)
    assert [info.name for info in served.models() if info.gallery] == names
    assert served.resolve("en", "fr").name == "bahdanau-en-fr"
    assert served.resolve("en", "fr", "bahdanau").name == "bahdanau-en-fr"
    assert [served.resolve("en", name[-2:], name).name for name in names] == names
    with pytest.raises(UnsupportedPair, match="Only models of the gallery translate from en to es: small-transformer"):
        served.resolve("en", "es")
    with pytest.raises(UnknownModel):
        served.resolve("en", "es", "transformer")
    shutil.rmtree(tmp_path / "gallery" / "bahdanau-en-fr")
    outcomes = {change.name: change.outcome for change in await served.reload()}
    assert [outcomes[name] for name in names] == ["missing", "unchanged"]


def test_models_and_languages_are_listed(registry: Registry) -> None:
    assert [info.name for info in registry.models()] == ["bahdanau-en-de", "bahdanau-en-fr", "transformer-en-fr"]
    assert registry.languages().targets == {"de": ("de",), "en": ("de", "en", "fr"), "fr": ("fr",)}
    info = registry.models()[2]
    assert [state.state for state in registry.states()] == ["starting"] * 3
    assert (info.precision, info.device, info.provider) == ("int8", "cpu", "CPUExecutionProvider")
    assert info.digest.startswith("sha256:")


async def test_it_is_ready_between_start_and_stop(tmp_path: Path, write_model: WriteModel) -> None:
    write_model("transformer-en-fr")
    registry = Registry(tmp_path)
    assert (registry.ready, registry.models()) == (False, [])
    await registry.start()  # loads what is not loaded
    assert (registry.ready, registry.dead) == (True, False)
    [translation] = await registry.resolve("en", "fr").translate(["I lost. He's calm.\n"])
    assert translation.text == "I lost. He's calm.\n"
    await registry.stop(1.0)
    assert (registry.ready, registry.dead) == (False, False)
    with pytest.raises(NotReady):
        await registry.resolve("en", "fr").translate(["I lost."])


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


FREE = WorkerSettings(Budget(rows=0))


@pytest.mark.parametrize(
    ("settings", "device", "cores", "chosen"),
    [
        *((FREE, "cpu", cores, chosen) for cores, chosen in ((1, (160, 16, 1, True)), (3, (256, 16, 2, True)))),
        *((FREE, "cpu", cores, (256, 16, 2, False)) for cores in (4, 64)),
        (FREE, "cuda", 2, (160, 160, 1, False)),
        (EngineSettings().worker, "cpu", 2, (256, 16, 2, True)),
        (replace(FREE, inter_threads=32), "cpu", 2, (4096, 16, 32, True)),
        (WorkerSettings(Budget(rows=8)), "cpu", 2, (8, 8, 1, False)),
        (WorkerSettings(Budget(rows=64), inter_threads=1), "cpu", 8, (64, 64, 1, False)),
    ],
)
def test_settings_that_leave_the_choice_get_what_suits_the_device(
    settings: WorkerSettings, device: str, cores: int, chosen: tuple[int, int, int, bool]
) -> None:
    found = worker_settings_for(settings, device, cores)
    assert (found.budget.rows, found.budget.sentences, found.inter_threads, found.fill_first) == chosen


def test_there_is_an_engine_process_for_every_four_cores() -> None:
    assert [default_engine_processes("cpu", cores) for cores in (1, 7, 8, 64)] == [1, 1, 2, 8]
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
    with caplog.at_level(logging.WARNING):
        registry = loaded(tmp_path)
    assert [info.name for info in registry.models()] == ["transformer-en-fr"]
    assert [record.getMessage() for record in caplog.records if "notes" in record.getMessage()]
    assert "README" not in caplog.text


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path, write_model: WriteModel) -> None:
    with pytest.raises(BundleMissing, match="no such folder"):
        loaded(tmp_path / "nowhere")
    with pytest.raises(BundleMissing, match=r"no model bundle in it, .* An installed package has no models"):
        loaded(tmp_path)
    write_model("transformer-en-fr")
    write_model("bahdanau-en-fr", name="transformer-en-fr")
    with pytest.raises(BundleIncompatible, match="both named transformer-en-fr"):
        loaded(tmp_path)
    (write_model("bahdanau-en-fr") / "weights.bin").write_bytes(b"damaged")
    registry = Registry(tmp_path)
    with pytest.raises(BundleCorrupt, match=r"bahdanau-en-fr.weights\.bin"):
        registry.load()
    assert registry.models() == []


@pytest.mark.parametrize(
    ("tokenizer", "vocabulary_size", "error", "message"),
    [
        ("{}", 400, BundleCorrupt, "cannot be read as a tokenizer"),
        (tokenizer_json().replace("<0x41>", "<0xZZ>"), 400, BundleIncompatible, "1 of the 256 byte tokens"),
        (tokenizer_json(), 300, BundleIncompatible, "vocabulary_size is 300"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_refused(
    tmp_path: Path, write_model: WriteModel, tokenizer: str, vocabulary_size: int, error: type[Exception], message: str
) -> None:
    write_bundle(tmp_path / "m", {"tokenizer.json": tokenizer.encode()}, vocabulary_size=vocabulary_size)
    with pytest.raises(error, match=message):
        loaded(tmp_path)


SEVERAL = {"source_languages": ["de", "fr"]}


async def test_a_model_of_several_source_languages_serves_each_pair_with_one_worker(
    tmp_path: Path, write_model: WriteModel
) -> None:
    write_model("transformer-de-en", **SEVERAL)
    write_model("bahdanau-fr-en", card=card(30.0))
    registry = Registry(tmp_path)
    await registry.start()
    assert dict(registry.languages().targets) == {"de": ("de", "en"), "en": ("en",), "fr": ("en", "fr")}
    german = registry.resolve("de", "en")
    french = registry.resolve("fr", "en", "transformer")
    assert (german.name, french.name) == ("transformer-de-en", "transformer-de-en")
    assert (german.info.source_language, french.info.source_language) == ("de", "fr")
    assert registry.resolve("fr", "en").name == "bahdanau-fr-en"  # measured, the other is not
    assert german.model.ready
    assert french.model.ready
    for translator in (german, french):
        [translation] = await translator.translate(["ab. ba."], TranslationOptions(beam_size=1))
        assert translation.text == "ab. ba."
    with pytest.raises(UnsupportedPair):
        registry.resolve("de", "fr")
    await registry.stop(drain=1.0)
    assert not french.model.ready
