"""One imported bundle of two targets behind the real application: every route serves both pairs."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.bundle.vocabulary import EOS
from tests.support.api_client import answer, serving_models
from tests.training.commands import call, figures, lines, refusal, run, verdict
from tests.training.imports.marian_models import MarianShape
from tests.training.imports.toy_marian import SIDES, train
from tests.training.imports.toy_text import SENTENCES, sentencepiece_model
from training.imports.calibration import LONGEST, encode_sources, made_up_sources
from training.imports.marian import read_marian
from training.imports.source import ReadOptions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended")]

NAME = "opus-mt-en-mul"
CAT, DOG = "The cat sleeps.", "The dog eats."
SAID = {"fr": ("Le chat dort.", "Le chien mange."), "de": ("Die Katze schläft.", "Der Hund isst.")}
TOKEN = {"fr": ">>fra<<", "de": ">>deu<<"}
each_target = pytest.mark.parametrize("target", SAID)


def train_several_targets(folder: Path) -> None:
    """Write a model that has learnt to say in French or in German what animals do, as the hub has it."""
    folder.mkdir(parents=True)
    english, *others = zip(*SENTENCES, strict=True)
    for side, texts in zip(SIDES, (english, [*others[0], *others[1]]), strict=True):
        (folder / f"{side}.spm").write_bytes(sentencepiece_model(texts, vocab_size=120, model_type="bpe"))
    pairs = [(token, texts[0], texts[number]) for texts in SENTENCES for number, token in enumerate(TOKEN.values(), 1)]
    train(folder, MarianShape(language_tokens=tuple(TOKEN.values()), layers=(1, 1)), pairs, updates=300, rate=5e-3)
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "mul"}))
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\nlanguage:\n- en\n- fr\n- de\n---\n# opus-mt-en-mul\n")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of models with one bundle, imported by the command; the original is beside the folder."""
    root = tmp_path_factory.mktemp("several")
    train_several_targets(root / NAME)
    text = lines(root / "sample.en", (texts[0] for texts in SENTENCES))
    call("import", root / NAME, "--output", root / "models" / NAME, "--text", text)
    return root / "models"


@pytest.fixture
async def client(models: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serving_models(models) as client:
        yield client


async def test_languages_and_models_list_both_pairs(client: httpx.AsyncClient) -> None:
    listed = {each["code"]: each["targets"] for each in (await client.get("/languages")).json()}
    assert listed == {"de": ["de"], "en": ["de", "en", "fr"], "fr": ["fr"]}
    [model] = (await client.get("/models")).json()["models"]
    assert (model["sources"], model["targets"]) == (["en"], ["fr", "de"])
    pair = {"source": "en", "default": True, "reason": "as the only model"}
    assert model["pairs"] == [pair | {"target": target} for target in SAID]


async def test_each_target_gets_its_language_whatever_else_is_asked_for(client: httpx.AsyncClient) -> None:
    def asked(target: str, **fields: str) -> Any:
        return answer(client, "/translate", q=texts, source="en", target=target, details=True, **fields)

    texts = [each[0] for each in SENTENCES]
    alone = [await asked(target) for target in SAID]
    for place, found in enumerate(alone, 1):
        right = sum(text == each[place] for text, each in zip(found["translatedText"], SENTENCES, strict=True))
        assert right >= 0.95 * len(texts), found
    assert alone == await asyncio.gather(*(asked(target) for target in SAID))
    assert alone == [await asked(target, model=NAME) for target in SAID]


@each_target
async def test_details_show_the_token_of_the_target_and_align_no_word_with_it(
    client: httpx.AsyncClient, target: str
) -> None:
    found = await answer(client, "/translate", q=f"{CAT} {DOG}", source="en", target=target, details=True)
    assert found["translatedText"] == " ".join(SAID[target])
    for number, sentence in enumerate(found["details"]["sentences"]):
        first = sentence["source"]["tokens"][0]
        assert (first["piece"], first["special"], first["text"]) == (TOKEN[target], TOKEN[target], "")
        assert first["start"] == first["end"] == number * len(f"{CAT} ")
        assert sentence["target"]["text"] == SAID[target][number]
        assert sentence["alignment"]
        assert all(source != 0 for source, _ in sentence["alignment"])
        assert sentence["word_alignment"]


def _linked(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the texts of the tokens that the links of a sentence's attention name."""
    texts = [[each["text"] for each in found[side]["tokens"]] for side in ("source", "target")]
    return [(texts[0][source], texts[1][target]) for source, target in found["alignment"]]


@each_target
async def test_attention_of_each_pair_has_a_column_for_its_token(client: httpx.AsyncClient, target: str) -> None:
    fields = {"text": CAT, "source": "en", "target": target}
    kept = await answer(client, "/attention", **fields)
    tokens = kept["source"]["tokens"]
    assert kept["target"]["text"] == SAID[target][0]
    assert tokens[0]["special"] == TOKEN[target]
    assert {len(row) for row in kept["weights"]} == {len(tokens)}
    assert [sum(row) for row in kept["weights"]] == pytest.approx([1] * len(kept["weights"]), abs=1e-3)
    assert all(source for source, _ in _linked(kept))  # no link leads to the token of the language
    dropped = await answer(client, "/attention", **fields, specials="drop")
    ordinary = [each["text"] for each in tokens if "special" not in each]
    assert [each["text"] for each in dropped["source"]["tokens"]] == ordinary
    assert _linked(dropped) == _linked(kept)
    words = await answer(client, "/attention", **fields, tokens="word", specials="renormalise")
    assert [each["text"] for each in words["source"]["tokens"]] == ["The", "cat", "sleeps", "."]
    for worse in (SAID[target][1], SAID["de" if target == "fr" else "fr"][0]):  # another sentence, another language
        assert (await answer(client, "/attention", **fields, target_text=worse))["score"] < kept["score"]


@each_target
async def test_html_and_pictures_are_of_the_right_pair(client: httpx.AsyncClient, target: str) -> None:
    pair, (one, other) = {"source": "en", "target": target}, SAID[target]
    page = await answer(client, "/translate", q=f"<p><b>{CAT}</b></p><hr><p>{DOG}</p>", format="html", **pair)
    assert page["translatedText"] == f"<p><b>{one}</b></p><hr><p>{other}</p>"
    picture = await client.get("/attention", params={"text": CAT, "format": "csv", **pair})
    assert picture.status_code == 200
    assert one.split()[1][:2] in picture.text


async def test_the_inference_protocol_takes_the_target_as_a_parameter(client: httpx.AsyncClient) -> None:
    path = f"/v2/models/{NAME}/infer"
    inputs = [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [CAT]}]
    for target, said in SAID.items():
        found = await answer(client, path, inputs=inputs, parameters={"target": target})
        assert found["outputs"][0]["data"] == [said[0]]
    missing = await client.post(path, json={"inputs": inputs})
    assert (missing.status_code, missing.json()["param"]) == (400, "target")
    assert "fr, de" in missing.json()["error"]
    for parameters in ({"target": "it"}, {"target": "fr", "source": "de"}, {"target": 7}):
        refused = await client.post(path, json={"inputs": inputs, "parameters": parameters})
        assert refused.status_code == 400, refused.text
    metadata = (await client.get(f"/v2/models/{NAME}")).json()
    assert metadata["properties"]["target"] == "fr, de"


def test_any_target_can_be_compared_with_the_original(models: Path, tmp_path: Path) -> None:
    bundle = tmp_path / NAME
    text, references = (lines(tmp_path / str(at), (each[at] for each in SENTENCES[:6])) for at in (0, 2))
    arguments = ["import", models.parent / NAME, "--output", bundle, "--check", text, "--references", references]
    run(*arguments, "--to", "de,fr")  # its BLEU may fail on six sentences
    assert (verdict(bundle)["target"], verdict(bundle)["sentences"]) == ("de", 6)
    found = figures(bundle)
    assert found["texts with the same source tokens", None] == 1
    assert found["equal translations, values=off", "int8"] > 0.8
    assert found["BLEU of the original", None] > 80  # in the language that was named
    assert "does not translate into it; it has de, fr" in str(refusal(*arguments, "--to", "it"))


def test_calibration_uses_the_token_of_every_target(models: Path) -> None:
    model = read_marian(models.parent / NAME, ReadOptions(NAME))
    prefixes = [target.prefix[0] for target in model.targets]
    assert len(set(prefixes)) == 2
    for rows in (encode_sources(model, [CAT, "", DOG, CAT]), made_up_sources(model, 4)):
        assert [row[0] for row in rows] == (prefixes * 2)[: len(rows)]
        assert all(row[-1] == EOS and len(row) <= LONGEST for row in rows)
    assert len(encode_sources(model, [f"{CAT} " * 100])[0]) == LONGEST
