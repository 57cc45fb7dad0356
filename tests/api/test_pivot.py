"""Translation in two legs through a pivot language, over a dummy engine: German to French by way of English."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from service.api.app import create_app
from service.api.state import Service
from service.engine.errors import NotReady, Overloaded
from service.engine.scheduling.admission import QueueStatus
from service.engine.types import TranslationOptions
from service.metrics import Metrics
from service.settings import Settings
from tests.support.fake_engine import DummyRegistry

TEXT = {"q": "Ich habe verloren.", "source": "de", "target": "fr"}
FIRST, SECOND = "transformer-de-en", "transformer-en-fr"
GERMAN, ENGLISH = "Ich habe meine Schlüssel verloren.", "I have lost the keys of my house."


@pytest.fixture
def registry() -> DummyRegistry:
    found = DummyRegistry(names=(FIRST, SECOND, "bahdanau-en-fr", "transformer-en-it", "transformer-de-it"))
    for name, translator in found.translators.items():
        translator.say = lambda text, name=name: f"{name[-2:]}:{text}"  # type: ignore[misc]
    return found


@pytest.fixture
def service(registry: DummyRegistry) -> Service:
    metrics = Metrics()
    for translator in registry.translators.values():
        translator.on_event = metrics.record
    return Service(Settings(pivot="en", request_timeout_seconds=20), registry, metrics)


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(service), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://translucent") as client:
        yield client


async def translated(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/translate", json={**TEXT, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def events(body: str) -> list[tuple[str, dict[str, Any]]]:
    parts = [part.split("\n") for part in body.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


async def test_the_answer_says_that_two_models_translated(client: httpx.AsyncClient) -> None:
    assert await translated(client) == {"translatedText": "fr:en:Ich habe verloren.", "pivot": "en"}


async def test_a_model_that_translates_the_pair_wins(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    assert await translated(client, target="it") == {"translatedText": "it:Ich habe verloren."}
    assert registry[FIRST].calls == []


async def test_languages_list_the_pair_and_models_do_not(client: httpx.AsyncClient) -> None:
    listed = {each["code"]: each for each in (await client.get("/languages")).json()}
    assert listed["de"]["targets"] == ["de", "en", "fr", "it"]
    assert listed["de"]["pivots"] == {"fr": "en"}
    assert "pivots" not in listed["en"]
    pairs = {(model["source"], model["target"]) for model in (await client.get("/models")).json()["models"]}
    assert ("de", "fr") not in pairs


async def test_without_the_setting_the_pair_is_refused(registry: DummyRegistry) -> None:
    app = create_app(Service(Settings(), registry, Metrics()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://translucent") as client:
        answer = await client.post("/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_pair")
        assert all("pivots" not in each for each in (await client.get("/languages")).json())


@pytest.mark.parametrize("model", ["transformer", SECOND])
@pytest.mark.parametrize("path", ["/translate", "/translate/stream", "/attention"])
async def test_a_named_model_never_pivots(client: httpx.AsyncClient, path: str, model: str) -> None:
    answer = await client.post(path, json={**TEXT, "text": "Ich.", "model": model, "leg": 2})
    assert (answer.status_code, answer.json()["code"], answer.json()["param"]) == (400, "unsupported_pair", "model")
    assert "Leave out model to translate through English (en)" in answer.json()["error"]


async def test_search_options_hold_for_both_legs_and_alternatives_for_the_last(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    body = await translated(client, beam_size=2, length_penalty=0.5, max_length=9, alternatives=1)
    assert body["alternatives"] == ["fr:en:Ich habe verloren.!"]
    options = TranslationOptions(beam_size=2, length_penalty=0.5, max_length=9)
    [first], [second] = registry[FIRST].calls, registry[SECOND].calls
    assert first[:2] == (("Ich habe verloren.",), options)
    assert second[0] == ("en:Ich habe verloren.",)
    assert second[1] == TranslationOptions(beam_size=2, length_penalty=0.5, max_length=9, alternatives=1)
    assert first[2] == second[2]  # one deadline for the whole


async def test_details_have_both_legs(client: httpx.AsyncClient) -> None:
    details = (await translated(client, details=True))["details"]
    [second] = details["sentences"]
    assert (second["source"]["text"], second["target"]["text"]) == ("en:Ich habe verloren.", "fr:en:Ich habe verloren.")
    first = details["pivot"]
    assert (first["language"], first["text"], first["model"]) == ("en", "en:Ich habe verloren.", FIRST)
    assert first["digest"] == f"sha256:{FIRST}"
    assert first["sentences"][0]["source"]["text"] == "Ich habe verloren."


async def test_texts_of_a_list_are_detected_and_pivoted_one_by_one(client: httpx.AsyncClient) -> None:
    body = await translated(client, q=[GERMAN, ENGLISH, "12:30"], source="auto")
    assert body["translatedText"] == [f"fr:en:{GERMAN}", f"fr:{ENGLISH}", "12:30"]
    assert body["pivot"] == ["en", None, None]
    assert [guess["language"] for guess in body["detectedLanguage"]] == ["de", "en", "en"]
    named = await translated(client, q=[GERMAN, ENGLISH], source="auto", model="transformer")
    assert named["translatedText"] == [GERMAN, f"fr:{ENGLISH}"]  # no single model translates the first
    assert "pivot" not in named


async def test_html_of_the_first_leg_goes_into_the_second(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    registry[FIRST].say = str.lower
    registry[SECOND].say = str.title
    body = await translated(client, q="<p>VERLOREN <b>&amp; WEG</b></p><pre>x</pre>", format="html")
    assert body == {"translatedText": "<p>Verloren <b>&amp; Weg</b></p><pre>x</pre>", "pivot": "en"}
    assert registry[SECOND].calls[0][0] == ("verloren & weg",)


async def test_a_stream_begins_with_the_text_between_the_legs(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    found = events((await client.post("/translate/stream", json={**TEXT, "max_length": 8})).text)
    assert [name for name, _ in found][:2] == ["pivot", "sentence"]
    between = "en:Ich habe verloren."
    assert found[0][1] == {"language": "en", "text": between, "model": FIRST, "digest": f"sha256:{FIRST}"}
    assert found[1][1]["source"]["text"] == between
    assert found[-1] == (
        "done",
        {
            "translatedText": f"fr:{between}",
            "model": SECOND,
            "digest": f"sha256:{SECOND}",
            "qualities": [None],
            "pivot": "en",
        },
    )
    assert registry[FIRST].calls[0][1] == TranslationOptions(beam_size=1, max_length=8)  # greedy, as the second leg


async def test_a_stream_has_the_doubt_of_both_legs(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    registry[FIRST].quality_of, registry[SECOND].quality_of = (lambda _: 0.5), (lambda _: 0.8)
    found = events((await client.post("/translate/stream", json=TEXT)).text)
    assert found[-1][1]["qualities"] == pytest.approx([0.4])


@pytest.mark.parametrize("path", ["/translate", "/translate/stream"])
async def test_a_glossary_is_refused_before_the_first_leg(
    client: httpx.AsyncClient, registry: DummyRegistry, path: str
) -> None:
    answer = await client.post(path, json={**TEXT, "glossary": {"verloren": "perdu"}})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_glossary")
    assert "two requests" in answer.json()["error"]
    assert registry[FIRST].calls == []


async def test_a_failure_of_the_first_leg_is_an_ordinary_error_of_a_stream(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    registry[FIRST].error = Overloaded("full")
    answer = await client.post("/translate/stream", json=TEXT)
    assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")


@pytest.mark.parametrize("path", ["/translate", "/translate/stream"])
async def test_the_queues_of_both_legs_count_before_the_first_begins(
    client: httpx.AsyncClient, registry: DummyRegistry, path: str
) -> None:
    for name in (FIRST, SECOND):  # each alone is within half of the 20 seconds
        registry[name].queue_status = QueueStatus(seconds=6.0)
    answer = await client.post(path, json=TEXT)
    assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
    assert answer.headers["retry-after"] == "6"
    assert registry[FIRST].calls == []
    assert (await translated(client, target="en"))["translatedText"] == "en:Ich habe verloren."


@pytest.mark.parametrize("fields", [{}, {"format": "html"}])
async def test_a_second_model_that_is_not_ready_refuses_before_the_first_leg(
    client: httpx.AsyncClient, registry: DummyRegistry, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    def refuse(deadline: float | None = None) -> None:
        raise NotReady("not now")

    monkeypatch.setattr(registry[SECOND], "check_room", refuse)
    answer = await client.post("/translate", json={**TEXT, **fields})
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert registry[FIRST].calls == []


@pytest.mark.parametrize("slow", [FIRST, SECOND])
async def test_cancellation_frees_the_rows_of_the_leg_that_runs(
    client: httpx.AsyncClient, registry: DummyRegistry, slow: str
) -> None:
    registry[slow].seconds = 60
    task = asyncio.create_task(client.post("/translate", json=TEXT))
    await asyncio.wait_for(registry[slow].busy.wait(), 10)
    assert registry[slow].rows == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert registry[slow].rows == 0


async def test_the_deadline_is_for_both_legs_together(registry: DummyRegistry) -> None:
    registry[FIRST].seconds = registry[SECOND].seconds = 0.9  # the grace period is half a second
    app = create_app(Service(Settings(pivot="en", request_timeout_seconds=1), registry, Metrics()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://translucent") as client:
        answer = await client.post("/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")


async def test_attention_needs_a_leg(client: httpx.AsyncClient) -> None:
    asked = {"text": "Ich.", "source": "de", "target": "fr"}
    answer = await client.get("/attention", params=asked)
    assert (answer.status_code, answer.json()["code"], answer.json()["param"]) == (400, "leg_required", "leg")
    assert "leg=1 is de to en, leg=2 is en to fr" in answer.json()["error"]
    for leg in ("0", "3", "x"):
        answer = await client.get("/attention", params={**asked, "leg": leg})
        assert answer.json()["error"] == "Invalid request: leg must be a whole number from 1 to 2"
    direct = await client.get("/attention", params={**asked, "target": "it", "leg": "1"})
    assert (direct.status_code, direct.json()["param"]) == (400, "leg")


async def test_attention_of_each_leg_is_that_of_its_model_and_texts(client: httpx.AsyncClient) -> None:
    asked = {"text": "Ich.", "source": "de", "target": "fr"}
    first = (await client.get("/attention", params={**asked, "leg": 1})).json()
    assert (first["model"], first["source"]["text"], first["target"]["text"]) == (FIRST, "Ich.", "en:Ich.")
    own = await client.get("/attention", params={**asked, "target": "en"})
    assert own.json() == first
    answer = await client.post("/attention", json={**asked, "leg": 2, "target_text": "Moi."})
    second = answer.json()
    assert (second["model"], second["source"]["text"], second["target"]["text"]) == (SECOND, "en:Ich.", "Moi.")
    assert second["digest"] == f"sha256:{SECOND}"


async def test_attention_of_the_second_leg_changes_with_either_model(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    asked = {"text": "Ich.", "source": "de", "target": "fr", "leg": "2"}
    tag = (await client.get("/attention", params=asked)).headers["etag"]
    assert (await client.get("/attention", params=asked, headers={"If-None-Match": tag})).status_code == 304
    registry[FIRST].info = replace(registry[FIRST].info, digest="sha256:other")
    assert (await client.get("/attention", params=asked, headers={"If-None-Match": tag})).status_code == 200


async def test_two_models_of_a_leg_can_be_compared(client: httpx.AsyncClient) -> None:
    asked = {"text": "Ich.", "source": "de", "target": "fr", "leg": "2", "view": "compare"}
    body = (await client.get("/attention", params=asked)).json()
    assert [(each["model"], each["source"]["text"]) for each in body["maps"]] == [
        (SECOND, "en:Ich."),
        ("bahdanau-en-fr", "en:Ich."),
    ]
