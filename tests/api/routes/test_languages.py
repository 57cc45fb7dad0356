"""Language tags over HTTP, with models from English into Brazilian Portuguese, simplified Chinese and German."""

from dataclasses import replace

import pytest

from service.api.languages import language_name
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

TEXT = "a man in a blue shirt is standing on a ladder cleaning a window ."


@pytest.fixture
def registry() -> DummyRegistry:
    found = DummyRegistry()
    for translator, target in zip(found.dummies, ("pt-BR", "zh-Hans", "de"), strict=True):
        translator.info = replace(translator.info, target_language=target)
    return found


async def test_a_regional_language_is_served_under_every_name_it_has(client: Client) -> None:
    listed = (await client.get("/languages")).json()
    names = {"de": "German", "en": "English", "pt-BR": "Portuguese (Brazil)", "zh-Hans": "Chinese"}
    assert [(each["code"], each["name"]) for each in listed] == [*names.items()]
    assert listed[1]["targets"] == ["de", "en", "pt-BR", "zh-Hans"]
    german = await client.post("/translate", json={"q": TEXT, "source": "en", "target": "de"})
    for target in ("pt-BR", "pt-br", "PT_BR", "pb", "zh", "zh-CN", "zh-Hans", "de-AT"):
        answer = await client.post("/translate", json={"q": TEXT, "source": "en", "target": target})
        assert answer.json() == german.json(), target
    for source in ("en-US", "EN_gb", "EN"):
        answer = await client.post("/translate", json={"q": TEXT, "source": source, "target": "pb"})
        assert answer.json() == german.json(), source
    auto = await client.post("/translate", json={"q": TEXT, "source": "auto", "target": "pb"})
    assert auto.json()["translatedText"] == german.json()["translatedText"]
    assert auto.json()["detectedLanguage"]["language"] == "en"
    answer = await client.post("/attention", json={"text": TEXT, "source": "en-US", "target": "pb"})
    assert answer.status_code == 200, answer.text


async def test_the_list_is_packed_for_those_who_read_that(client: Client) -> None:
    packed, plain = [
        await client.get("/languages", headers={"Accept-Encoding": coding}) for coding in ("gzip", "identity")
    ]
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert packed.json() == plain.json()


async def test_what_is_not_served_is_refused_under_the_name_it_was_asked_for(client: Client) -> None:
    for target in ("pt", "zt", "zh-TW", "pt-PT"):
        answer = await client.post("/translate", json={"q": TEXT, "source": "en", "target": target})
        body = answer.json()
        assert (body["error"], body["param"]) == (f"{target.lower()} is not supported", "target")
    answer = await client.post("/translate", json={"q": TEXT, "source": "pb", "target": "en-US"})
    assert answer.json()["error"].startswith("English (en) is not available as a target language from Portuguese (Br")


async def test_a_text_in_portuguese_is_found_to_be_in_the_portuguese_that_is_served(client: Client) -> None:
    answer = await client.post("/detect", json={"q": "Perdi as chaves da minha casa e não sei onde estão."})
    assert answer.json()[0]["language"] == "pt-BR"


@pytest.mark.parametrize(
    ("tag", "name"), [("hsb", "Upper Sorbian"), ("sr-Latn", "Serbian (Latin)"), ("rw", "Kinyarwanda"), ("qaa", "qaa")]
)
def test_languages_of_imported_models_have_names(tag: str, name: str) -> None:
    assert language_name(tag) == name
