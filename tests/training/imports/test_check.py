"""`import check` with CTranslate2 as the original: a folder, and an Argos package of an OPUS-MT model."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from ctranslate2.converters import TransformersConverter
from typer.testing import CliRunner, Result

from service.bundle.load import load_bundle
from tests.training.imports.marian_models import ENGLISH, FRENCH
from tests.training.imports.toy_marian import train_toy
from training.__main__ import app

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
               "--text", text, *pieces)  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "Not compared with the original yet" in (bundle / "README.md").read_text(encoding="utf-8")
    found = run("check", bundle, folder, "--text", text, "--references", folder.with_name("text.fr"), *pieces)
    assert found.exit_code == 0, found.output
    checked = load_bundle(bundle).manifest.card["imported"]["checked"]
    assert checked["with"].startswith("CTranslate2 ")
    assert {each["what"]: each["value"] for each in checked["figures"]}["texts with the same source tokens"] == 1
    card = (bundle / "README.md").read_text(encoding="utf-8")
    assert "over 40 sentences into fr: this bundle does what the original does" in card
    assert "| BLEU lost |" in card
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
    assert values["equal translations (int8 against the original)"] > 0.9
    assert values["mean difference of log-probabilities, nats"] < 0.1
