"""The quality of a translation and warnings about the language of a text."""

from dataclasses import replace
from typing import Any

import pytest

from service.answers.translation import SentenceSchema
from service.api.state import Service
from service.engine.types import SentenceDetail, Token
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

GOOD, BAD = "I have lost the keys of my house.", "colourless green ideas sleep furiously"
MODEL, OTHER = "transformer-en-fr", "bahdanau-en-fr"
FIELDS = {"source": "en", "target": "fr", "model": MODEL}


async def translated(client: Client, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/translate", json={**FIELDS, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.fixture
def judged(registry: DummyRegistry) -> DummyRegistry:
    translator = registry[MODEL]
    translator.quality_of = lambda text: 0.1 if text == BAD else 0.9
    translator.info = replace(translator.info, confidence={"version": 1})
    return registry


async def test_sentences_below_the_minimal_quality_are_marked(client: Client, judged: DummyRegistry) -> None:
    body = await translated(client, q=[GOOD, BAD], min_quality=0.5)
    assert body["translatedText"] == [GOOD.upper(), BAD.upper()]
    marked = {"source": BAD, "target": BAD.upper(), "start": 0, "quality": 0.1, "kept_source": False}
    assert body["low_quality"] == [[], [marked]]
    assert "low_quality" not in await translated(client, q=BAD)
    body = await translated(client, q=[f"<p>{GOOD}</p><p>{BAD}</p>", "<br>"], format="html", min_quality=0.5)
    assert [[each["source"] for each in own] for own in body["low_quality"]] == [[BAD], []]
    assert body["low_quality"][0][0]["start"] is None


async def test_sentences_below_the_minimal_quality_may_stay_as_they_are(client: Client, judged: DummyRegistry) -> None:
    fields: dict[str, Any] = {"min_quality": 0.5, "below_min_quality": "keep_source", "details": True}
    body = await translated(client, q=BAD, **fields)
    assert body["translatedText"] == BAD
    assert body["low_quality"][0]["kept_source"]
    [sentence] = body["details"]["sentences"]
    assert sentence["kept_source"]
    assert sentence["target"]["text"] == BAD
    assert sentence["alignment"] == [[place, place] for place in range(len(BAD.split()))]
    [sentence] = (await translated(client, q=GOOD, **fields))["details"]["sentences"]
    assert sentence["quality"] == 0.9
    assert "kept_source" not in sentence


async def test_a_model_without_a_quality_says_so(client: Client, judged: DummyRegistry) -> None:
    assert "translatedText" in await translated(client, model=OTHER, q=GOOD)
    answer = await client.post("/translate", json={**FIELDS, "model": OTHER, "q": GOOD, "min_quality": 0.5})
    assert answer.status_code == 400
    assert f"{OTHER} gives none" in answer.json()["error"]
    models = {model["name"]: model for model in (await client.get("/models")).json()["models"]}
    assert models[OTHER]["confidence"] is None
    assert models[MODEL]["confidence"] == {"version": 1}


async def test_wrong_options_are_refused(client: Client, judged: DummyRegistry) -> None:
    alone = ("below_min_quality", "keep_source")
    for name, value in (("min_quality", 1.5), ("min_quality", "x"), ("below_min_quality", "drop"), alone):
        assert (await client.post("/translate", json={**FIELDS, "q": GOOD, name: value})).status_code == 400


async def test_attention_has_the_quality_of_the_models_own_translation(client: Client, judged: DummyRegistry) -> None:
    fields = {**FIELDS, "text": GOOD}
    assert (await client.get("/attention", params=fields)).json()["quality"] == 0.9
    assert (await client.get("/attention", params={**fields, "target_text": "Perdu"})).json()["quality"] is None
    assert (await client.get("/attention", params={**fields, "model": OTHER})).json()["quality"] is None


async def test_a_text_in_another_language_than_said_has_a_warning(client: Client) -> None:
    german = "Ich habe meine Schlüssel verloren."
    [none, [warning]] = (await translated(client, q=[GOOD, german]))["warnings"]
    assert none == []
    assert (warning["code"], warning["language"]) == ("source_language", "de")
    assert "German" in warning["message"]
    assert "English" in warning["message"]
    html = await translated(client, q=f"<p>{german}</p>", format="html")
    assert html["warnings"][0]["language"] == "de"
    for text in (GOOD, "Berlin", "OK", "🎉"):
        assert "warnings" not in await translated(client, q=text)


async def test_a_translation_is_answered_if_its_language_cannot_be_checked(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(service.detection, "other_languages", fails)
    answer = await translated(client, q=GOOD)
    assert "warnings" not in answer
    assert answer["translatedText"] == GOOD.upper()


def test_a_sentence_says_what_it_has_lost_and_which_words_are_linked() -> None:
    token = Token(7, "dogs", "dogs", 0, 4)
    sentence = SentenceDetail(
        *("Two dogs.", "Chiens.", 0, 0, (token,), (token,), -1.0, (-1.0,), ((0, 0),), "eos"),
        source_words=("Two", "dogs", "."),
        target_words=("Chiens", "."),
        word_alignment=((1, 0), (2, 1)),
        lost=("Two",),
    )
    rendered = SentenceSchema.of(sentence).model_dump(mode="json", exclude_defaults=True)
    assert rendered["lost"] == ["Two"]
    assert "added" not in rendered
    assert rendered["coverage"] == {"source": 0.5, "target": 1.0}
