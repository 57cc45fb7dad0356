"""The field second_model of POST /translate: the other model of a pair, where a short text fails its checks."""

from typing import Any

import httpx

from tests.support.fake_engine import DummyRegistry

FIRST, OTHER = "transformer-en-fr", "bahdanau-en-fr"


async def answer(client: httpx.AsyncClient, registry: DummyRegistry, q: Any, **fields: Any) -> dict[str, Any]:
    registry.translators[FIRST].say = lambda text: text
    registry.translators[OTHER].say = lambda text: "Autre chose"
    body = {"q": q, "source": "en", "target": "fr", "model": FIRST, **fields}
    found = await client.post("/translate", json=body)
    assert found.status_code == 200, found.json()
    return dict(found.json())


async def test_a_short_text_that_came_back_untranslated_gets_the_other_answer(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    found = await answer(client, registry, "Save changes", second_model=True)
    assert found["translatedText"] == "Autre chose"
    assert found["second_model"] == {"model": OTHER, "problems": ["untranslated"]}


async def test_only_the_texts_that_fail_are_sent_to_the_other_model(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    texts = ["PDF", "Save changes", "I have lost all of my keys in the garden of my friend."]
    found = await answer(client, registry, texts, second_model=True)
    assert found["translatedText"] == [texts[0], "Autre chose", texts[2]]
    assert [each and each["model"] for each in found["second_model"]] == [None, OTHER, None]
    assert registry.translators[OTHER].calls[0][0] == ("Save changes",)


async def test_no_other_model_is_asked_unless_the_request_says_so(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    found = await answer(client, registry, "Save changes")
    assert found == {"translatedText": "Save changes"}
    assert registry.translators[OTHER].calls == []


async def test_an_answer_that_fails_no_fewer_checks_is_not_taken(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    registry.translators[FIRST].say = lambda text: "Enregistrer."
    registry.translators[OTHER].say = lambda text: "Sauver."
    body = {"q": "Save changes", "source": "en", "target": "fr", "model": FIRST, "second_model": True}
    found = (await client.post("/translate", json=body)).json()
    assert found == {"translatedText": "Enregistrer.", "second_model": None}


async def test_a_pair_with_one_model_has_no_second_answer(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    registry.translators["transformer-en-de"].say = lambda text: text
    found = await client.post(
        "/translate", json={"q": "Save changes", "source": "en", "target": "de", "second_model": True}
    )
    assert found.json() == {"translatedText": "Save changes", "second_model": None}


async def test_a_model_that_has_failed_is_not_asked(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    registry.states_of[OTHER] = "failed"
    found = await answer(client, registry, "Save changes", second_model=True)
    assert found == {"translatedText": "Save changes", "second_model": None}
