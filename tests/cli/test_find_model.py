"""Which bundle and which source language `translucent translate` takes; and `translucent detect`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.bundle.load import Bundle
from service.cli.find_model import ModelQuery, find_legs, pair_of
from service.cli.main import cli
from service.cli.source_language import with_source
from service.engine import InvalidInput
from service.engine.errors import BundleMissing, EngineError, InvalidOption, UnsupportedPair
from service.engine.loader import info_of
from service.engine.model.device import ModelSettings
from tests.support.manifests import manifest_document, write_bundle

CPU = ModelSettings("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models from English to French, of which the second scores better, and one each to and from others."""
    for name, architecture, source, target, score in (
        ("a-weak", "transformer", "en", "fr", 20.0),
        ("b-good", "bahdanau", "en", "fr", 40.0),
        ("c-de", "transformer", "en", "de", 30.0),
        ("d-pt", "transformer", "fr", "pt-BR", 30.0),
    ):
        card = {
            **manifest_document()["card"],
            "scores": [{"test_set": "tatoeba", "metric": "BLEU", "score": score, "precision": "int8"}],
        }
        pair: dict[str, Any] = {"source_languages": [source], "target_language": target}
        write_bundle(tmp_path / "models" / name, name=name, architecture=architecture, card=card, **pair)
    return tmp_path / "models"


def find_bundle(wanted: ModelQuery, folder: Path) -> Bundle:
    [leg] = find_legs(wanted, folder, CPU)
    return leg.bundle


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (ModelQuery("a-weak"), "a-weak"),
        (ModelQuery(None, "en", "fr"), "b-good"),
        (ModelQuery(None, None, "fr"), "b-good"),
        (ModelQuery(None, "en-US", "fr-CA"), "b-good"),
        (ModelQuery("transformer", "en", "fr"), "a-weak"),
        (ModelQuery(None, "en", "de", pivot="fr"), "c-de"),
        (ModelQuery(None, None, "fr", ("a-weak",)), "a-weak"),
        (ModelQuery(None, "fr"), "d-pt"),
        (ModelQuery(None, None, "pb"), "d-pt"),
        (ModelQuery("c-de", "en", "de"), "c-de"),
    ],
)
def test_a_model_is_found(folder: Path, wanted: ModelQuery, name: str) -> None:
    assert find_bundle(wanted, folder).manifest.name == name


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        (ModelQuery(), InvalidOption, "with --to: de, fr, pt-BR; or name a model with --model"),
        (ModelQuery(None, "en"), InvalidOption, "with --to: de, fr;"),
        (ModelQuery(None, None, "it"), UnsupportedPair, "to 'it'; .* has en → de, en → fr, fr → pt-BR"),
        (ModelQuery("c-de", None, "fr"), UnsupportedPair, "c-de translates en → de"),
        (ModelQuery("nobody"), BundleMissing, "nobody is neither .* has a-weak, b-good"),
        (ModelQuery("nobody", "en", "fr"), BundleMissing, "no model 'nobody'"),
        (ModelQuery(None, "en", "pt-BR"), UnsupportedPair, "No model translates"),
        (ModelQuery(None, "de", "pt-BR", pivot="fr"), UnsupportedPair, "No model translates"),
        (ModelQuery("transformer", "en", "pt-BR", pivot="fr"), UnsupportedPair, "No model translates"),  # named: no leg
        (ModelQuery("a-weak", "en", "pt-BR", pivot="fr"), UnsupportedPair, "a-weak translates en → fr"),
    ],
)
def test_what_is_missing_is_said(folder: Path, wanted: ModelQuery, error: type[EngineError], message: str) -> None:
    with pytest.raises(error, match=message):
        find_legs(wanted, folder, CPU)


def test_a_model_of_several_source_languages_is_found_for_each_of_them(folder: Path) -> None:
    several: dict[str, Any] = {"source_languages": ["de", "fr"], "target_language": "it"}
    write_bundle(folder / "e-it", name="e-it", architecture="transformer", **several)
    for source in ("de", "fr-CA"):
        wanted = ModelQuery(None, source, "it")
        found = find_bundle(wanted, folder)
        assert found.manifest.name == "e-it"
        assert pair_of(info_of(found, CPU), wanted) == (source[:2], "it")
    named = ModelQuery("e-it")
    assert pair_of(info_of(find_bundle(named, folder), CPU), named) == ("de", "it")
    with pytest.raises(UnsupportedPair, match="e-it translates de → it, fr → it"):
        find_bundle(ModelQuery("e-it", "en", "it"), folder)


def test_a_pair_without_a_model_has_two_legs_if_there_is_a_pivot(folder: Path) -> None:
    legs = find_legs(ModelQuery(None, "en-GB", "pb", pivot="fr"), folder, CPU)
    assert [(leg.bundle.manifest.name, leg.pair) for leg in legs] == [
        ("b-good", ("en", "fr")),
        ("d-pt", ("fr", "pt-BR")),
    ]
    preferred = find_legs(ModelQuery(None, "en", "pt-BR", ("a-weak",), "fr"), folder, CPU)
    assert preferred[0].bundle.manifest.name == "a-weak"


FRENCH, ENGLISH = "Bonjour, où est la gare ?", "Good morning, where is the station?"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Models from English to French and German, and from French and German to English."""
    for source, target in (("en", "fr"), ("en", "de"), ("fr", "en"), ("de", "en")):
        name = f"{source}-{target}"
        write_bundle(tmp_path / name, name=name, source_languages=[source], target_language=target)
    return tmp_path


def source_of(text: str, models: Path, wanted: ModelQuery) -> str | None:
    return with_source(wanted, models, lambda: text).source


@pytest.mark.parametrize(
    ("text", "wanted", "source"),
    [
        (FRENCH, ModelQuery(None, "auto", "en"), "fr"),
        (FRENCH, ModelQuery(None, None, "en"), "fr"),  # two are possible
        (FRENCH, ModelQuery(None, None, "de", pivot="en"), "fr"),  # not in the only direct one
        (ENGLISH, ModelQuery(None, None, "de", pivot="en"), None),
        ("Gift", ModelQuery(None, None, "fr", pivot="en"), None),  # too short to doubt
        (FRENCH, ModelQuery(None, "en", "de"), "en"),
    ],
)
def test_the_source_is_detected_where_it_is_open(
    models: Path, text: str, wanted: ModelQuery, source: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert source_of(text, models, wanted) == source
    said = capsys.readouterr().err
    assert ("detected fr" in said) == (source == "fr")


@pytest.mark.parametrize("wanted", [ModelQuery(None, None, "de"), ModelQuery("en-fr"), ModelQuery(None, None, "fr")])
def test_text_in_a_language_that_is_not_translated_ends_with_an_error_unless_a_source_is_named(
    models: Path, wanted: ModelQuery
) -> None:
    with pytest.raises(InvalidInput, match=r"another language \(fr\).* --from en translates it all the same"):
        source_of(FRENCH, models, wanted)
    assert source_of(FRENCH, models, replace(wanted, source="en")) == "en"


def test_the_source_is_detected_for_a_named_model_of_several(models: Path) -> None:
    several: dict[str, Any] = {"source_languages": ["de", "fr"], "target_language": "en"}
    write_bundle(models / "into-en", name="into-en", **several)
    for model in ("into-en", str(models / "into-en")):
        assert source_of(FRENCH, models, ModelQuery(model)) == "fr"
    assert source_of("Gift", models, ModelQuery("into-en")) is None
    assert source_of(ENGLISH, models, ModelQuery("en-fr")) is None  # it has one


def test_a_text_that_is_in_no_language_is_refused_with_auto(models: Path) -> None:
    with pytest.raises(InvalidInput, match="--from: de, en, fr"):
        source_of("123", models, ModelQuery(None, "auto", "en"))


def test_detect_prints_the_language_of_each_text(models: Path) -> None:
    found = CliRunner().invoke(cli, ["detect", FRENCH, ENGLISH, "123", "--models-dir", str(models)])
    assert [line.split("\t")[0] for line in found.stdout.splitlines()] == ["fr", "en", "und"]
    lines = CliRunner().invoke(cli, ["detect", "--json", "--models-dir", str(models)], input=f"{FRENCH}\n")
    assert json.loads(lines.stdout)[0]["language"] == "fr"
    assert {each["language"] for each in json.loads(lines.stdout)} == {"de", "en", "fr"}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("models/nothing", r"^models/nothing: there is no such folder; .*models has a-weak, b-good, c-de, d-pt\.$"),
        ("/nowhere/nothing", "^/nowhere/nothing: there is no such folder; .*models has a-weak"),
        ("./nothing", r"^\./nothing: there is no such folder; "),
        ("nothing", "^nothing is neither a bundle's folder nor a model's name; .*models has a-weak"),
        ("Organisation/model", "^Organisation/model is no folder here. If it is a model on the Hugging Face hub, "),
    ],
)
def test_a_model_that_is_not_there_is_sought_where_its_name_says(folder: Path, model: str, message: str) -> None:
    with pytest.raises(BundleMissing, match=message):
        find_legs(ModelQuery(model), folder, CPU)


@pytest.mark.parametrize("query", [ModelQuery("models/nothing"), ModelQuery("a"), ModelQuery(None, "en", "fr")])
def test_without_models_the_error_says_where_they_come_from(tmp_path: Path, query: ModelQuery) -> None:
    for folder in (tmp_path / "models", tmp_path):
        with pytest.raises(BundleMissing, match="An installed package has no models: copy bundles from models/ of the"):
            find_legs(query, folder, CPU)


@pytest.mark.parametrize("arguments", [["models"], ["translate", "I lost.", "--to", "fr"]])
def test_every_command_says_where_models_come_from(tmp_path: Path, arguments: list[str]) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        answer = CliRunner().invoke(cli, [*arguments, "--models-dir", str(folder)])
        assert answer.exit_code == 1
        assert "An installed package has no models" in answer.output + answer.stderr
