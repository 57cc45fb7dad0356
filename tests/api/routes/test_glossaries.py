"""Glossaries over HTTP, over a dummy engine: in the request, by name, and every refusal as one sentence."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_client import Client, serving


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    (tmp_path / "legal.en-fr.tsv").write_text("lost\tégaré\n", encoding="utf-8")
    async with serving(glossaries_dir=tmp_path) as client:
        yield client


REQUEST = {"q": "I lost.", "source": "en", "target": "fr"}


async def test_glossaries_are_listed_without_their_terms(client: Client) -> None:
    answer = await client.get("/glossaries")
    assert answer.json() == [{"name": "legal", "source": "en", "target": "fr", "terms": 1}]


@pytest.mark.parametrize(
    "glossary",
    ["legal", {"lost": "égaré"}, [["lost", "égaré"]], {"lost": ["égaré", "égarée"]}, json.dumps({"lost": "égaré"})],
)
async def test_every_form_of_a_glossary_is_accepted(client: Client, glossary: Any) -> None:
    answer = await client.post("/translate", json={**REQUEST, "glossary": glossary})
    assert answer.status_code == 200, answer.text


async def test_inference_takes_a_glossary_among_its_parameters(client: Client) -> None:
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["I lost."]}
    for glossary, status in (({"lost": "égaré"}, 200), ("nope", 400)):
        body = {"inputs": [tensor], "parameters": {"glossary": glossary}}
        answer = await client.post("/v2/models/transformer-en-fr/infer", json=body)
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("glossary", "code", "sentence"),
    [
        ("medical", "invalid_glossary", "There is no glossary of this name"),
        ({"lost": ""}, "invalid_glossary", "no translation of"),
        ({"...": "x"}, "invalid_glossary", "without a letter or digit"),
        ({"a": "\u0007x"}, "invalid_glossary", "control character"),
        ({"a": "x\u2028x"}, "invalid_glossary", "line break"),
        ({"a": " "}, "invalid_glossary", "no translation of"),
        ([["lost", "a"], ["Lost", "b"]], "invalid_glossary", "two translations of"),
        ({str(number): "x" for number in range(5001)}, "invalid_glossary", "more than 5000 terms"),
        ({"a" * 201: "x"}, "invalid_glossary", "201 characters"),
        ({"a": [str(number) for number in range(101)]}, "invalid_glossary", '101 translations of "a"; the most is 100'),
        ({}, "invalid_glossary", "no terms"),
        (7, "invalid_parameter", "glossary must be"),
        ([["lost"]], "invalid_parameter", "glossary must be"),
        ("{", "invalid_parameter", "glossary must be"),
    ],
)
async def test_a_glossary_that_cannot_be_used_is_one_sentence(
    client: Client, glossary: Any, code: str, sentence: str
) -> None:
    answer = await client.post("/translate", json={**REQUEST, "glossary": glossary})
    assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    assert sentence in answer.json()["error"]
