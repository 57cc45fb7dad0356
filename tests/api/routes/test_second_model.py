"""The field second_model of POST /translate: the other model of a pair, where a short text fails its checks."""

from typing import Any

import pytest

from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

FIRST, OTHER = "transformer-en-fr", "bahdanau-en-fr"


async def answer(client: Client, q: Any, **fields: Any) -> dict[str, Any]:
    body = {"q": q, "source": "en", "target": "fr", "model": FIRST, "second_model": True, **fields}
    found = await client.post("/translate", json=body)
    assert found.status_code == 200, found.json()
    return dict(found.json())


@pytest.fixture
def registry(registry: DummyRegistry) -> DummyRegistry:
    for translator in registry.translators.values():
        translator.say = lambda text: text
    registry[OTHER].say = lambda text: "Autre chose"
    return registry


async def test_only_the_texts_that_fail_are_sent_to_the_other_model(client: Client, registry: DummyRegistry) -> None:
    texts = ["PDF", "Save changes", "I have lost all of my keys in the garden of my friend."]
    found = await answer(client, texts)
    assert found["translatedText"] == [texts[0], "Autre chose", texts[2]]
    assert found["second_model"] == [None, {"model": OTHER, "problems": ["untranslated"]}, None]
    assert registry[OTHER].calls[0][0] == ("Save changes",)


async def test_no_other_model_is_asked_unless_the_request_says_so(client: Client, registry: DummyRegistry) -> None:
    assert await answer(client, "Save changes", second_model=None) == {"translatedText": "Save changes"}
    assert registry[OTHER].calls == []


async def test_an_answer_that_fails_no_fewer_checks_is_not_taken(client: Client, registry: DummyRegistry) -> None:
    registry[FIRST].say = lambda text: "Enregistrer."
    registry[OTHER].say = lambda text: "Sauver."
    assert await answer(client, "Save changes") == {"translatedText": "Enregistrer.", "second_model": None}


async def test_a_pair_with_one_model_and_one_whose_other_has_failed_have_no_second_answer(
    client: Client, registry: DummyRegistry
) -> None:
    registry.states_of[OTHER] = "failed"
    for fields in ({}, {"target": "de", "model": None}):
        found = await answer(client, "Save changes", **fields)
        assert found == {"translatedText": "Save changes", "second_model": None}
