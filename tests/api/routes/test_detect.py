"""source=auto, /detect, and what else clients of this dialect ask for."""

import httpx
import pytest

from service.documents.format import supported_extensions
from tests.support.fake_engine import DummyRegistry

ENGLISH, FRENCH = "I have lost the keys of my house.", "J'ai perdu les clés de ma maison."


async def test_detect_names_the_language_with_its_confidence(client: httpx.AsyncClient) -> None:
    for text, language in [(ENGLISH, "en"), (FRENCH, "fr"), ("Ich habe meine Schlüssel verloren.", "de")]:
        found = (await client.post("/detect", data={"q": text})).json()
        assert found[0]["language"] == language
        assert 90 < found[0]["confidence"] <= 100
        assert found == sorted(found, key=lambda guess: -guess["confidence"])
        assert {guess["language"] for guess in found} == {"de", "en", "fr"}


@pytest.mark.parametrize("text", ["🎉", "  ", "12:30", "…", "Hi", "OK"])
async def test_where_nothing_is_recognised_the_confidence_is_zero(client: httpx.AsyncClient, text: str) -> None:
    assert (await client.post("/detect", json={"q": text})).json() == [{"confidence": 0.0, "language": "en"}]


FOREIGN = {
    "Spanish": "Perdí las llaves de mi casa y no sé dónde están.",
    "Italian": "Ho perso le chiavi di casa.",
    "Russian": "Где находится вокзал?",
    "Chinese": "火车站在哪里?",
    "Greek": "Πού είναι ο σταθμός;",
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_text_in_a_language_that_is_not_served_is_none_of_ours(client: httpx.AsyncClient, name: str) -> None:
    text = FOREIGN[name]
    # The words of LibreTranslate for "none that I know".
    assert (await client.post("/detect", json={"q": text})).json() == [{"confidence": 0.0, "language": "en"}]
    fields = {"q": [text, ENGLISH], "source": "auto", "target": "fr"}
    body = (await client.post("/translate", json=fields)).json()
    assert body["translatedText"] == [text, ENGLISH.upper()]
    assert body["detectedLanguage"][0] == {"confidence": 0.0, "language": "en"}


async def test_detect_refuses_as_translate_does(client: httpx.AsyncClient) -> None:
    assert (await client.get("/detect")).status_code == 405
    answer = await client.post("/detect", json={})
    assert (answer.status_code, answer.json()["error"]) == (400, "Invalid request: missing q parameter")
    assert (await client.post("/detect", json={"q": "a" * 1001})).json()["code"] == "character_limit"
    for wrong in ([], ["a", 1], {"a": "b"}, 7):
        assert (await client.post("/detect", json={"q": wrong})).status_code == 400
    assert (await client.post("/detect", json={"q": ["a"] * 6})).json()["code"] == "batch_limit"


async def test_detect_takes_a_list_and_answers_for_all_of_it(client: httpx.AsyncClient) -> None:
    found = (await client.post("/detect", json={"q": [ENGLISH, ENGLISH, FRENCH, "🎉"]})).json()
    assert [guess["language"] for guess in found[:2]] == ["en", "fr"]
    assert 55 < found[0]["confidence"] < 75
    assert (await client.post("/detect", json={"q": [FRENCH]})).json()[0]["language"] == "fr"
    assert (await client.post("/detect", json={"q": ["🎉", "1"]})).json() == [{"confidence": 0.0, "language": "en"}]


async def test_auto_says_what_it_found(client: httpx.AsyncClient) -> None:
    answer = await client.post("/translate", json={"q": ENGLISH, "source": "auto", "target": "fr", "alternatives": 1})
    body = answer.json()
    assert list(body) == ["translatedText", "detectedLanguage", "alternatives"]
    assert body["translatedText"] == ENGLISH.upper()
    assert body["detectedLanguage"]["language"] == "en"
    assert body["detectedLanguage"]["confidence"] > 90


async def test_auto_finds_the_language_of_each_text_of_a_list(client: httpx.AsyncClient) -> None:
    texts = [ENGLISH, FRENCH, "🎉", ENGLISH]
    body = (await client.post("/translate", json={"q": texts, "source": "auto", "target": "fr"})).json()
    assert body["translatedText"] == [ENGLISH.upper(), FRENCH, "🎉", ENGLISH.upper()]
    assert [found["language"] for found in body["detectedLanguage"]] == ["en", "fr", "en", "en"]
    assert body["detectedLanguage"][2]["confidence"] == 0


async def test_one_odd_text_does_not_fail_a_batch(client: httpx.AsyncClient) -> None:
    texts = [ENGLISH, FRENCH, ENGLISH]
    body = (await client.post("/translate", json={"q": texts, "source": "auto", "target": "de"})).json()
    assert body["translatedText"] == [ENGLISH.upper(), FRENCH, ENGLISH.upper()]  # no model from French into German
    assert [found["language"] for found in body["detectedLanguage"]] == ["en", "fr", "en"]
    answer = await client.post("/translate", json={"q": [FRENCH, FRENCH], "source": "auto", "target": "de"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_pair")


async def test_auto_with_a_language_that_cannot_be_translated_is_told_so(client: httpx.AsyncClient) -> None:
    answer = await client.post("/translate", json={"q": FRENCH, "source": "auto", "target": "de"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_pair")
    assert (await client.post("/translate", json={"q": FRENCH, "source": "auto", "target": "zz"})).json()["error"] == (
        "zz is not supported"
    )
    assert (await client.get("/attention", params={"text": "a", "source": "auto", "target": "fr"})).status_code == 400


async def test_an_error_in_one_language_ends_the_request_with_that_error(
    client: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    from service.engine.errors import Overloaded

    registry["transformer-en-fr"].error = Overloaded("full", 7)
    answer = await client.post("/translate", json={"q": [ENGLISH, FRENCH], "source": "auto", "target": "fr"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "7")


async def test_html_keeps_its_tags(client: httpx.AsyncClient) -> None:
    html = '<p>one <a href="/x">two</a></p><script>three</script>\n<p>four &amp; five</p>'
    for source in ("en", "auto"):
        fields = {"q": html, "source": source, "target": "fr", "format": "html", "alternatives": 1}
        body = (await client.post("/translate", json=fields)).json()
        assert body["translatedText"].startswith("<p>")
        assert '<a href="/x">' in body["translatedText"]
        assert "<script>three</script>\n<p>FOUR &amp; FIVE</p>" in body["translatedText"]
        assert body["alternatives"] == []


async def test_html_of_a_list_as_mastodon_sends_it(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    fields = {"q": ["<p>a</p>", "b", "<br>"], "source": "en", "target": "fr", "format": "html", "api_key": None}
    body = (await client.post("/translate", json=fields)).json()
    assert body == {"translatedText": ["<p>A</p>", "B", "<br>"]}
    assert [call[0] for call in registry["transformer-en-fr"].calls] == [("a", "b")]


async def test_details_are_of_plain_text(client: httpx.AsyncClient) -> None:
    fields = {"q": "a", "source": "en", "target": "fr", "format": "html", "details": True}
    assert (await client.post("/translate", json=fields)).json()["code"] == "unsupported_format"


async def test_the_settings_of_a_page(client: httpx.AsyncClient) -> None:
    assert (await client.get("/frontend/settings")).json() == {
        "charLimit": 1000,
        "batchLimit": 5,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": supported_extensions(),
        "language": {"source": {"code": "auto", "name": "Auto Detect"}, "target": {"code": "fr", "name": "French"}},
    }


async def test_what_is_not_offered_is_refused_in_known_words(client: httpx.AsyncClient) -> None:
    answer = await client.post("/suggest", data={"source": "en"})
    assert (answer.status_code, answer.json()["error"]) == (403, "Suggestions are disabled on this server.")
