"""One imported bundle of two targets behind the real application: every route serves both pairs."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from service.api.app import create_app
from service.api.state import Service
from service.bundle.load import load_bundle
from service.bundle.vocabulary import EOS
from service.cli.main import cli
from service.engine.registry import Registry
from service.metrics import Metrics
from service.settings import Settings
from tests.support.server import ROOT, ServerProcess, running
from tests.training.imports.several_targets import SENTENCES, train_several_targets
from training.__main__ import app
from training.imports.calibration import LONGEST, encode_sources, made_up_sources
from training.imports.marian import MarianOptions, read_marian

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended")]

NAME = "opus-mt-en-mul"
INTO_ENGLISH = ROOT / "models" / "transformer-de-fr-en"
PAIRS = [("fr", 1), ("de", 2)]
CAT, DOG = "The cat sleeps.", "The dog eats."
SAID = {"fr": ("Le chat dort.", "Le chien mange."), "de": ("Die Katze schläft.", "Der Hund isst.")}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of models with one bundle, imported by the command."""
    root = tmp_path_factory.mktemp("several")
    train_several_targets(root / NAME)
    (root / "sample.en").write_text("\n".join(texts[0] for texts in SENTENCES), encoding="utf-8")
    arguments = [str(root / NAME), "--output", str(root / "models" / NAME), "--text", str(root / "sample.en")]
    found = CliRunner().invoke(app, ["import", "opus-mt", *arguments])
    assert found.exit_code == 0, found.output
    return root / "models"


@pytest.fixture
async def client(models: Path) -> AsyncIterator[httpx.AsyncClient]:
    registry = Registry(models)
    await registry.start()
    app = create_app(Service(Settings(), registry, Metrics()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://translucent") as client:
        yield client
    await registry.stop(5)


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Serve the bundle and a model into English with a pivot; models are opened at their first request."""
    if not INTO_ENGLISH.is_dir():
        pytest.skip(f"{INTO_ENGLISH} is not here")
    folder = tmp_path_factory.mktemp("served")
    for bundle in (models / NAME, INTO_ENGLISH):
        (folder / bundle.name).symlink_to(bundle)
    options = ("--models-dir", str(folder), "--device", "cpu")
    settings = {"TRANSLUCENT_PIVOT": "en", "TRANSLUCENT_LOAD": "lazy", "TRANSLUCENT_LOG_FORMAT": "json"}
    with running("-m", "service", "serve", *options, **settings) as server:
        server.wait_for("ready", 120)
        yield server


def post(server: ServerProcess, path: str, **fields: Any) -> Any:
    found = httpx.post(f"{server.url}{path}", json=fields, timeout=60)
    assert found.status_code == 200, found.text
    return found.json()


async def answer(client: httpx.AsyncClient, path: str, **fields: Any) -> Any:
    found = await client.post(path, json=fields, timeout=60)
    assert found.status_code == 200, found.text
    return found.json()


async def test_languages_and_models_list_both_pairs(client: httpx.AsyncClient) -> None:
    listed = {each["code"]: each["targets"] for each in (await client.get("/languages")).json()}
    assert listed == {"de": ["de"], "en": ["de", "en", "fr"], "fr": ["fr"]}
    [model] = (await client.get("/models")).json()["models"]
    assert (model["sources"], model["targets"]) == (["en"], ["fr", "de"])
    assert model["pairs"] == [
        {"source": "en", "target": "fr", "default": True},
        {"source": "en", "target": "de", "default": True},
    ]


@pytest.mark.parametrize(("target", "place"), PAIRS)
async def test_each_target_gets_its_language(client: httpx.AsyncClient, target: str, place: int) -> None:
    texts = [each[0] for each in SENTENCES]
    found = await answer(client, "/translate", q=texts, source="en", target=target)
    right = sum(text == each[place] for text, each in zip(found["translatedText"], SENTENCES, strict=True))
    assert right >= 0.95 * len(texts), found
    named = await answer(client, "/translate", q=texts, source="en", target=target, model=NAME)
    assert named == found


async def test_a_translation_does_not_depend_on_requests_for_the_other_target(client: httpx.AsyncClient) -> None:
    texts = [each[0] for each in SENTENCES]
    alone = [
        (await answer(client, "/translate", q=texts, source="en", target=target, details=True)) for target, _ in PAIRS
    ]
    together = await asyncio.gather(
        *(answer(client, "/translate", q=texts, source="en", target=target, details=True) for target, _ in PAIRS)
    )
    assert alone == together


@pytest.mark.parametrize(("target", "token"), [("fr", ">>fra<<"), ("de", ">>deu<<")])
async def test_details_show_the_token_of_the_target_and_align_no_word_with_it(
    client: httpx.AsyncClient, target: str, token: str
) -> None:
    found = await answer(client, "/translate", q=f"{CAT} {DOG}", source="en", target=target, details=True)
    assert found["translatedText"] == " ".join(SAID[target])
    for number, sentence in enumerate(found["details"]["sentences"]):
        first = sentence["source"]["tokens"][0]
        assert (first["piece"], first["special"], first["text"]) == (token, token, "")
        assert first["start"] == first["end"] == number * len(f"{CAT} ")
        assert sentence["target"]["text"] == SAID[target][number]
        assert sentence["alignment"]
        assert all(source != 0 for source, _ in sentence["alignment"])
        assert sentence["word_alignment"]


def _linked(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the texts of the tokens that the links of a sentence's attention name."""
    texts = [[each["text"] for each in found[side]["tokens"]] for side in ("source", "target")]
    return [(texts[0][source], texts[1][target]) for source, target in found["alignment"]]


@pytest.mark.parametrize(("target", "token"), [("fr", ">>fra<<"), ("de", ">>deu<<")])
async def test_attention_of_each_pair_has_a_column_for_its_token(
    client: httpx.AsyncClient, target: str, token: str
) -> None:
    fields = {"text": CAT, "source": "en", "target": target}
    kept = await answer(client, "/attention", **fields)
    assert kept["target"]["text"] == SAID[target][0]
    assert kept["source"]["tokens"][0]["special"] == token
    assert all(len(row) == len(kept["source"]["tokens"]) and sum(row) == pytest.approx(1, abs=1e-3)
               for row in kept["weights"])  # fmt: skip
    dropped = await answer(client, "/attention", **fields, specials="drop")
    assert [each["text"] for each in dropped["source"]["tokens"]] == [
        each["text"] for each in kept["source"]["tokens"] if "special" not in each
    ]
    assert _linked(dropped) == _linked(kept)
    assert all(source for source, _ in _linked(kept))  # no link leads to the token of the language
    words = await answer(client, "/attention", **fields, tokens="word", specials="renormalise")
    assert [each["text"] for each in words["source"]["tokens"]] == ["The", "cat", "sleeps", "."]
    forced = await answer(client, "/attention", **fields, target_text=SAID[target][1])
    assert forced["score"] < kept["score"]
    other = "de" if target == "fr" else "fr"
    crossed = await answer(client, "/attention", **fields, target_text=SAID[other][0])
    assert crossed["score"] < kept["score"]  # the other language is a worse translation into this one


@pytest.mark.parametrize(("target", "place"), PAIRS)
async def test_html_and_streams_and_pictures_are_of_the_right_pair(
    client: httpx.AsyncClient, target: str, place: int
) -> None:
    page = await answer(client, "/translate", q=f"<p><b>{CAT}</b></p><hr><p>{DOG}</p>", source="en", target=target,
                        format="html")  # fmt: skip
    one, other = SAID[target]
    assert page["translatedText"] == f"<p><b>{one}</b></p><hr><p>{other}</p>"
    streamed = await client.post("/translate/stream", json={"q": CAT, "source": "en", "target": target})
    done = json.loads(streamed.text.strip().split("\n")[-1].removeprefix("data: "))
    assert done["translatedText"] == one
    tokens = [json.loads(line.removeprefix("data: ")) for line in streamed.text.split("\n") if '"logprob"' in line]
    assert "".join(token["text"] for token in tokens) == one
    picture = await client.get("/attention", params={"text": CAT, "source": "en", "target": target, "format": "csv"})
    assert picture.status_code == 200
    assert any(word in picture.text for word in (one.split()[1], one.split()[1][:2]))


async def test_the_language_is_detected(client: httpx.AsyncClient) -> None:
    found = await answer(client, "/translate", q=CAT, source="auto", target="de")
    assert found["translatedText"] == SAID["de"][0]
    assert found["detectedLanguage"]["language"] == "en"
    texts = [CAT, "Le cheval dort dans la maison."]  # no model translates from French: it stays as it is
    found = await answer(client, "/translate", q=texts, source="auto", target="de")
    assert found["translatedText"] == [SAID["de"][0], texts[1]]


async def test_the_inference_protocol_takes_the_target_as_a_parameter(client: httpx.AsyncClient) -> None:
    path = f"/v2/models/{NAME}/infer"
    inputs = [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [CAT]}]
    for target, _ in PAIRS:
        found = await answer(client, path, inputs=inputs, parameters={"target": target})
        assert found["outputs"][0]["data"] == [SAID[target][0]]
    missing = await client.post(path, json={"inputs": inputs})
    assert (missing.status_code, missing.json()["param"]) == (400, "target")
    assert "fr, de" in missing.json()["error"]
    for parameters in ({"target": "it"}, {"target": "fr", "source": "de"}, {"target": 7}):
        refused = await client.post(path, json={"inputs": inputs, "parameters": parameters})
        assert refused.status_code == 400, refused.text
    metadata = (await client.get(f"/v2/models/{NAME}")).json()
    assert metadata["properties"]["target"] == "fr, de"


@pytest.mark.parametrize(("source", "target"), [("fr", "de"), ("de", "fr")])
def test_the_real_server_reaches_either_target_through_english(server: ServerProcess, source: str, target: str) -> None:
    """The first leg is a shipped model, the second one a pair of the import."""
    text = SAID[source][0]
    whole = post(server, "/translate", q=text, source=source, target=target, details=True)
    english = whole["details"]["pivot"]["text"]
    assert (whole["pivot"], whole["details"]["pivot"]["model"]) == ("en", INTO_ENGLISH.name)
    direct = post(server, "/translate", q=english, source="en", target=target, model=NAME)
    assert whole["translatedText"] == direct["translatedText"]
    weights = post(server, "/attention", text=text, source=source, target=target, leg=2)
    assert (weights["model"], weights["source"]["text"]) == (NAME, english)
    assert weights["target"]["text"] == whole["translatedText"]
    listed = {each["code"]: each for each in httpx.get(f"{server.url}/languages").json()}
    assert listed[source]["pivots"] == {target: "en"}


def test_the_command_line_translates_into_either_target(models: Path) -> None:
    for target, _ in PAIRS:
        arguments = ["translate", CAT, "--to", target, "--models-dir", str(models)]
        found = CliRunner().invoke(cli, arguments)
        assert found.output.strip().splitlines()[-1] == SAID[target][0]
    found = CliRunner().invoke(cli, ["translate", CAT, "--models-dir", str(models)])
    assert found.exit_code == 2
    assert "--to: de, fr" in found.output


def test_any_target_can_be_compared_with_the_original(models: Path, tmp_path: Path) -> None:
    target, place = PAIRS[1]
    bundle = tmp_path / NAME
    shutil.copytree(models / NAME, bundle)
    for name, number in (("text", 0), ("references", place)):
        lines = [each[number] for each in SENTENCES[:6]]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = ["--text", str(tmp_path / "text"), "--references", str(tmp_path / "references")]
    CliRunner().invoke(app, ["import", "check", str(bundle), str(models.parent / NAME), *files, "--target", target])
    checked = load_bundle(bundle).manifest.card["imported"]["checked"]
    assert (checked["target"], checked["sentences"]) == (target, 6)
    what = {figure["what"]: figure["value"] for figure in checked["figures"]}
    assert what["texts with the same source tokens"] == 1
    assert what["equal translations, values=off"] > 0.8
    assert what["BLEU of the original"] > 80  # in the language that was named
    refused = CliRunner().invoke(
        app, ["import", "check", str(bundle), str(models.parent / NAME), *files, "--target", "it"]
    )
    assert "does not translate into it; choose one of fr, de" in str(refused.exception)


def test_calibration_uses_the_token_of_every_target(models: Path) -> None:
    model = read_marian(models.parent / NAME, MarianOptions(NAME))
    prefixes = [target.prefix[0] for target in model.targets]
    assert len(set(prefixes)) == 2
    for rows in (encode_sources(model, [CAT, "", DOG, CAT]), made_up_sources(model, 4)):
        assert [row[0] for row in rows] == (prefixes * 2)[: len(rows)]
        assert all(row[-1] == EOS and len(row) <= LONGEST for row in rows)
    assert len(encode_sources(model, [f"{CAT} " * 100])[0]) == LONGEST
