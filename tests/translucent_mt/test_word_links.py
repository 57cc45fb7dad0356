"""The words of a sentence and their links are the same from HTTP, the command line, Python and MCP."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from service.cli.find_model import ModelQuery
from service.cli.open_models import BulkOptions
from service.cli.translate import run
from tests.support.paths import MODELS
from tests.support.server import running
from translucent_mt import Translator
from translucent_mt.mcp_server import Models, server_of

MODEL = "transformer-en-fr"
PAIR = {"source": "en", "target": "fr"}
Links = list[tuple[str, list[str]]]  # each translated word with those that it is aligned with


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with (
        running("-m", "service", "serve", "--models-dir", str(MODELS), "--device", "cpu") as server,
        httpx.Client(base_url=server.url) as client,
    ):
        yield client


def links(sources: list[str], targets: list[str], pairs: Any) -> Links:
    return [(word, [sources[i] for i, j in sorted(pairs) if j == number]) for number, word in enumerate(targets)]


def of_attention(client: httpx.Client, text: str, **given: str) -> Links:
    fields = {"text": text, **PAIR, **given, "model": MODEL, "tokens": "word", "specials": "drop"}
    body = client.post("/attention", json=fields).json()
    sources, targets = ([token["text"] for token in body[side]["tokens"]] for side in ("source", "target"))
    return links(sources, targets, body["alignment"])


def of_details(client: httpx.Client, text: str) -> Links:
    body = client.post("/translate", json={"q": text, **PAIR, "model": MODEL, "details": True}).json()
    [sentence] = body["details"]["sentences"]
    return links(sentence["source"]["words"], sentence["target"]["words"], sentence["word_alignment"])


async def of_command(folder: Path, text: str, given: str | None = None) -> Links:
    words, alignments = folder / "words", folder / "alignments"
    (folder / "text").write_text(f"{text}\n", "utf-8")
    if given is not None:
        (folder / "given").write_text(f"{given}\n", "utf-8")
    more: dict[str, Any] = {"output": folder / "out"} if given is None else {"target_file": folder / "given"}
    options = BulkOptions(ModelQuery(MODEL), MODELS, input=folder / "text", words=words, alignments=alignments, **more)
    await asyncio.to_thread(run, options)
    sources, targets = (side.split() for side in words.read_text("utf-8").split(" ||| "))
    return links(sources, targets, [[*map(int, link.split("-"))] for link in alignments.read_text().split()])


async def of_assistant(text: str, **given: str) -> Links:
    async with Client(server_of(Models(None, MODELS, None))) as client:
        answer = await client.call_tool("explain_alignment", {"text": text, **PAIR, **given})
        [sentence] = answer.structured_content["result"]
        return [(word["target"], word["source"]) for word in sentence["words"]]


@pytest.mark.parametrize("text", ["I lost my red car.", "Am I dreaming?", "I'm Tom's well-known friend, isn't he?"])
async def test_the_words_of_a_translation_have_the_same_partners_everywhere(
    client: httpx.Client, tmp_path: Path, text: str
) -> None:
    expected = of_attention(client, text)
    assert of_details(client, text) == expected
    assert await of_command(tmp_path, text) == expected
    assert await of_assistant(text) == expected
    with Translator.load(MODEL, models_dir=MODELS) as translator:
        [sentence] = translator(text).sentences
    assert links([*sentence.source_words], [*sentence.words], sentence.word_alignment) == expected


async def test_the_words_of_a_given_translation_have_the_same_partners_everywhere(
    client: httpx.Client, tmp_path: Path
) -> None:
    text, given = "I lost my red car.", "J'ai perdu ma voiture rouge."
    expected = of_attention(client, text, target_text=given)
    assert await of_command(tmp_path, text, given) == expected
    assert await of_assistant(text, translation=given) == expected
    partners = dict(expected)
    assert partners["J'"] == ["I"]
    assert partners["rouge"] == ["red"]
    assert partners["."] == ["."]
