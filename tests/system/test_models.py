"""The shipped models behind the real server, as a user meets them.

TEST_MODELS_DIR names another folder of bundles to try.
"""

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.server import ROOT, ServerProcess, metric, running

MODELS = Path(os.environ.get("TEST_MODELS_DIR", ROOT / "models"))
SENTENCES = ("Go.", "I lost.", "He's calm.", "I'm home.")  # of the seeds
KNOWN = (
    {"Va !", "Va.", "Allez !", "Allez."},
    {"J'ai perdu."},
    {"Il est calme."},
    {"Je suis chez moi.", "Je suis à la maison."},
)
WORDS = "I you he lost found my your keys at home yesterday and is calm never very old 🎉 été 漢字"
LONG = "He is calm. I lost my keys!\n" * 100


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


@pytest.mark.parametrize("spelled", [str, lambda text: f"{text[:-1].lower()} ."])
def test_the_sentences_everybody_knows(
    server: ServerProcess, models: list[dict[str, Any]], spelled: Callable[[str], str]
) -> None:
    for model in models:
        if (model["source"], model["target"]) == ("en", "fr") and model["card"]["parameters"] > 1e6:
            given = of(model, q=[spelled(text) for text in SENTENCES])
            found = httpx.post(f"{server.url}/translate", json=given, timeout=60).json()["translatedText"]
            assert all(text in accepted for text, accepted in zip(found, KNOWN, strict=True)), found


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_company_changes_nothing(server: ServerProcess, models: list[dict[str, Any]], beam_size: int) -> None:
    generator = random.Random(2)
    lengths = [generator.randint(1, 40) for _ in range(40)]
    texts = [" ".join(generator.choices(WORDS.split(), k=length)) + "." for length in lengths] + [LONG]
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:

        async def details(model: dict[str, Any], *q: str) -> list[Any]:
            fields = of(model, q=q, details=True, beam_size=beam_size)
            answer = await client.post("/translate", json=fields)
            assert answer.status_code == 200, answer.text
            return list(answer.json()["details"])

        every = [details(model, *part) for model in models for part in (texts, *([text] for text in texts[::4]))]
        answers = iter(await asyncio.gather(*every))
        for _ in models:
            together = next(answers)
            assert [next(answers) for _ in texts[::4]] == [[one] for one in together[::4]]
    assert metric(server.url, "rows_in_use") == 0


def check_attention(body: dict[str, Any], text: str) -> None:
    """Shape, sums and positions of a map of subwords."""
    source, target = body["source"], body["target"]
    assert source["text"] == text
    for side in (source, target):
        for token in side["tokens"]:
            assert token["text"] == side["text"][token["start"] : token["end"]]
        assert side["tokens"][-1]["special"] == "</s>"
    assert body["axes"] == ["target", "source"]
    assert len(body["weights"]) == len(body["token_logprobs"]) == len(body["token_ranks"]) == len(target["tokens"])
    *rows, last = body["weights"]
    if body["step"] == "consume":
        assert last == [None] * len(source["tokens"])
    for row in rows if body["step"] == "consume" else body["weights"]:
        assert len(row) == len(source["tokens"])
        assert sum(row) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("text", ["I lost.", "  He's  calm, 🎉 isn't he? ", "été"])
def test_attention_has_its_shape_and_points_into_the_text(
    server: ServerProcess, models: list[dict[str, Any]], text: str
) -> None:
    for model in models:
        for fields in ({}, {"target_text": "C'est  perdu. 🎉"}):
            answer = httpx.get(f"{server.url}/attention", params=of(model, text=text, **fields), timeout=30)
            assert answer.status_code == 200, answer.text
            assert answer.json()["digest"] == model["digest"]
            check_attention(answer.json(), text)
        kinds = ("encoder", "decoder")
        statuses = {httpx.get(answer.url.copy_set_param("kind", kind)).status_code for kind in kinds}
        assert statuses == {400 if model["attention"]["encoder"] is None else 200}
