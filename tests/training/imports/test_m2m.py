"""NLLB and M2M-100 in our network: tokens, log-probabilities and translations are those of their own engines."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch
from ctranslate2.converters import TransformersConverter
from transformers.models.m2m_100.tokenization_m2m_100 import M2M100Tokenizer

from service.api.languages import language_name
from service.bundle.vocabulary import EOS
from tests.support.api_client import answer, serving_models
from tests.training.commands import call, figures, lines, refusal, verdict
from tests.training.imports.m2m_models import M2MShape, write_m2m
from tests.training.imports.toy_text import ENGLISH, SENTENCES
from training.data.batching import collate
from training.imports.add import format_of
from training.imports.bundle import ImportOptions, export_options
from training.imports.m2m import read_m2m
from training.imports.network import network_of
from training.imports.source import ReadOptions

pytestmark = pytest.mark.filterwarnings("ignore:Recommended")

CAT, DOG = SENTENCES[0], SENTENCES[6]


@pytest.mark.parametrize("shape", [M2MShape(), M2MShape(nllb=False), M2MShape(fillers=70_000, width=8)])
def test_tokens_and_scores_are_those_of_transformers(shape: M2MShape, tmp_path: Path) -> None:
    theirs, tokenizer = write_m2m(tmp_path / "model", shape)
    model = read_m2m(tmp_path / "model", ReadOptions(source=("en",), target=("fr",)))
    assert format_of(tmp_path / "model") == model.origin.format
    rows, network = model.rows[0], network_of(model)
    network.output_bias.data = torch.from_numpy(model.float_bias)
    for text in ENGLISH[:30]:
        ids = model.source.tokenizer.encode(text, add_special_tokens=False).ids
        source, target = [*model.source_prefix(), *ids, EOS], [*model.targets[0].begin, *ids[:5], EOS]
        read, labels = tokenizer(text)["input_ids"], torch.from_numpy(rows[target])
        assert rows[source].tolist() == read
        assert labels[0] == tokenizer.convert_tokens_to_ids("fra_Latn" if shape.nllb else "__fr__")
        batch = collate([np.array(source)], [np.array(target)])
        with torch.no_grad():
            decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
            ours = network.logits(decoded.hidden).log_softmax(-1)[0]
            logits = theirs(input_ids=torch.tensor([read]), labels=labels[None]).logits[0]
        logits[:, [1, 3]] = -1e9  # padding and <unk>, which are never written
        expected = logits.log_softmax(-1)[range(len(target)), labels]
        assert ours[range(len(target)), target].numpy() == pytest.approx(expected.numpy(), abs=1e-3)
    # A large table is not copied for the sake of a few rows.
    assert (export_options(model, ImportOptions(), None).produced is None) is bool(shape.fillers)


@pytest.mark.parametrize(
    ("nllb", "count", "tags"),
    [
        # Two codes of one language are one, and a tag has a script only where a language has two.
        (True, 201, {"en": "eng_Latn", "az": "azj_Latn", "ak": "aka_Latn", "zh-Hans": "zho_Hans", "ar": "arb_Arab"}),
        (False, 100, {"en": "__en__", "fil": "__tl__", "nso": "__ns__", "zh": "__zh__"}),
    ],
)
def test_all_languages_have_their_tags_and_tokens(nllb: bool, count: int, tags: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_m2m(folder, M2MShape(nllb=nllb))
    model = read_m2m(folder, ReadOptions())
    names = {target.language: target.begin for target in model.targets}
    assert (len(model.source_languages), len(names), model.source_languages[0]) == (count, count, "en")
    assert names == model.languages.source_prefixes
    assert [tag for tag in names if language_name(tag) == tag] == []
    pieces = model.target.tokenizer.id_to_token
    assert {tag: str(pieces(names[tag][0])).strip() for tag in tags} == tags
    assert "does not translate into tlh; it has" in str(refusal("import", folder, "--output", folder, "--to", "tlh"))
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"tokenizer_class": "SMALL100Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert "its tokenizer is a SMALL100Tokenizer" in str(refusal("import", folder, "--output", folder))


def trained_model(folder: Path, nllb: bool) -> Path:
    """Write a model that has learnt what animals do, and to say it in English and in French; return its folder."""
    english, french, german = ("eng_Latn", "fra_Latn", "deu_Latn") if nllb else ("en", "fr", "de")
    pairs = [
        pair
        for one, second, third in SENTENCES
        for pair in ((english, french, one, second), (english, german, one, third), (french, english, second, one))
    ]
    write_m2m(folder, M2MShape(nllb, texts=[text for texts in SENTENCES for text in texts]), pairs)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an NLLB model."""
    return trained_model(tmp_path_factory.mktemp("trained") / "nllb", nllb=True)


@pytest.fixture(scope="module")
def models(trained: Path) -> Path:
    """Return a folder of models with its bundle, imported and compared by the command."""
    text, output = (
        lines(trained.with_name("text.en"), (texts[0] for texts in SENTENCES[:10])),
        trained.parent / "models",
    )
    call("import", trained, "--output", output / "nllb", "--fp32", "--from", "en,fr", "--to", "fr,de,en",
         "--text", text, "--check", text)  # fmt: skip
    return output


@pytest.mark.slow
def test_the_bundle_does_what_transformers_does(models: Path) -> None:
    assert verdict(models / "nllb")["passed"] is True
    assert figures(models / "nllb")["equal translations, values=off", "fp32"] == 1
    assert figures(models / "nllb")["equal translations, values=off", "int8"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("nllb", [True, False])
def test_a_folder_of_ctranslate2_does_what_ctranslate2_does(
    nllb: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    hub = request.getfixturevalue("trained") if nllb else trained_model(tmp_path / "m2m", nllb=False)
    folder, bundle = tmp_path / "converted", tmp_path / "models/converted"
    if not nllb:  # the converter asks for the tokens of languages as transformers 4 gave them
        told = property(lambda tokenizer: {"additional_special_tokens": [*tokenizer.lang_token_to_id]})
        monkeypatch.setattr(M2M100Tokenizer, "special_tokens_map", told)
    TransformersConverter(str(hub)).convert(str(folder))
    shutil.copy(hub / "sentencepiece.bpe.model", folder)
    text = lines(tmp_path / "text.en", (texts[0] for texts in SENTENCES[:6]))
    call("import", folder, "--output", bundle, "--faithful", "--from", "en", "--to", "de", "--licence", "MIT",
         "--check", text)  # fmt: skip
    assert verdict(bundle)["with"].startswith("CTranslate2 ")
    assert figures(bundle)["texts with the same source tokens", None] == 1
    assert figures(bundle)["equal translations, values=off", "fp32"] == 1


@pytest.fixture
async def client(models: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serving_models(models) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [(0, 1), (0, 2), (1, 0)])
async def test_each_pair_is_translated_with_its_tokens(client: httpx.AsyncClient, source: int, target: int) -> None:
    languages, tokens = ("en", "fr", "de"), ("eng_Latn", "fra_Latn", "deu_Latn")
    pair = {"source": languages[source], "target": languages[target]}
    whole = await answer(client, "/translate", q=f"{CAT[source]} {DOG[source]}", **pair, details=True)
    assert whole["translatedText"] == f"{CAT[target]} {DOG[target]}"
    for sentence in whole["details"]["sentences"]:
        for side, place in (("source", source), ("target", target)):
            first = sentence[side]["tokens"][0]
            assert (first["special"], first["text"]) == (tokens[place], "")
        assert sentence["token_logprobs"][0] == 0
        assert all(0 not in link for link in sentence["alignment"])
    forced = await answer(client, "/attention", text=CAT[source], target_text=CAT[target], **pair)
    assert forced["target"]["tokens"][0]["special"] == tokens[target]
    assert forced["score"] == pytest.approx(whole["details"]["sentences"][0]["score"], abs=1e-4)
    begun = await answer(client, "/translate", q=CAT[source], target_prefix=CAT[target].split()[0], **pair)
    assert begun["translatedText"] == CAT[target]
