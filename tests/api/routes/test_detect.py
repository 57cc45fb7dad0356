"""source=auto, /detect, and what else clients of this dialect ask for."""

from service.documents.format import supported_extensions
from service.engine.errors import Overloaded
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

ENGLISH, FRENCH = "I have lost the keys of my house.", "J'ai perdu les clés de ma maison."
NONE = [{"confidence": 0.0, "language": "en"}]  # the words of LibreTranslate for "none that I know"


async def test_detect_names_the_language_with_its_confidence(client: Client) -> None:
    for text, language in [(ENGLISH, "en"), (FRENCH, "fr"), ("Ich habe meine Schlüssel verloren.", "de")]:
        found = (await client.post("/detect", data={"q": text})).json()
        assert found[0]["language"] == language
        assert 90 < found[0]["confidence"] <= 100
        assert found == sorted(found, key=lambda guess: -guess["confidence"])
        assert {guess["language"] for guess in found} == {"de", "en", "fr"}


async def test_where_nothing_is_recognised_the_confidence_is_zero(client: Client) -> None:
    for text in ("🎉", "  ", "12:30", "…", "Hi", "OK"):
        assert (await client.post("/detect", json={"q": text})).json() == NONE


async def test_a_text_in_a_language_that_is_not_served_is_none_of_ours(client: Client) -> None:
    foreign = ["Perdí las llaves de mi casa y no sé dónde están.", "火车站在哪里?"]
    for text in foreign:
        assert (await client.post("/detect", json={"q": text})).json() == NONE
    fields = {"q": [*foreign, ENGLISH], "source": "auto", "target": "fr"}
    body = (await client.post("/translate", json=fields)).json()
    assert body["translatedText"] == [*foreign, ENGLISH.upper()]
    assert body["detectedLanguage"][:2] == NONE * 2
    [warning] = body["warnings"][0]
    assert (warning["code"], warning["language"]) == ("unknown_language", "es")


async def test_detect_refuses_as_translate_does(client: Client) -> None:
    assert (await client.get("/detect")).status_code == 405
    answer = await client.post("/detect", json={})
    assert (answer.status_code, answer.json()["error"]) == (400, "Invalid request: missing q parameter")
    assert (await client.post("/detect", json={"q": "a" * 1001})).json()["code"] == "character_limit"
    for wrong in ([], ["a", 1], {"a": "b"}, 7):
        assert (await client.post("/detect", json={"q": wrong})).status_code == 400
    assert (await client.post("/detect", json={"q": ["a"] * 129})).json()["code"] == "batch_limit"


async def test_detect_takes_a_list_and_answers_for_all_of_it(client: Client) -> None:
    found = (await client.post("/detect", json={"q": [ENGLISH, ENGLISH, FRENCH, "🎉"]})).json()
    assert [guess["language"] for guess in found[:2]] == ["en", "fr"]
    assert 55 < found[0]["confidence"] < 75
    assert (await client.post("/detect", json={"q": [FRENCH]})).json()[0]["language"] == "fr"
    assert (await client.post("/detect", json={"q": ["🎉", "1"]})).json() == NONE


async def test_auto_says_what_it_found(client: Client) -> None:
    answer = await client.post("/translate", json={"q": ENGLISH, "source": "auto", "target": "fr", "alternatives": 1})
    body = answer.json()
    assert list(body) == ["translatedText", "detectedLanguage", "alternatives"]
    assert body["translatedText"] == ENGLISH.upper()
    assert body["detectedLanguage"]["language"] == "en"
    assert body["detectedLanguage"]["confidence"] > 90


async def test_auto_finds_the_language_of_each_text_and_one_odd_text_does_not_fail_a_batch(client: Client) -> None:
    texts = [ENGLISH, FRENCH, "🎉", ENGLISH]
    for target in ("fr", "de"):  # there is no model from French into German
        body = (await client.post("/translate", json={"q": texts, "source": "auto", "target": target})).json()
        assert body["translatedText"] == [ENGLISH.upper(), FRENCH, "🎉", ENGLISH.upper()]
        assert [found["language"] for found in body["detectedLanguage"]] == ["en", "fr", "en", "en"]
        assert body["detectedLanguage"][2]["confidence"] == 0


async def test_auto_with_a_language_that_cannot_be_translated_is_told_so(client: Client) -> None:
    for texts in (FRENCH, [FRENCH, FRENCH]):
        answer = await client.post("/translate", json={"q": texts, "source": "auto", "target": "de"})
        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_pair")
    answer = await client.post("/translate", json={"q": FRENCH, "source": "auto", "target": "zz"})
    assert answer.json()["error"] == "zz is not supported"
    assert (await client.get("/attention", params={"text": "a", "source": "auto", "target": "fr"})).status_code == 400


async def test_an_error_in_one_language_ends_the_request_with_that_error(
    client: Client, registry: DummyRegistry
) -> None:
    registry["transformer-en-fr"].error = Overloaded("full", 7)
    answer = await client.post("/translate", json={"q": [ENGLISH, FRENCH], "source": "auto", "target": "fr"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "7")


async def test_html_keeps_its_tags(client: Client) -> None:
    html = '<p>one <a href="/x">two</a></p><script>three</script>\n<p>four &amp; five</p>'
    for source in ("en", "auto"):
        fields = {"q": html, "source": source, "target": "fr", "format": "html", "alternatives": 1}
        body = (await client.post("/translate", json=fields)).json()
        assert body["translatedText"].startswith("<p>")
        assert '<a href="/x">' in body["translatedText"]
        assert "<script>three</script>\n<p>FOUR &amp; FIVE</p>" in body["translatedText"]
        assert body["alternatives"] == []


async def test_the_settings_of_a_page(client: Client) -> None:
    assert (await client.get("/frontend/settings")).json() == {
        "charLimit": 1000,
        "batchLimit": 128,
        "frontendTimeout": 200,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": supported_extensions(),
        "language": {"source": {"code": "auto", "name": "Auto Detect"}, "target": {"code": "fr", "name": "French"}},
    }


async def test_what_is_not_offered_is_refused_in_known_words(client: Client) -> None:
    answer = await client.post("/suggest", data={"source": "en"})
    assert (answer.status_code, answer.json()["error"]) == (403, "Suggestions are disabled on this server.")
