"""The shipped models behind the real server, as a user meets them.

TEST_MODELS_DIR names another folder of bundles to try.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.server import ROOT, ServerProcess, running

MODELS = Path(os.environ.get("TEST_MODELS_DIR", ROOT / "models"))
SENTENCES = ("Go.", "I lost.", "He's calm.", "I'm home.")  # of the seeds
KNOWN = (
    {"Va !", "Va.", "Allez !", "Allez."},
    {"J'ai perdu."},
    {"Il est calme."},
    {"Je suis chez moi.", "Je suis à la maison."},
)


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
