"""One road: every route, the command line and the Python face give the same translation of the same text."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.support.paths import ROOT
from tests.support.server import running
from translucent_mt import Translator

EMOJI = (
    *("👍", "❤️", "😀", "🌍", "🍕", "🎂🎉", "🏖️", "☔", "▶", "✅", "🙏", "😴😴😴", "#️⃣", "©️", "⭐", "🔥", "🇫🇷", "🇩🇪🇬🇧"),
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    *("👨‍👩‍👧", "👩🏽‍🚀", "👋🏿", "🤷🏻‍♀️", "🏳️‍🌈", "👩‍❤️‍👨", "🧑🏾‍🤝‍🧑🏼"),
)
CODES = (
    *("K2", "AB-1234", "%s", "{name}", "$HOME", "--force", "get_name()", "1.2.3", "#pizza", "@anna_b", "report_v2.pdf"),
    *("https://example.com/a?b=c", "bob@example.org", "/etc/hosts", "DE89 3704 0044 0532 0130 00"),
)
NUMBERS = ("2", "12", "47", "2024-05-01", "16:9", "365")
FRAMES = (
    *("I {} you", "Great job {}", "{} is at home.", "My sister likes {} very much.", "Please open {} and wait."),
    *("We saw {} yesterday, and then we went home.", "{} Thank you!", "Thanks! {} See you soon."),
    *("Do you use spice or {}?", "I have {} in my bag. Where is yours?", "{}", "- Send {} to me"),
    *("HELLO, {} IS NOT HERE TODAY.", "Press {}, then {} to play.", "He said: “{}” and left {} on the table."),
    "<b>Read</b> {} & more.",
)


class Mixed(NamedTuple):
    """A text, and the parts of it that its translation holds as they are."""

    text: str
    kept: tuple[str, ...]


def mixed_strings(count: int, seed: int = 7) -> Iterator[Mixed]:
    """Yield texts, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        frame = chance.choice(FRAMES)
        parts = [chance.choice(chance.choice((EMOJI, EMOJI, CODES, NUMBERS))) for _ in range(frame.count("{}"))]
        yield Mixed(frame.format(*parts), tuple(parts))


COUNT = int(os.environ.get("ONE_ROAD_STRINGS", "40"))
PAIR = {"source": "en", "target": "fr"}
TEXTS = list(mixed_strings(COUNT))


@pytest.fixture(scope="module", params=["transformer-en-fr", "bahdanau-en-fr"])
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def url(model: str) -> Iterator[str]:
    settings = {
        "TRANSLUCENT_MEMORY_LIMIT_MB": "1000000",
        "TRANSLUCENT_DEFAULT_MODELS": model,
        "TRANSLUCENT_ENGINE_PROCESSES": "1",
    }
    with running("-m", "service", "serve", **settings) as server:
        yield server.url


@pytest.fixture(scope="module")
def translator(model: str) -> Iterator[Translator]:
    with Translator.load(str(ROOT / "models" / model)) as translator:
        yield translator


@pytest.fixture(scope="module")
def translations(url: str) -> dict[int, list[str]]:
    """Return the translations of /translate, by beam size."""
    return {beam_size: asyncio.run(ask(url, beam_size)) for beam_size in (1, 4)}


async def ask(url: str, beam_size: int) -> list[str]:
    async with httpx.AsyncClient(base_url=url) as client:
        answers = [
            await client.post("/translate", json={"q": each.text, "beam_size": beam_size, **PAIR}) for each in TEXTS
        ]
    return [answer.json()["translatedText"] for answer in answers]


def test_all_values_are_kept(translations: dict[int, list[str]]) -> None:
    for written in translations.values():
        lost = [
            (each, text)
            for each, text in zip(TEXTS, written, strict=True)
            if any(text.count(part) < each.kept.count(part) for part in each.kept)
        ]
        assert not lost


def test_a_list_is_translated_like_each_text(url: str, translations: dict[int, list[str]]) -> None:
    found: list[str] = []
    for first in range(0, COUNT, 32):
        body = {"q": [each.text for each in TEXTS[first : first + 32]], "beam_size": 4, **PAIR}
        found += httpx.post(f"{url}/translate", json=body).json()["translatedText"]
    assert found == translations[4]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_attention_is_of_the_same_text(url: str, translations: dict[int, list[str]], beam_size: int) -> None:
    for each, expected in zip(TEXTS, translations[beam_size], strict=True):
        fields = {"text": each.text, "beam_size": beam_size, **PAIR}
        found = httpx.post(f"{url}/attention", json=fields).json()
        assert found["target"]["text"] == expected, found
        assert found["source"]["text"] == each.text


def test_python_gives_the_same_text(translator: Translator, translations: dict[int, list[str]]) -> None:
    for each, expected in zip(TEXTS, translations[4], strict=True):
        found = translator(each.text, beam_size=4)
        assert found.text == expected
        assert translator.attention(each.text, beam_size=4).target == expected
        for sentence in found.sentences:
            assert sentence.attention.target == sentence.text
            assert sentence.attention.score == pytest.approx(sentence.score, abs=1e-4)


def test_the_command_line_gives_the_same_text(model: str, translations: dict[int, list[str]], tmp_path: Path) -> None:
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text("".join(f"{each.text}\n" for each in TEXTS))
    command = [sys.executable, "-m", "service", "translate", "--model", model, "--from", "en", "--to", "fr"]
    files = ["--input", str(source), "--output", str(target), "--beam-size", "4"]
    subprocess.run([*command, *files], cwd=ROOT, check=True, capture_output=True)
    assert target.read_text().splitlines() == translations[4]
