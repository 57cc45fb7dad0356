"""An imported model in the engine against transformers' own translations and attention."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers.models.marian.tokenization_marian import MarianTokenizer
from typer.testing import CliRunner

from service.bundle.load import load_bundle
from service.engine.loader import open_translator
from service.engine.text.tokenizer import load_tokenizers
from service.engine.translator import Translator
from service.engine.types import AttentionOptions, TranslationOptions
from tests.robustness import inputs
from tests.training.imports.marian_models import ENGLISH, FRENCH, MarianShape, write_model
from tests.training.imports.toy_marian import train_toy
from training.__main__ import app
from training.imports.bundle import ImportOptions, import_bundle
from training.imports.marian import MarianOptions, read_marian

ODD = tuple(text for kind in inputs.KINDS.values() for text in kind)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained MarianMT model in the hub's format."""
    return tmp_path_factory.mktemp("hub") / "opus-mt-en-fr"


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    """Return the same model in transformers."""
    return train_toy(folder)


@pytest.fixture(scope="module")
def bundle(folder: Path, theirs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bundle, imported by the command."""
    text = folder.parent / "sample.en"
    text.write_text("\n".join(ENGLISH[:200]), encoding="utf-8")
    output = tmp_path_factory.mktemp("models") / "opus-mt-en-fr"
    found = CliRunner().invoke(app, ["import", "opus-mt", str(folder), "--output", str(output), "--text", str(text)])
    assert found.exit_code == 0, found.output
    return output


@pytest.fixture
async def translator(bundle: Path) -> AsyncIterator[Translator]:
    """Yield the bundle in the engine."""
    translator = open_translator(load_bundle(bundle))
    await translator.start()
    yield translator
    await translator.stop(5)


def hub_tokenizer(folder: Path) -> Any:
    source, target, vocabulary = (str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))
    return MarianTokenizer(source, target, vocabulary, source_lang="eng", target_lang="fra")


async def test_translations_are_those_of_transformers(folder: Path, theirs: Any, translator: Translator) -> None:
    tokenizer = hub_tokenizer(folder)
    texts = ENGLISH[::6]
    for beams in (1, 4):
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            rows = theirs.generate(
                **batch, num_beams=beams, do_sample=False, max_length=60, bad_words_ids=[[theirs.config.pad_token_id]]
            )
        wanted = tokenizer.batch_decode(rows, skip_special_tokens=True)
        options = TranslationOptions(beam_size=beams)
        ours = [each.text for each in await translator.translate(texts, options, split=False)]
        equal = np.mean([one == other for one, other in zip(ours, wanted, strict=True)])
        assert equal >= 0.97, [pair for pair in zip(ours, wanted, strict=True) if pair[0] != pair[1]][:5]


async def test_attention_is_that_of_transformers(folder: Path, theirs: Any, translator: Translator) -> None:
    tokenizer = hub_tokenizer(folder)
    source, target = ENGLISH[10], FRENCH[10]
    found = await translator.attention(source, target, AttentionOptions(layer="all", head="all"))
    ids = tokenizer(source, return_tensors="pt")
    labels = tokenizer(text_target=target, return_tensors="pt").input_ids
    with torch.no_grad():
        wanted = theirs(**ids, labels=labels, output_attentions=True)
    weights = torch.stack(wanted.cross_attentions, 1)[0].numpy()
    assert np.abs(np.array(found.weights) - weights).max() < 0.05  # int8
    assert [token.text for token in found.source_tokens if token.special is None]


async def test_a_translation_does_not_depend_on_its_company(translator: Translator) -> None:
    texts = ENGLISH[::12]
    together = [each.text for each in await translator.translate(texts, split=False)]
    alone = [(await translator.translate([text], split=False))[0].text for text in texts]
    assert together == alone


def test_the_command_check_compares_with_the_original_and_writes_it_down(
    folder: Path, bundle: Path, tmp_path: Path
) -> None:
    texts, references = tmp_path / "text.en", tmp_path / "text.fr"
    texts.write_text("\n".join(ENGLISH[100:130]) + "\n", encoding="utf-8")
    references.write_text("\n".join(FRENCH[100:130]) + "\n", encoding="utf-8")
    copy = tmp_path / "copy"
    shutil.copytree(bundle, copy)
    arguments = [str(copy), str(folder), "--text", str(texts), "--references", str(references)]
    found = CliRunner().invoke(app, ["import", "check", *arguments])
    assert found.exit_code == 0, found.output
    checked = load_bundle(copy).manifest.card["imported"]["checked"]
    assert checked["passed"] is True
    assert checked["with"].startswith("transformers ")
    what = {figure["what"]: figure["value"] for figure in checked["figures"]}
    assert what["texts with the same source tokens"] == 1
    assert what["equal translations (int8 against the original)"] > 0.9
    references.write_text("one\n", encoding="utf-8")
    refused = CliRunner().invoke(app, ["import", "check", *arguments])
    assert "30 sentences and 1 references" in str(refused.exception)


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
def test_tokens_are_those_of_transformers(algorithm: str, byte_fallback: bool, tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-en-fr"
    write_model(folder, MarianShape(algorithm, byte_fallback, left_out=7))
    model = read_marian(folder, MarianOptions("imported", opus_text=False))
    made = import_bundle(model, tmp_path / "imported", ImportOptions(precisions=("fp32",)))
    tokenizers, hub = load_tokenizers(load_bundle(made)), hub_tokenizer(folder)
    texts = [*ENGLISH[::3], *FRENCH[::3], *(text for text in ODD if "<0x" not in text and "</s>" not in text)]
    for side, ours in enumerate((tokenizers.source, tokenizers.target)):
        different = []
        for text in texts:
            wanted = (hub(text_target=text) if side else hub(text))["input_ids"]
            if model.rows[side][list(ours.encode(text))].tolist() != wanted:
                different.append(text)
        assert len(different) <= 0.02 * len(texts), different[:10]  # stray marks, which Unicode composes otherwise
