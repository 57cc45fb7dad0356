"""`import check` with CTranslate2 as the original: a folder, and an Argos package of an OPUS-MT model."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from ctranslate2.converters import TransformersConverter
from typer.testing import CliRunner, Result

from service.bundle.load import load_bundle
from service.engine.model.device import CPU, ModelSettings, place_among
from tests.training.imports.marian_models import ENGLISH, FRENCH
from tests.training.imports.toy_marian import train_toy
from training.__main__ import app
from training.export.card import check_table
from training.imports.check import Figure

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained model as CTranslate2 converts it, with its SentencePiece models."""
    hub = tmp_path_factory.mktemp("hub") / "opus-mt-en-fr"
    train_toy(hub)
    converted = hub.with_name("converted")
    TransformersConverter(str(hub)).convert(str(converted))
    for side in ("source", "target"):
        shutil.copy(hub / f"{side}.spm", converted / f"{side}.spm")
    (hub.parent / "text.en").write_text("\n".join(ENGLISH[100:140]), encoding="utf-8")
    (hub.parent / "text.fr").write_text("\n".join(FRENCH[100:140]), encoding="utf-8")
    return converted


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["import", *map(str, arguments)])


def test_a_ctranslate2_folder_is_compared_with_ctranslate2(folder: Path, tmp_path: Path) -> None:
    bundle, text = tmp_path / "imported", folder.with_name("text.en")
    pieces = ["--spm", folder / "source.spm", "--target-spm", folder / "target.spm"]
    made = run("ctranslate2", folder, "--output", bundle, "--source", "en", "--target", "fr", "--licence", "MIT",
               "--text", text, "--fp32", *pieces)  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "Not compared with the original yet" in (bundle / "README.md").read_text(encoding="utf-8")
    found = run("check", bundle, folder, "--text", text, "--references", folder.with_name("text.fr"), *pieces)
    assert found.exit_code == 0, found.output
    checked = load_bundle(bundle).manifest.card["imported"]["checked"]
    assert checked["with"].startswith("CTranslate2 ")
    assert checked["passed"] is True
    values = {(each["what"], each.get("precision")): each["value"] for each in checked["figures"]}
    assert values["texts with the same source tokens", None] == 1
    assert values["equal translations, values=off", "fp32"] == 1
    assert values["equal translations, values=off", "int8"] > 0.9
    assert values["BLEU lost, values=off", "fp32"] == 0
    card = (bundle / "README.md").read_text(encoding="utf-8")
    assert "over 40 sentences into fr: this bundle does what the original does" in card
    assert check_table(checked["figures"]) in found.output
    assert check_table(checked["figures"]) in card
    assert "--spm" in str(run("check", bundle, folder, "--text", text).exception)
    other = shutil.copy(folder / "source.spm", tmp_path / "target.spm")
    refused = run("check", bundle, folder, "--text", text, *pieces[:3], other)
    assert "its target.spm is not the one that the bundle was imported from" in str(refused.exception)


def test_an_argos_package_of_an_opus_model_has_the_targets_pieces(folder: Path, tmp_path: Path) -> None:
    """Locomotive packs the source's SentencePiece model alone; CTranslate2 joins the target's pieces by name."""
    archive, bundle, text = tmp_path / "translate-en_fr-1_0.argosmodel", tmp_path / "argos", folder.with_name("text.en")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | {"add_source_eos": True}
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("p/metadata.json", json.dumps({"from_code": "en", "to_code": "fr", "package_version": "1.0"}))
        packed.write(folder / "source.spm", "p/sentencepiece.model")
        packed.writestr("p/model/config.json", json.dumps(config))
        for name in ("model.bin", "shared_vocabulary.json"):
            packed.write(folder / name, f"p/model/{name}")
    assert run("argos", archive, "--output", bundle, "--licence", "CC-BY-4.0", "--text", text).exit_code == 0
    found = run("check", bundle, archive, "--text", text, "--references", folder.with_name("text.fr"))
    assert found.exit_code == 0, found.output
    figures = load_bundle(bundle).manifest.card["imported"]["checked"]["figures"]
    values = {each["what"]: each["value"] for each in figures}
    assert values["equal translations, values=off"] > 0.9
    assert values["log-probabilities: mean difference, nats"] < 0.1


def test_a_faithful_import_is_the_original_with_the_settings_of_the_server_as_they_are(
    folder: Path, tmp_path: Path
) -> None:
    bundle, text = tmp_path / "faithful", folder.with_name("text.en")
    pieces = ["--spm", folder / "source.spm", "--target-spm", folder / "target.spm"]
    options = ["--output", bundle, "--source", "en", "--target", "fr", "--licence", "MIT", "--faithful", *pieces]
    refused = run("ctranslate2", folder, *options, "--shortlist-text", text, folder.with_name("text.fr"))
    assert "leave out --shortlist-text" in str(refused.exception)
    assert not bundle.exists()
    made = run("ctranslate2", folder, *options)
    assert made.exit_code == 0, made.output
    graphs = load_bundle(bundle).manifest.graphs
    assert list(graphs) == ["fp32"]
    for device in ("cpu", "auto"):
        assert place_among([CPU], graphs, ModelSettings(device)).precision == "fp32"
    found = run("check", bundle, folder, "--text", text, *pieces)
    assert found.exit_code == 0, found.output
    figures = load_bundle(bundle).manifest.card["imported"]["checked"]["figures"]
    assert {figure.get("precision") for figure in figures} == {None, "fp32"}
    assert {each["what"]: each["value"] for each in figures}["equal translations, values=off"] == 1


def test_the_table_has_a_column_for_each_precision_and_says_what_fails() -> None:
    figures = [
        Figure("tokens", 1, at_least=0.99),
        Figure("BLEU lost", 0.5, "int8", at_most=0.3),
        Figure("BLEU lost", 0.0, "fp32", at_most=0.3),
        Figure("chrF", float("nan"), "fp32"),
    ]
    assert [figure.passed for figure in figures] == [True, False, True, True]
    table = check_table([figure.document() for figure in figures])
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert cells[0] == ["what", "int8", "fp32"]
    assert cells[2:] == [
        ["tokens", "1 (ok: ≥ 0.99)", "1 (ok: ≥ 0.99)"],
        ["BLEU lost", "0.5 (FAIL: ≤ 0.3)", "0 (ok: ≤ 0.3)"],
        ["chrF", "–", "nan"],
    ]
