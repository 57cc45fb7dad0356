"""Translation in two legs through a pivot language, over a dummy engine: German to French by way of English."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from service.engine.errors import NotReady
from service.engine.scheduling.admission import QueueStatus
from service.engine.types import TranslationOptions
from service.settings import Settings
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry
from tests.support.polling import PATIENCE

TEXT = {"q": "Ich habe verloren.", "source": "de", "target": "fr"}
ASKED = {"text": "Ich.", "source": "de", "target": "fr"}
FIRST, SECOND = "transformer-de-en", "transformer-en-fr"
GERMAN, ENGLISH = "Ich habe meine Schlüssel verloren.", "I have lost the keys of my house."


@pytest.fixture
def registry() -> DummyRegistry:
    found = DummyRegistry(names=(FIRST, SECOND, "bahdanau-en-fr", "transformer-en-it", "transformer-de-it"))
    for translator in found.dummies:
        translator.say = lambda text, language=translator.info.target_language: f"{language}:{text}"  # type: ignore[misc]
    return found


@pytest.fixture
def settings() -> Settings:
    return Settings(request_timeout_seconds=20)


async def translated(client: Client, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/translate", json={**TEXT, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_the_answer_says_that_two_models_translated_unless_one_translates_the_pair(
    client: Client, registry: DummyRegistry
) -> None:
    assert await translated(client, target="it") == {"translatedText": "it:Ich habe verloren."}
    assert registry[FIRST].calls == []
    assert await translated(client) == {"translatedText": "fr:en:Ich habe verloren.", "pivot": "en"}


async def test_languages_list_the_pair_and_models_do_not(client: Client) -> None:
    listed = {each["code"]: each for each in (await client.get("/languages")).json()}
    assert listed["de"]["targets"] == ["de", "en", "fr", "it"]
    assert listed["de"]["pivots"] == {"fr": "en"}
    assert "pivots" not in listed["en"]
    pairs = {(model["source"], model["target"]) for model in (await client.get("/models")).json()["models"]}
    assert ("de", "fr") not in pairs


async def test_the_pair_is_refused_where_pivots_are_off(registry: DummyRegistry) -> None:
    async with serving(registry, pivot="off") as client:
        answer = await client.post("/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_pair")
        assert all("pivots" not in each for each in (await client.get("/languages")).json())


@pytest.mark.parametrize("model", ["transformer", SECOND])
@pytest.mark.parametrize("path", ["/translate", "/attention"])
async def test_a_named_model_never_pivots(client: Client, path: str, model: str) -> None:
    answer = await client.post(path, json={**TEXT, "text": "Ich.", "model": model, "leg": 2})
    assert (answer.status_code, answer.json()["code"], answer.json()["param"]) == (400, "unsupported_pair", "model")
    assert "Leave out model to translate through English (en)" in answer.json()["error"]


async def test_search_options_hold_for_both_legs_and_alternatives_and_the_prefix_for_the_last(
    client: Client, registry: DummyRegistry
) -> None:
    last: dict[str, Any] = {"alternatives": 1, "target_prefix": "J'ai"}
    body = await translated(client, beam_size=2, length_penalty=0.5, max_length=9, **last)
    assert body["alternatives"] == ["fr:en:Ich habe verloren.!"]
    options = TranslationOptions(beam_size=2, length_penalty=0.5, max_length=9)
    [first], [second] = registry[FIRST].calls, registry[SECOND].calls
    assert first[:2] == (("Ich habe verloren.",), options)
    assert second[0] == ("en:Ich habe verloren.",)
    assert second[1] == replace(options, **last)
    assert first[2] is not None
    assert first[2] == second[2]  # one deadline for the whole


async def test_texts_of_a_list_are_detected_and_pivoted_one_by_one(client: Client) -> None:
    body = await translated(client, q=[GERMAN, ENGLISH, "12:30"], source="auto")
    assert body["translatedText"] == [f"fr:en:{GERMAN}", f"fr:{ENGLISH}", "12:30"]
    assert body["pivot"] == ["en", None, None]
    assert [guess["language"] for guess in body["detectedLanguage"]] == ["de", "en", "en"]
    named = await translated(client, q=[GERMAN, ENGLISH], source="auto", model="transformer")
    assert named["translatedText"] == [GERMAN, f"fr:{ENGLISH}"]  # no single model translates the first
    assert "pivot" not in named


async def test_html_of_the_first_leg_goes_into_the_second(client: Client, registry: DummyRegistry) -> None:
    registry[FIRST].say = str.lower
    registry[SECOND].say = str.title
    body = await translated(client, q="<p>VERLOREN <b>&amp; WEG</b></p><pre>x</pre>", format="html")
    assert body == {"translatedText": "<p>Verloren <b>&amp; Weg</b></p><pre>x</pre>", "pivot": "en"}
    assert registry[SECOND].calls[0][0] == ("verloren & weg",)


async def test_a_glossary_is_refused_before_the_first_leg(client: Client, registry: DummyRegistry) -> None:
    answer = await client.post("/translate", json={**TEXT, "glossary": {"verloren": "perdu"}})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_glossary")
    assert "two requests" in answer.json()["error"]
    assert registry[FIRST].calls == []


async def test_the_queues_of_both_legs_count_before_the_first_begins(client: Client, registry: DummyRegistry) -> None:
    for name in (FIRST, SECOND):  # each alone is within half of the 20 seconds
        registry[name].worker.queue_status = QueueStatus(seconds=6.0)
    answer = await client.post("/translate", json=TEXT)
    assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
    assert answer.headers["retry-after"] == "6"
    assert registry[FIRST].calls == []
    assert (await translated(client, target="en"))["translatedText"] == "en:Ich habe verloren."


@pytest.mark.parametrize("fields", [{}, {"format": "html"}])
async def test_a_second_model_that_is_not_ready_refuses_before_the_first_leg(
    client: Client, registry: DummyRegistry, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    def refuse(deadline: float | None = None) -> None:
        raise NotReady("not now")

    monkeypatch.setattr(registry[SECOND], "check_room", refuse)
    answer = await client.post("/translate", json={**TEXT, **fields})
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert registry[FIRST].calls == []


@pytest.mark.parametrize("slow", [FIRST, SECOND])
async def test_cancellation_frees_the_rows_of_the_leg_that_runs(
    client: Client, registry: DummyRegistry, slow: str
) -> None:
    registry[slow].seconds = 60
    task = asyncio.create_task(client.post("/translate", json=TEXT))
    await asyncio.wait_for(registry[slow].busy.wait(), PATIENCE)
    assert registry[slow].rows == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert registry[slow].rows == 0


async def test_attention_needs_a_leg(client: Client) -> None:
    answer = await client.get("/attention", params=ASKED)
    assert (answer.status_code, answer.json()["code"], answer.json()["param"]) == (400, "leg_required", "leg")
    assert "leg=1 is de to en, leg=2 is en to fr" in answer.json()["error"]
    for leg in ("0", "3", "x"):
        answer = await client.get("/attention", params={**ASKED, "leg": leg})
        assert answer.json()["error"] == "Invalid request: leg must be a whole number from 1 to 2"
    direct = await client.get("/attention", params={**ASKED, "target": "it", "leg": "1"})
    assert (direct.status_code, direct.json()["param"]) == (400, "leg")


async def test_attention_of_each_leg_is_that_of_its_model_and_texts(client: Client) -> None:
    first = (await client.get("/attention", params={**ASKED, "leg": 1})).json()
    assert (first["model"], first["source"]["text"], first["target"]["text"]) == (FIRST, "Ich.", "en:Ich.")
    second = (await client.post("/attention", json={**ASKED, "leg": 2, "target_text": "Moi."})).json()
    assert (second["model"], second["source"]["text"], second["target"]["text"]) == (SECOND, "en:Ich.", "Moi.")
    compared = (await client.get("/attention", params={**ASKED, "leg": "2", "view": "compare"})).json()["maps"]
    assert [each["model"] for each in compared] == [SECOND, "bahdanau-en-fr"]
    assert [each["source"]["text"] for each in compared] == ["en:Ich."] * 2


async def test_attention_of_the_second_leg_changes_with_either_model(client: Client, registry: DummyRegistry) -> None:
    asked = {**ASKED, "leg": "2"}
    tag = (await client.get("/attention", params=asked)).headers["etag"]
    assert (await client.get("/attention", params=asked, headers={"If-None-Match": tag})).status_code == 304
    registry[FIRST].info = replace(registry[FIRST].info, digest="sha256:other")
    assert (await client.get("/attention", params=asked, headers={"If-None-Match": tag})).status_code == 200
