"""An imported model in the engine against transformers' own translations and attention."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers.models.marian.modeling_marian import MarianMTModel

from service.bundle.limits import SPARE_TOKENS
from service.bundle.load import load_bundle
from service.engine.loader import open_translator
from service.engine.translation.translator import Translator
from service.engine.types import TranslationOptions
from tests.training.commands import call, figures, lines, refusal, verdict
from tests.training.imports.marian_models import MarianShape, hub_tokenizer, write_model
from tests.training.imports.toy_text import ENGLISH, FRENCH
from training.imports.bundle import ImportOptions
from training.imports.marian import read_marian
from training.imports.network import import_bundle
from training.imports.source import ReadOptions
from training.recipe import RecipeError
from training.runs.fingerprint import PreparedError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended")]


@pytest.fixture(scope="module")
def bundle(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    text = lines(folder / "sample.en", ENGLISH[:200])
    call("import", toy, "--output", folder / "opus-mt-en-fr", "--text", text)
    return folder / "opus-mt-en-fr"


@pytest.fixture(scope="module")
def theirs(toy: Path) -> Any:
    model: Any = MarianMTModel.from_pretrained(toy)
    return model.eval()


@asynccontextmanager
async def opened(bundle: Path) -> AsyncIterator[Translator]:
    translator = open_translator(load_bundle(bundle))
    await translator.model.start()
    yield translator
    await translator.model.stop(5)


@pytest.fixture
async def translator(bundle: Path) -> AsyncIterator[Translator]:
    async with opened(bundle) as translator:
        yield translator


async def test_scores_of_a_beam_search_are_those_of_transformers(
    toy: Path, theirs: Any, translator: Translator
) -> None:
    tokenizer, texts = hub_tokenizer(toy), ENGLISH[::9]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    model = read_marian(toy, ReadOptions("imported", ("en",), ("fr",)))
    never = np.setdiff1d(np.arange(theirs.config.vocab_size), model.rows[1][model.target.producible])[:, None].tolist()
    with torch.no_grad():
        found = theirs.generate(
            **batch, num_beams=4, do_sample=False, max_length=60, bad_words_ids=never,
            return_dict_in_generate=True, output_scores=True,
        )  # fmt: skip
    options = TranslationOptions(beam_size=4, max_length=59, details=True, values="off")
    ours = [each.sentences[0].score for each in await translator.translate(texts, options, split=False)]
    assert model.decoding.early_stopping is False
    assert model.decoding.repetition_guard is False
    assert np.array(ours) == pytest.approx(found.sequences_scores.numpy(), abs=0.01)  # int8


async def test_a_given_translation_may_hold_pieces_of_the_other_language(translator: Translator) -> None:
    found = await translator.score_batch([(text, text) for text in ENGLISH[::9]])
    assert min(value for detail in found for value in detail.token_logprobs) > -100


async def test_what_repeats_itself_and_mixes_languages_is_as_in_transformers(tmp_path: Path) -> None:
    # Random weights write pieces of both languages again and again, up to the limit.
    folder, output = tmp_path / "opus-mt-en-fr", tmp_path / "random"
    theirs = write_model(folder, MarianShape())
    model = read_marian(folder, ReadOptions("random", ("en",), ("fr",), licence="MIT"))
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
    equal = {}
    async with opened(output) as translator:
        for guard in (None, True):
            options = TranslationOptions(beam_size=4, values="off", repetition_guard=guard)
            found = await translator.translate(texts, options, split=False)
            equal[guard] = sum(one.text == other for one, other in zip(found, wanted, strict=True))
    assert equal[None] >= 0.9 * len(texts)
    assert equal[True] < 0.5 * len(texts)


async def test_a_shortlist_from_text_of_the_user_keeps_the_translations(
    toy: Path, bundle: Path, translator: Translator, tmp_path: Path
) -> None:
    texts = lines(tmp_path / "text.en", ENGLISH), lines(tmp_path / "text.fr", FRENCH)
    output, pair = tmp_path / "models" / "listed-en-fr", ["--from", "en", "--to", "fr"]
    options = [*pair, "--text", texts[0], "--shortlist-text", *texts]
    printed = call("import", toy, "--output", output, *options)
    said = re.search(r"shortlist from (\d+) pairs: (\d+) tokens a sentence; it changes (\d+) of (\d+) held", printed)
    assert said is not None, printed
    learned, tokens, changed, measured = map(int, said.groups())
    manifest = load_bundle(output).manifest
    assert learned + measured == len(ENGLISH)
    assert tokens < manifest.vocabulary_size / 2
    assert changed <= 0.05 * measured
    assert manifest.card["imported"]["shortlist"]["changed"] == changed
    assert load_bundle(bundle).manifest.graphs["int8"].shortlist is None
    async with opened(output) as listed:
        both = [[each.text for each in await model.translate(ENGLISH[::6])] for model in (translator, listed)]
    assert sum(one == other for one, other in zip(*both, strict=True)) >= 0.95 * len(both[0])


RECIPE = """\
name: small-en-fr
source_language: en
target_language: fr
corpora:
  - {name: distilled, path: distilled.tsv, development: 20, licence: CC-BY-4.0, credit: OPUS-MT}
vocabulary: {size: 420}
network:
  {kind: transformer, encoder_layers: 2, decoder_layers: 1, width: 64, heads: 4, feed_forward: 128, dropout: 0.0,
   norm: post, activation: swish, positions: halves}
optimisation: {batch_tokens: 600, max_updates: 10, peak_rate: 0.0001, warmup_updates: 5, label_smoothing: 0.0}
validation: {every_updates: 5, sentences: 20}
max_tokens: 64
"""


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_a_small_model_is_distilled_from_an_import_and_starts_from_its_parameters(bundle: Path, tmp_path: Path) -> None:
    sentences, recipe, runs = lines(tmp_path / "domain.en", ENGLISH[:240]), tmp_path / "small.yaml", tmp_path / "runs"
    pairs = tmp_path / "distilled.tsv"
    call("distil", sentences, "--teacher", bundle, "--to", "fr", "--output", pairs)
    made = [line.split("\t") for line in pairs.read_text("utf-8").splitlines()]
    right = dict(zip(ENGLISH, FRENCH, strict=True))
    assert len(made) == 216
    assert sum(right[source] == target for source, target in made) > 140
    losses = {}
    for name, start in (("anew", ""), ("started", f"start_from: {bundle}\n")):
        recipe.write_text(RECIPE.replace("small-en-fr", name) + start, encoding="utf-8")
        call("prepare", recipe, "--runs", runs)
        call("train", recipe, "--runs", runs)
        found = re.findall(r"update=5 .*?dev_loss=(\S+)", (runs / name / "train.log").read_text("utf-8"))
        losses[name] = float(found[0])
    assert losses["started"] < 0.85 * losses["anew"]
    began = json.loads((runs / "started" / "legs.json").read_text("utf-8"))[0]["began_from"]
    assert (began["imported"], began["licence"]) == ("opus-mt-en-fr", "cc-by-4.0")


@pytest.mark.filterwarnings("ignore")  # Lightning's own
@pytest.mark.parametrize(
    ("command", "old", "new", "message"),
    [
        ("train", "positions: halves", "positions: marian", "needs a network with positions: halves"),
        ("train", "norm: post", "norm: pre", "needs a network with norm: post"),
        ("prepare", "{size: 420}", "{same_as: BUNDLE}", "cuts the texts of its two sides differently"),
    ],
)
def test_a_recipe_that_does_not_fit_the_import_is_refused(
    command: str, old: str, new: str, message: str, bundle: Path, tmp_path: Path
) -> None:
    recipe, runs = tmp_path / "small.yaml", tmp_path / "runs"
    lines(tmp_path / "distilled.tsv", map("\t".join, zip(ENGLISH[:99], FRENCH[:99], strict=True)))
    text = RECIPE.replace(old, new.replace("BUNDLE", str(bundle))) + f"start_from: {bundle}\n"
    recipe.write_text(text, encoding="utf-8")
    if command == "train":
        call("prepare", recipe, "--runs", runs)
    refused = refusal(command, recipe, "--runs", runs)
    assert isinstance(refused, RecipeError | PreparedError)
    assert message in str(refused)


def test_an_import_is_compared_with_the_original_and_its_card_says_how(toy: Path, bundle: Path, tmp_path: Path) -> None:
    assert "Not compared with the original" in (bundle / "README.md").read_text(encoding="utf-8")
    texts, references = lines(tmp_path / "text.en", ENGLISH[100:130]), lines(tmp_path / "text.fr", FRENCH[100:130])
    copy = tmp_path / "copy"
    text = ["--text", bundle.with_name("sample.en")]
    arguments = ["import", toy, "--output", copy, *text, "--check", texts, "--references", references]
    call(*arguments)
    assert verdict(copy)["passed"] is True
    assert verdict(copy)["with"].startswith("transformers ")
    found = figures(copy)
    assert found["texts with the same source tokens", None] == 1
    assert found["equal translations, values=off", "int8"] > 0.9
    assert {precision for _, precision in found} == {None, "int8"}
    lines(references, ["one"])
    assert "30 sentences and 1 references" in str(refusal(*arguments))
