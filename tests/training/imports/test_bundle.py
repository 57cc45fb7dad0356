"""An imported model in the engine against transformers' own translations and attention."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from service.bundle.limits import SPARE_TOKENS
from service.bundle.load import load_bundle
from service.engine.loader import open_translator
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, TranslationOptions
from tests.training.imports.marian_models import ENGLISH, FRENCH, MarianShape, hub_tokenizer, write_model
from tests.training.imports.toy_marian import train_toy
from training.__main__ import app
from training.imports.bundle import ImportOptions, import_bundle
from training.imports.marian import MarianOptions, read_marian
from training.recipe import RecipeError
from training.runs.fingerprint import PreparedError

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


async def test_a_beam_search_never_finds_a_lower_score_than_transformers(
    folder: Path, theirs: Any, translator: Translator
) -> None:
    tokenizer, texts = hub_tokenizer(folder), ENGLISH[::9]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    model = read_marian(folder, MarianOptions("imported", ("en",), ("fr",)))
    never = np.setdiff1d(np.arange(theirs.config.vocab_size), model.rows[1][model.target.producible])[:, None].tolist()
    with torch.no_grad():
        found = theirs.generate(
            **batch, num_beams=4, do_sample=False, max_length=60, bad_words_ids=never,
            return_dict_in_generate=True, output_scores=True,
        )  # fmt: skip
    options = TranslationOptions(beam_size=4, max_length=59, details=True)
    ours = [each.sentences[0].score for each in await translator.translate(texts, options, split=False)]
    assert model.decoding.early_stopping is False
    assert model.decoding.repetition_guard is False
    assert np.array(ours) == pytest.approx(found.sequences_scores.numpy(), abs=0.01)  # int8


async def test_a_given_translation_may_hold_pieces_of_the_other_language(translator: Translator) -> None:
    found = await translator.score_batch([(text, text) for text in ENGLISH[::9]])
    assert min(value for detail in found for value in detail.token_logprobs) > -100


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


async def test_what_repeats_itself_and_mixes_languages_is_as_in_transformers(tmp_path: Path) -> None:
    # Random weights write pieces of both languages again and again, up to the limit.
    folder, output = tmp_path / "opus-mt-en-fr", tmp_path / "random"
    theirs = write_model(folder, MarianShape())
    model = read_marian(folder, MarianOptions("random", ("en",), ("fr",), licence="MIT"))
    import_bundle(model, output, ImportOptions(precisions=("fp32",)))
    tokenizer, texts, wanted = hub_tokenizer(folder), ENGLISH[:20], []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            [row] = theirs.generate(
                ids, num_beams=4, do_sample=False, max_length=2 * ids.shape[1] + SPARE_TOKENS + 1,
                bad_words_ids=[[theirs.config.pad_token_id], [tokenizer.unk_token_id]], forced_eos_token_id=None,
            )  # fmt: skip
        wanted.append(" ".join(tokenizer.decode(row, skip_special_tokens=True).split()))
    translator = open_translator(load_bundle(output))
    await translator.start()
    found = {
        guard: await translator.translate(
            texts, TranslationOptions(beam_size=4, values="off", repetition_guard=guard), split=False
        )
        for guard in (None, True)
    }
    await translator.stop(5)
    equal = {
        guard: sum(one.text == other for one, other in zip(each, wanted, strict=True)) for guard, each in found.items()
    }
    assert equal[None] >= 0.9 * len(texts), [(one.text, other) for one, other in zip(found[None], wanted, strict=True)][
        :5
    ]
    assert equal[True] < 0.5 * len(texts)


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


async def test_a_shortlist_from_text_of_the_user_keeps_the_translations(
    folder: Path, bundle: Path, translator: Translator, tmp_path: Path
) -> None:
    texts = [tmp_path / "text.en", tmp_path / "text.fr"]
    for path, lines in zip(texts, (ENGLISH, FRENCH), strict=True):
        path.write_text("\n".join(lines), encoding="utf-8")
    output, options = tmp_path / "models" / "listed-en-fr", ["--text", str(texts[0]), "--shortlist-text"]
    command = ["import", "opus-mt", str(folder), "--source", "en", "--target", "fr", "--output", str(output)]
    found = CliRunner().invoke(app, [*command, *options, *map(str, texts)])
    assert found.exit_code == 0, found.output
    said = re.search(
        r"shortlist from (\d+) pairs: (\d+) tokens a sentence; it changes (\d+) of (\d+) held", found.output
    )
    assert said is not None, found.output
    learned, tokens, changed, measured = map(int, said.groups())
    manifest = load_bundle(output).manifest
    assert learned + measured == len(ENGLISH)
    assert tokens < manifest.vocabulary_size / 2
    assert changed <= 0.05 * measured
    assert manifest.card["imported"]["shortlist"]["changed"] == changed
    assert load_bundle(bundle).manifest.graphs["int8"].shortlist is None
    listed = open_translator(load_bundle(output))
    await listed.start()
    both = [[each.text for each in await model.translate(ENGLISH[::6])] for model in (translator, listed)]
    await listed.stop(0)
    same = sum(one == other for one, other in zip(*both, strict=True))
    assert same >= 0.95 * len(ENGLISH[::6])


RECIPE = """\
name: small-en-fr
source_language: en
target_language: fr
corpora:
  - {name: distilled, path: distilled.tsv, development: 20, licence: CC-BY-4.0, credit: OPUS-MT}
vocabulary: {size: 420}
network:
  kind: transformer
  encoder_layers: 2
  decoder_layers: 1
  width: 64
  heads: 4
  feed_forward: 128
  dropout: 0.0
  norm: post
  activation: swish
  positions: halves
optimisation: {batch_tokens: 600, max_updates: 10, peak_rate: 0.0001, warmup_updates: 5, label_smoothing: 0.0}
validation: {every_updates: 5, sentences: 20}
max_tokens: 64
"""


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_a_small_model_is_distilled_from_an_import_and_starts_from_its_parameters(bundle: Path, tmp_path: Path) -> None:
    sentences, recipe, runs = tmp_path / "domain.en", tmp_path / "small.yaml", tmp_path / "runs"
    sentences.write_text("\n".join(ENGLISH[:240]), encoding="utf-8")
    pairs = str(tmp_path / "distilled.tsv")
    call("distil", str(sentences), "--teacher", str(bundle), "--to", "fr", "--output", pairs)
    made = [line.split("\t") for line in (tmp_path / "distilled.tsv").read_text("utf-8").splitlines()]
    right = dict(zip(ENGLISH, FRENCH, strict=True))
    assert len(made) == 216
    assert sum(right[source] == target for source, target in made) > 140
    losses = {}
    for name, start in (("anew", ""), ("started", f"start_from: {bundle}\n")):
        recipe.write_text(RECIPE.replace("small-en-fr", name) + start, encoding="utf-8")
        call("prepare", str(recipe), "--runs", str(runs))
        call("train", str(recipe), "--runs", str(runs))
        found = re.findall(r"update=5 dev_loss=(\S+)", (runs / name / "train.log").read_text("utf-8"))
        losses[name] = float(found[0])
    assert losses["started"] < 0.85 * losses["anew"]
    began = json.loads((runs / "started" / "legs.json").read_text("utf-8"))[0]["began_from"]
    assert (began["imported"], began["licence"]) == ("opus-mt-en-fr", "cc-by-4.0")


@pytest.mark.filterwarnings("ignore")  # Lightning's own
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("positions: halves", "positions: marian"), "needs a network with positions: halves"),
        (("norm: post", "norm: pre"), "needs a network with norm: post"),
        (("vocabulary: {size: 420}", "vocabulary: {same_as: BUNDLE}"), "cuts the texts of its two sides differently"),
    ],
)
def test_a_recipe_that_does_not_fit_the_import_is_refused(
    change: tuple[str, str], message: str, bundle: Path, tmp_path: Path
) -> None:
    recipe, runs = tmp_path / "small.yaml", tmp_path / "runs"
    pairs = [f"{source}\t{target}" for source, target in zip(ENGLISH[:99], FRENCH[:99], strict=True)]
    (tmp_path / "distilled.tsv").write_text("\n".join(pairs), encoding="utf-8")
    old, new = change[0], change[1].replace("BUNDLE", str(bundle))
    recipe.write_text(RECIPE.replace(old, new) + f"start_from: {bundle}\n", encoding="utf-8")
    commands = [[command, str(recipe), "--runs", str(runs)] for command in ("prepare", "train")]
    refusals = [CliRunner().invoke(app, command).exception for command in commands]
    first = next(filter(None, refusals))
    assert isinstance(first, RecipeError | PreparedError)
    assert message in str(first)


def call(*arguments: str) -> None:
    """Run a command of the training package, which must succeed."""
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output


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
    assert what["equal translations, values=off"] > 0.9
    assert {figure.get("precision") for figure in checked["figures"]} == {None, "int8"}
    assert "import it with --fp32 or --faithful to compare them, too" in found.output
    references.write_text("one\n", encoding="utf-8")
    refused = CliRunner().invoke(app, ["import", "check", *arguments])
    assert "30 sentences and 1 references" in str(refused.exception)
