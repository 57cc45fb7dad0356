"""`import --check` with CTranslate2 as the original: a folder, and an Argos package of an OPUS-MT model."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from service.engine.model.device import CPU, ModelSettings, place_among
from tests.training.commands import call, figures, lines, refusal, verdict
from tests.training.imports.opennmt_models import converted_folder
from tests.training.imports.toy_text import ENGLISH, FRENCH
from training.export.card import check_table
from training.export.compare import Comparison

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended")]
OPTIONS = ["--from", "en", "--to", "fr", "--licence", "MIT"]


@pytest.fixture(scope="module")
def folder(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained model as CTranslate2 converts it, with its SentencePiece models; texts are beside it."""
    converted = converted_folder(toy, tmp_path_factory.mktemp("ctranslate2") / "converted")
    lines(converted.with_name("text.en"), ENGLISH[100:140])
    lines(converted.with_name("text.fr"), FRENCH[100:140])
    return converted


def texts_beside(folder: Path) -> list[object]:
    text = folder.with_name("text.en")
    return ["--text", text, "--check", text, "--references", folder.with_name("text.fr")]


def test_a_ctranslate2_folder_is_compared_with_ctranslate2(folder: Path, tmp_path: Path) -> None:
    bundle, texts = tmp_path / "imported", texts_beside(folder)
    command = ["import", folder, "--output", bundle, *OPTIONS, "--fp32"]
    printed = call(*command, *texts)
    assert verdict(bundle)["with"].startswith("CTranslate2 ")
    assert verdict(bundle)["passed"] is True
    found = figures(bundle)
    assert found["texts with the same source tokens", None] == 1
    assert found["equal translations, values=off", "fp32"] == 1
    assert found["equal translations, values=off", "int8"] > 0.9
    assert found["BLEU lost, values=off", "fp32"] == 0
    card = (bundle / "README.md").read_text(encoding="utf-8")
    assert "over 40 sentences into fr: this bundle does what the original does" in card
    table = check_table(verdict(bundle)["figures"])
    assert table in printed
    assert table in card
    alone = shutil.copytree(folder, tmp_path / "alone", ignore=shutil.ignore_patterns("*.spm"))
    assert "give --spm" in str(refusal("import", alone, "--output", bundle, *OPTIONS))


def test_an_argos_package_of_an_opus_model_has_the_targets_pieces(folder: Path, tmp_path: Path) -> None:
    """Locomotive packs the source's SentencePiece model alone; CTranslate2 joins the target's pieces by name."""
    archive, bundle, texts = tmp_path / "translate-en_fr-1_0.argosmodel", tmp_path / "argos", texts_beside(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | {"add_source_eos": True}
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("p/metadata.json", json.dumps({"from_code": "en", "to_code": "fr", "package_version": "1.0"}))
        packed.write(folder / "source.spm", "p/sentencepiece.model")
        packed.writestr("p/model/config.json", json.dumps(config))
        for name in ("model.bin", "shared_vocabulary.json"):
            packed.write(folder / name, f"p/model/{name}")
    call("import", archive, "--output", bundle, "--licence", "CC-BY-4.0", *texts)
    found = figures(bundle)
    assert found["equal translations, values=off", "int8"] > 0.9
    assert found["log-probabilities: mean difference, nats", "int8"] < 0.1


def test_a_faithful_import_is_the_original_with_the_settings_of_the_server_as_they_are(
    folder: Path, tmp_path: Path
) -> None:
    bundle, texts = tmp_path / "faithful", texts_beside(folder)
    faithful = ["import", folder, "--output", bundle, *OPTIONS, "--faithful"]
    assert "leave out --installed and --faithful" in str(refusal(*faithful, "--shortlist-text", texts[1], texts[5]))
    assert not bundle.exists()
    call(*faithful, *texts[2:4])
    graphs = load_bundle(bundle).manifest.graphs
    assert list(graphs) == ["fp32"]
    for device in ("cpu", "auto"):
        assert place_among([CPU], graphs, ModelSettings(device)).precision == "fp32"
    found = figures(bundle)
    assert {precision for _, precision in found} == {None, "fp32"}
    assert found["equal translations, values=off", "fp32"] == 1


def test_the_table_has_a_column_for_each_precision_and_says_what_fails() -> None:
    figures = [
        Comparison("tokens", 1, at_least=0.99),
        Comparison("BLEU lost", 0.5, "int8", at_most=0.3),
        Comparison("BLEU lost", 0.0, "fp32", at_most=0.3),
        Comparison("chrF", float("nan"), "fp32"),
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
