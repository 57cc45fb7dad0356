"""Times of day in words through POST /translate: quarter hours in four spellings, with every shipped pair."""

import re
from collections.abc import Iterator

import httpx
import pytest

from service.bundle.spoken_clock import HOURS, spoken
from tests.support.server import running

FRAMES = {"en": "The train leaves at {}.", "fr": "Le train part à {}.", "de": "Der Zug fährt um {}."}
TIMES = [(hour, minute) for hour in range(1, 13) for minute in (0, 15, 30, 45)]
WORDS = {name: {*hours, "quarter", "half", "quart", "demie", "viertel", "halb"} for name, hours in HOURS.items()}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running("-m", "service", "serve", "--device", "cpu") as server:
        yield server.url


def spellings(hour: int, minute: int, language: str) -> list[str]:
    usual = FRAMES[language].format(spoken(hour, minute)[language])
    other = FRAMES[language].format(spoken(hour, minute, article=False)[language].replace("half past", "half-past"))
    words = "|".join(sorted(HOURS[language], key=len, reverse=True))
    last = rf"^(.*)\b({words})\b" if language != "fr" else rf"^(.*à )({words})\b"
    figure = re.sub(last, lambda match: f"{match[1]}{HOURS[language].index(match[2]) + 1}", usual)
    return [usual, usual.upper(), other, usual if minute == 0 else figure]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("en", "de"), ("fr", "en"), ("de", "en")])
def test_a_quarter_hour_is_said_as_the_target_language_says_it(url: str, source: str, target: str) -> None:
    asked = [(time, text) for time in TIMES for text in spellings(*time, source)]
    found: list[str] = []
    for start in range(0, len(asked), 32):
        texts = [text for _, text in asked[start : start + 32]]
        answer = httpx.post(f"{url}/translate", json={"q": texts, "source": source, "target": target}, timeout=60)
        found += answer.json()["translatedText"]
    wrong = []
    for (time, text), translation in zip(asked, found, strict=True):
        before, said, after = translation.lower().partition(spoken(*time)[target].lower())
        if not said or set(re.findall(r"\w+", before + after)) & WORDS[target]:
            wrong.append((text, translation))
    assert wrong == []
