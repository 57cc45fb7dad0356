"""The shipped models behind the real server, as a user meets them.

TEST_MODELS_DIR names another folder of bundles to try.
"""

import asyncio
import json
import os
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.engine.registry import Registry
from service.engine.types import TranslationOptions
from tests.support.polling import wait_until_async
from tests.support.server import ROOT, ServerProcess, metric, running

MODELS = Path(os.environ.get("TEST_MODELS_DIR", ROOT / "models"))
LANGUAGES = ("fr", "de")
SENTENCES = ("Go.", "I lost.", "He's calm.", "I'm home.")


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    if not list(MODELS.glob("*/manifest.json")):
        pytest.skip(f"there is no model in {MODELS}")
    with running("-m", "service", "serve", "--models-dir", str(MODELS), "--device", "cpu") as server:
        yield server
        server.signal()
        assert server.exit_code() == 0
        assert "I lost" not in "".join(server.raw)


@pytest.fixture(scope="module")
def models(server: ServerProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{server.url}/models").json()["models"]
    return found


def of(model: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": model["name"], "source": model["source"], "target": model["target"], **fields}


def translate(server: ServerProcess, **fields: Any) -> Any:
    answer = httpx.post(f"{server.url}/translate", json=fields, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()["translatedText"]


def test_the_sentences_everybody_knows(server: ServerProcess, models: list[dict[str, Any]]) -> None:
    known = (
        {"Va !", "Va.", "Allez !", "Allez."},
        {"J'ai perdu."},
        {"Il est calme."},
        {"Je suis chez moi.", "Je suis à la maison."},
    )
    for model in models:
        if (model["source"], model["target"]) != ("en", "fr") or model["card"]["parameters"] < 1e6:
            continue
        found = translate(server, **of(model, q=list(SENTENCES)))
        assert all(text in accepted for text, accepted in zip(found, known, strict=True)), found
        assert translate(server, q="I lost.", source="en", target="fr") == "J'ai perdu."


@pytest.fixture
def models_and_a_toy(tmp_path: Path) -> Path:
    """Return a folder as the README's `training export runs/toy --output models/toy` leaves it."""
    shipped = list(MODELS.glob("*-en-fr"))
    if not shipped:
        pytest.skip(f"there is no model into French in {MODELS}")
    for folder in shipped:
        (tmp_path / folder.name).symlink_to(folder)
    shutil.copytree(ROOT / "tests/data/bundles/multi30k-transformer-en-de", tmp_path / "toy")
    manifest = json.loads((tmp_path / "toy" / "manifest.json").read_text("utf-8"))
    manifest |= {"name": "toy", "target_language": "fr", "card": {**manifest["card"], "scores": []}}
    (tmp_path / "toy" / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return tmp_path


async def test_a_toy_takes_over_no_pair(models_and_a_toy: Path) -> None:
    registry = Registry(models_and_a_toy)
    registry.load()
    assert "toy" in [info.name for info in registry.models()]
    assert registry.resolve("en", "fr", "toy").name == "toy"
    default = registry.resolve("en", "fr", None)
    assert default.name != "toy"
    for chosen in {default, registry.resolve("en", "fr", "transformer"), registry.resolve("en", "fr", "bahdanau")}:
        await chosen.start()
        [translation] = await chosen.translate(["I lost."], TranslationOptions())
        await chosen.stop(0.0)
        assert translation.text == "J'ai perdu."


def test_white_space_line_breaks_and_emoji_stay_where_they_were(
    server: ServerProcess, models: list[dict[str, Any]]
) -> None:
    for model in models:
        one, two = (translate(server, **of(model, q=text)) for text in ("I lost.", "He's calm!"))
        assert translate(server, **of(model, q="  I lost.\n\n\tHe's calm! 🎉\r\n")) == f"  {one}\n\n\t{two} 🎉\r\n"
        assert translate(server, **of(model, q="🎉👩‍👩‍👧‍👦 \n")) == "🎉👩‍👩‍👧‍👦 \n"


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_company_changes_nothing(server: ServerProcess, models: list[dict[str, Any]], beam_size: int) -> None:
    generator = random.Random(2)
    words = "I you he she lost found my your keys house is was calm home go going not never very old"
    texts = [" ".join(generator.choices(words.split(), k=generator.randint(1, 20))) + "." for _ in range(64)]
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
        for model in models:

            async def details(*q: str, model: dict[str, Any] = model) -> list[Any]:
                answer = await client.post("/translate", json=of(model, q=q, details=True, beam_size=beam_size))
                assert answer.status_code == 200, answer.text
                return list(answer.json()["details"])

            together = await details(*texts)
            for number in range(0, 64, 8):
                [alone] = await details(texts[number])
                assert alone == together[number]


async def test_a_hundred_mixed_requests_at_once(server: ServerProcess, models: list[dict[str, Any]]) -> None:
    generator = random.Random(3)
    words = ["I", "lost", "my", "keys", "at", "home", "yesterday", "and", "he", "is", "calm", "🎉", "été", "漢字", "\n"]
    texts = [" ".join(generator.choices(words, k=generator.randint(1, 120))) + "." for _ in range(99)]
    texts.append("He is calm. I lost my keys!\n" * 714)  # 20,000 characters
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=120) as client:
        requests = [of(models[n % len(models)], q=text) for n, text in enumerate(texts)]
        answers = await asyncio.gather(*(client.post("/translate", json=request) for request in requests))
        assert {answer.status_code for answer in answers} == {200}
        for number in (*range(0, 99, 10), 99):
            again = await client.post("/translate", json=requests[number])
            assert again.json() == answers[number].json()
    assert answers[-1].json()["translatedText"].count("\n") == 714
    await wait_until_async(lambda: metric(server.url, "rows_in_use") == 0)


async def test_a_client_that_leaves_frees_its_rows(server: ServerProcess, models: list[dict[str, Any]]) -> None:
    for model in models:
        await check_leaving_frees_rows(server, model)


async def check_leaving_frees_rows(server: ServerProcess, model: dict[str, Any]) -> None:
    figure = partial(metric, server.url, model=model["name"])
    cancelled = figure("sentences_cancelled_total")
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        # Equal sentences share one decode, which can end before the client leaves.
        sentences = [f"I lost key number {number} and went home." for number in range(1000)]
        request = of(model, q=[" ".join(sentences[text::20]) for text in range(20)])
        leaving = asyncio.create_task(client.post("/translate", json=request))
        await wait_until_async(lambda: figure("rows_in_use") > 0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
    await wait_until_async(lambda: figure("rows_in_use") == 0)
    await wait_until_async(lambda: figure("queued_sentences") == 0)
    await wait_until_async(lambda: figure("sentences_cancelled_total") > cancelled)


def check_attention(body: dict[str, Any], text: str) -> None:
    """Shape, sums and positions of a map of subwords."""
    source, target = body["source"], body["target"]
    sizes = {"source": len(source["tokens"]), "target": len(target["tokens"])}
    assert source["text"] == text
    for side in (source, target):
        for token in side["tokens"]:
            assert token["text"] == side["text"][token["start"] : token["end"]]
        assert side["tokens"][-1]["special"] == "</s>"
    assert len(body["weights"]) == sizes[body["axes"][0].split("_")[0]]
    unread = len(body["weights"]) - 1 if body["step"] == "consume" else None
    for number, row in enumerate(body["weights"]):
        assert len(row) == sizes[body["axes"][1].split("_")[0]]
        if number == unread:
            assert row == [None] * len(row)
            continue
        assert sum(row) == pytest.approx(1, abs=1e-3)
    assert len(body["token_logprobs"]) == len(body["token_ranks"]) == sizes["target"]


@pytest.mark.parametrize("text", ["I lost.", "  He's  calm, 🎉 isn't he? ", "été"])
def test_attention_has_its_shape_and_points_into_the_text(
    server: ServerProcess, models: list[dict[str, Any]], text: str
) -> None:
    for model in models:
        for fields in ({}, {"target_text": "C'est  perdu. 🎉"}):
            answer = httpx.get(f"{server.url}/attention", params=of(model, text=text, **fields), timeout=30)
            assert answer.status_code == 200, answer.text
            body = answer.json()
            assert body["axes"] == ["target", "source"]
            assert body["digest"] == model["digest"]
            check_attention(body, text)
        if model["attention"]["encoder"] is None:
            assert httpx.get(answer.url.copy_set_param("kind", "encoder")).status_code == 400
            continue
        for kind in ("encoder", "decoder"):
            answer = httpx.get(f"{server.url}/attention", params=of(model, text=text, kind=kind), timeout=30)
            assert answer.status_code == 200, answer.text


def test_align_shows_the_rows_that_alignments_are_read_from(
    server: ServerProcess, models: list[dict[str, Any]]
) -> None:
    for model in models:
        align = model["attention"]["align"]
        fields = of(model, text="My sister never told me why.")
        body = httpx.get(f"{server.url}/attention", params=fields, timeout=30).json()
        shown = body["weights"]
        assert body["step"] == align["step"]
        numbers = {"layer": align["layer"], "head": align["head"]}
        body = httpx.get(f"{server.url}/attention", params=fields | numbers, timeout=30).json()
        raw = body["weights"]
        assert body["step"] == "produce"
        unknown = [None] * len(raw[0])
        assert shown == ([*raw[1:], unknown] if align["step"] == "consume" else raw)


def test_attention_is_that_of_the_translation_returned(server: ServerProcess, models: list[dict[str, Any]]) -> None:
    for model in models:
        text = "He lost my keys."
        shown = httpx.get(f"{server.url}/attention", params=of(model, text=text), timeout=30).json()
        assert shown["target"]["text"] == translate(server, **of(model, q=text))


def test_a_text_that_is_too_long_for_attention_is_told_so(server: ServerProcess, models: list[dict[str, Any]]) -> None:
    answer = httpx.post(f"{server.url}/attention", json=of(models[0], text="keys " * 600), timeout=30)
    assert (answer.status_code, answer.json()["code"]) == (400, "input_too_long")


def test_over_long_sentences_are_translated_whole(server: ServerProcess, models: list[dict[str, Any]]) -> None:
    text = "I lost my keys, " * 150 + "and went home."
    for model in models:
        answer = httpx.post(f"{server.url}/translate", json=of(model, q=text, details=True), timeout=60)
        pieces = answer.json()["details"]["sentences"]
        assert len(pieces) > 1
        assert " ".join(piece["source"]["text"].strip() for piece in pieces) == text
