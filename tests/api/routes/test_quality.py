"""min_quality, warnings about the language of a text, and what /models says about the quality."""

from dataclasses import replace

import pytest

from tests.support.api_client import Client, events_of
from tests.support.fake_engine import DummyRegistry

GOOD, BAD = "I have lost the keys of my house.", "colourless green ideas sleep furiously"
MODEL = "transformer-en-fr"
FIELDS = {"source": "en", "target": "fr", "model": MODEL}


@pytest.fixture
def judged(registry: DummyRegistry) -> DummyRegistry:
    translator = registry[MODEL]
    translator.quality_of = lambda text: 0.1 if text == BAD else 0.9
    translator.info = replace(translator.info, confidence={"version": 1})
    return registry


async def test_sentences_below_the_minimal_quality_are_marked(client: Client, judged: DummyRegistry) -> None:
    body = (await client.post("/translate", json={**FIELDS, "q": [GOOD, BAD], "min_quality": 0.5})).json()
    assert body["translatedText"] == [GOOD.upper(), BAD.upper()]
    marked = {"source": BAD, "target": BAD.upper(), "start": 0, "quality": 0.1, "kept_source": False}
    assert body["low_quality"] == [[], [marked]]
    plain = (await client.post("/translate", json={**FIELDS, "q": BAD})).json()
    assert "low_quality" not in plain


async def test_sentences_below_the_minimal_quality_may_stay_as_they_are(client: Client, judged: DummyRegistry) -> None:
    fields = {**FIELDS, "min_quality": 0.5, "below_min_quality": "keep_source", "details": True}
    body = (await client.post("/translate", json={**fields, "q": BAD})).json()
    assert body["translatedText"] == BAD
    assert body["low_quality"][0]["kept_source"]
    [sentence] = body["details"]["sentences"]
    assert sentence["kept_source"]
    assert sentence["target"]["text"] == BAD
    assert sentence["alignment"] == [[place, place] for place in range(len(BAD.split()))]
    body = (await client.post("/translate", json={**fields, "q": GOOD})).json()
    assert body["details"]["sentences"][0]["quality"] == 0.9
    assert "kept_source" not in body["details"]["sentences"][0]


async def test_html_has_its_low_sentences_too(client: Client, judged: DummyRegistry) -> None:
    fields = {**FIELDS, "format": "html", "min_quality": 0.5}
    body = (await client.post("/translate", json={**fields, "q": [f"<p>{GOOD}</p><p>{BAD}</p>", "<br>"]})).json()
    assert [[each["source"] for each in own] for own in body["low_quality"]] == [[BAD], []]
    assert body["low_quality"][0][0]["start"] is None


async def test_a_model_without_a_quality_says_so(client: Client, judged: DummyRegistry) -> None:
    fields = {"source": "en", "target": "fr", "model": "bahdanau-en-fr", "q": GOOD}
    assert "translatedText" in (await client.post("/translate", json=fields)).json()
    answer = await client.post("/translate", json={**fields, "min_quality": 0.5})
    assert answer.status_code == 400
    assert "bahdanau-en-fr gives none" in answer.json()["error"]
    models = {model["name"]: model for model in (await client.get("/models")).json()["models"]}
    assert models["bahdanau-en-fr"]["confidence"] is None
    assert models[MODEL]["confidence"] == {"version": 1}


async def test_wrong_options_are_refused(client: Client, judged: DummyRegistry) -> None:
    alone = ("below_min_quality", "keep_source")
    for name, value in (("min_quality", 1.5), ("min_quality", "x"), ("below_min_quality", "drop"), alone):
        assert (await client.post("/translate", json={**FIELDS, "q": GOOD, name: value})).status_code == 400


async def test_the_inference_protocol_has_the_quality_on_request(client: Client, judged: DummyRegistry) -> None:
    tensor = {"name": "text", "shape": [2], "datatype": "BYTES", "data": [GOOD, BAD]}
    request = {
        "inputs": [tensor],
        "outputs": [{"name": "translation"}, {"name": "quality"}],
        "parameters": {"min_quality": 0.5, "below_min_quality": "keep_source"},
    }
    translation, quality = (await client.post(f"/v2/models/{MODEL}/infer", json=request)).json()["outputs"]
    assert translation["data"] == [GOOD.upper(), BAD]
    assert quality["data"] == pytest.approx([0.9, 0.1])
    refused = await client.post("/v2/models/bahdanau-en-fr/infer", json={**request, "parameters": {}})
    assert (refused.status_code, refused.json()["code"]) == (400, "unsupported_output")


async def test_a_stream_ends_with_the_quality_of_its_sentences(client: Client, judged: DummyRegistry) -> None:
    for model, qualities in ((MODEL, [0.1]), ("bahdanau-en-fr", [None])):
        answer = await client.post("/translate/stream", json={**FIELDS, "model": model, "q": BAD})
        name, data = events_of(answer.text)[-1]
        assert (name, data["qualities"]) == ("done", qualities)


async def test_attention_has_the_quality_of_the_models_own_translation(client: Client, judged: DummyRegistry) -> None:
    fields = {**FIELDS, "text": GOOD}
    assert (await client.get("/attention", params=fields)).json()["quality"] == 0.9
    assert (await client.get("/attention", params={**fields, "target_text": "Perdu"})).json()["quality"] is None
    assert (await client.get("/attention", params={**fields, "model": "bahdanau-en-fr"})).json()["quality"] is None


async def test_a_text_in_another_language_than_said_has_a_warning(client: Client) -> None:
    german = "Ich habe meine Schlüssel verloren."
    body = (await client.post("/translate", json={"q": [GOOD, german], "source": "en", "target": "fr"})).json()
    [none, [warning]] = body["warnings"]
    assert none == []
    assert (warning["code"], warning["language"]) == ("source_language", "de")
    assert "German" in warning["message"]
    assert "English" in warning["message"]
    html = {"q": f"<p>{german}</p>", "source": "en", "target": "fr", "format": "html"}
    assert (await client.post("/translate", json=html)).json()["warnings"][0]["language"] == "de"
    for text in (GOOD, "Berlin", "OK", "🎉"):
        assert "warnings" not in (await client.post("/translate", json={**FIELDS, "q": text})).json()


async def test_auto_names_a_language_that_is_none_of_ours(client: Client) -> None:
    spanish = "Perdí las llaves de mi casa y no sé dónde están."
    body = (await client.post("/translate", json={"q": spanish, "source": "auto", "target": "fr"})).json()
    assert body["translatedText"] == spanish
    assert body["detectedLanguage"]["confidence"] == 0
    assert [(each["code"], each["language"]) for each in body["warnings"]] == [("unknown_language", "es")]
