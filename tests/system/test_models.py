"""The shipped models behind the real server, as a user meets them; TEST_MODELS_DIR names another folder of bundles."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from service.bundle.spoken_clock import spoken
from service.languages import known_languages
from tests.support.paths import ROOT
from tests.support.server import ServerProcess, running

MODELS = Path(os.environ.get("TEST_MODELS_DIR", ROOT / "models"))
SENTENCES = ("Go.", "I lost.", "He's calm.", "I'm home.")  # of the seeds
KNOWN = {
    "fr": (
        {"Va !", "Va.", "Allez !", "Allez."},
        {"J'ai perdu."},
        {"Il est calme."},
        {"Je suis chez moi.", "Je suis à la maison.", "Je suis rentré.", "Je suis rentrée."},
    ),
    "de": (
        {"Geh.", "Geh!", "Gehen Sie.", "Gehen Sie!", "Los!"},
        {"Ich habe verloren.", "Ich verlor."},
        {"Er ist ruhig.", "Er ist gelassen."},
        {"Ich bin zu Hause.", "Ich bin daheim."},
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    if not list(MODELS.glob("*/manifest.json")):
        pytest.skip(f"there is no model in {MODELS}")
    with running("-m", "service", "serve", "--models-dir", str(MODELS), "--device", "cpu") as server:
        yield server
        server.signal()
        assert server.exit_code() == 0
        assert "I lost" not in "".join(server.raw)


@pytest.mark.parametrize("spelled", [str, lambda text: f"{text[:-1].lower()} ."])
def test_the_sentences_everybody_knows(server: ServerProcess, spelled: Callable[[str], str]) -> None:
    for model in httpx.get(f"{server.url}/models").json()["models"]:
        if model["source"] == "en" and model["card"]["parameters"] > 1e6:
            given = {"q": [spelled(text) for text in SENTENCES], "source": "en", "target": model["target"]}
            given |= {"model": model["name"]}
            found = httpx.post(f"{server.url}/translate", json=given).json()["translatedText"]
            for text, accepted in zip(found, KNOWN[model["target"]], strict=True):
                assert text in accepted, (model["name"], found)


FRAMES = {"en": "The train leaves at {}.", "fr": "Le train part à {}.", "de": "Der Zug fährt um {}."}
TIMES = [(hour, minute) for hour in range(1, 13) for minute in (0, 15, 30, 45)]
HOURS = {language.tag: language.spoken_clock.hours for language in known_languages()}
WORDS = {name: {*hours, "quarter", "half", "quart", "demie", "viertel", "halb"} for name, hours in HOURS.items()}


def spellings(hour: int, minute: int, language: str) -> list[str]:
    usual = FRAMES[language].format(spoken(hour, minute)[language])
    other = FRAMES[language].format(spoken(hour, minute, article=False)[language].replace("half past", "half-past"))
    words = "|".join(sorted(HOURS[language], key=len, reverse=True))
    last = rf"^(.*)\b({words})\b" if language != "fr" else rf"^(.*à )({words})\b"
    figure = re.sub(last, lambda match: f"{match[1]}{HOURS[language].index(match[2]) + 1}", usual)
    return [usual, usual.upper(), other, usual if minute == 0 else figure]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("en", "de"), ("fr", "en"), ("de", "en")])
def test_a_quarter_hour_is_said_as_the_target_language_says_it(server: ServerProcess, source: str, target: str) -> None:
    asked = [(time, text) for time in TIMES for text in spellings(*time, source)]
    found: list[str] = []
    for start in range(0, len(asked), 32):
        texts = [text for _, text in asked[start : start + 32]]
        answer = httpx.post(f"{server.url}/translate", json={"q": texts, "source": source, "target": target})
        found += answer.json()["translatedText"]
    wrong = []
    for (time, text), translation in zip(asked, found, strict=True):
        before, said, after = translation.lower().partition(spoken(*time)[target].lower())
        if not said or set(re.findall(r"\w+", before + after)) & WORDS[target]:
            wrong.append((text, translation))
    assert wrong == []
