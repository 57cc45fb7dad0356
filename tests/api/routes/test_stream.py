"""POST /translate/stream."""

from typing import Any

import pytest

from service.engine.errors import EngineFailure, Overloaded
from tests.support.api_client import Client, events_of
from tests.support.fake_engine import DummyRegistry

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}


async def test_every_token_comes_with_its_probability_and_attention(client: Client) -> None:
    answer = await client.post("/translate/stream", json=TEXT)
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events_of(answer.text)
    assert [name for name, _ in found] == ["sentence", "token", "token", "token", "done"]
    source = found[0][1]["source"]
    for _, token in found[1:-1]:
        assert len(token["attention"]) == len(source["tokens"])
        assert token["logprob"] == -0.25
    assert "".join(token["text"] for _, token in found[1:-1]) == found[-1][1]["translatedText"] == "I LOST."
    assert found[-1][1]["model"] == "transformer-en-fr"
    empty = await client.post("/translate/stream", json={**TEXT, "q": ""})
    assert events_of(empty.text)[-1][1]["translatedText"] == ""


async def test_the_last_event_says_if_another_model_translated_where_the_default_has_failed(
    client: Client, registry: DummyRegistry
) -> None:
    default, other = list(registry.translators)[:2]
    assert "warnings" not in events_of((await client.post("/translate/stream", json=TEXT)).text)[-1][1]
    registry.states_of[default] = "failed"
    done = events_of((await client.post("/translate/stream", json=TEXT)).text)[-1][1]
    assert done["model"] == other
    assert [(each["code"], each["model"]) for each in done["warnings"]] == [("default_model_failed", other)]
    chosen = events_of((await client.post("/translate/stream", json={**TEXT, "model": other})).text)[-1][1]
    assert (chosen["model"], "warnings" in chosen) == (other, False)


@pytest.mark.parametrize(
    ("fields", "status", "word"),
    [
        ({"target": "zz"}, 400, "zz is not supported"),
        ({"target": "en"}, 400, "own language"),
        ({"beam_size": 4}, 400, "a stream is greedy"),
        ({"formality": "prefer_more"}, 400, "send formality to /translate"),
        ({"model": "nope"}, 404, "No such model"),
    ],
)
async def test_what_is_wrong_from_the_beginning_is_an_ordinary_error(
    client: Client, fields: dict[str, Any], status: int, word: str
) -> None:
    answer = await client.post("/translate/stream", json={**TEXT, **fields})
    assert answer.status_code == status
    assert word in answer.json()["error"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Overloaded("full"), "overloaded"),
        (EngineFailure("secret"), "engine_failure"),
        (RuntimeError("secret"), "engine_failure"),
    ],
)
async def test_what_goes_wrong_later_ends_the_stream_with_an_error(
    client: Client, registry: DummyRegistry, error: Exception, code: str
) -> None:
    registry["transformer-en-fr"].error = error
    answer = await client.post("/translate/stream", json=TEXT)
    name, body = events_of(answer.text)[-1]
    assert (name, body["code"]) == ("error", code)
    assert set(body) == {"error", "code", "request_id"}
    assert ("full" in body["error"]) == (code == "overloaded")
    assert "secret" not in body["error"]
