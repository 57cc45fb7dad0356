"""One road: every route, the command line and the Python face give the same translation of the same text."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.server import ROOT, running
from tests.system.mixed_strings import mixed_strings
from translucent_mt import Translator

COUNT = int(os.environ.get("ONE_ROAD_STRINGS", "40"))
PAIR = {"source": "en", "target": "fr"}
TEXTS = list(mixed_strings(COUNT))


@pytest.fixture(scope="module", params=["transformer-en-fr", "bahdanau-en-fr"])
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def url(model: str) -> Iterator[str]:
    settings = {"TRANSLUCENT_LOAD": "lazy", "TRANSLUCENT_DEFAULT_MODELS": model, "TRANSLUCENT_ENGINE_PROCESSES": "1"}
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
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
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
        found += httpx.post(f"{url}/translate", json=body, timeout=60).json()["translatedText"]
    assert found == translations[4]


def test_a_stream_gives_the_same_text(url: str, translations: dict[int, list[str]]) -> None:
    for each, expected in zip(TEXTS, translations[1], strict=True):
        answer = httpx.post(f"{url}/translate/stream", json={"q": each.text, **PAIR}, timeout=60).text
        [done] = [line for line in answer.split("\n\n") if line.startswith("event: done")]
        assert json.loads(done.partition("data: ")[2])["translatedText"] == expected


@pytest.mark.parametrize("beam_size", [1, 4])
def test_attention_is_of_the_same_text(url: str, translations: dict[int, list[str]], beam_size: int) -> None:
    for each, expected in zip(TEXTS, translations[beam_size], strict=True):
        fields = {"text": each.text, "beam_size": beam_size, **PAIR}
        found = httpx.post(f"{url}/attention", json=fields, timeout=60).json()
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
