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
