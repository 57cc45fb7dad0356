"""Language tags over HTTP, with a real bundle from English into Brazilian Portuguese (so its manifest says)."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.api.app import create_app
from service.api.languages import language_name
from service.api.state import Service
from service.engine.registry import Registry
from service.metrics import Metrics
from service.settings import Settings
from tests.support.api_client import Client, calling

BUNDLE = Path(__file__).parents[2] / "data" / "bundles" / "multi30k-transformer-en-de"
TEXT = "a man in a blue shirt is standing on a ladder cleaning a window ."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the bundle for three pairs: copies with other manifests."""
    folder = tmp_path_factory.mktemp("models")
    for name, target in (("brazilian", "pt-BR"), ("chinese", "zh-hans"), ("german", "de")):
        shutil.copytree(BUNDLE, folder / name)
        manifest = json.loads((BUNDLE / "manifest.json").read_text("utf-8"))
        manifest |= {"name": name, "target_language": target}
        (folder / name / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


@pytest.fixture
async def client(models: Path) -> AsyncIterator[Client]:
    registry = Registry(models)
    await registry.start()
    async with calling(create_app(Service(Settings(), registry, Metrics()))) as client:
        yield client
    await registry.stop(0.0)


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
    for route, fields in (("/attention", {"text": TEXT}), ("/translate/stream", {"q": TEXT})):
        answer = await client.post(route, json={**fields, "source": "en-US", "target": "pb"})
        assert answer.status_code == 200, answer.text


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
    ("tag", "name"), [("hsb", "Upper Sorbian"), ("sr-Latn", "Serbian (Latn)"), ("rw", "Kinyarwanda"), ("qaa", "qaa")]
)
def test_languages_of_imported_models_have_names(tag: str, name: str) -> None:
    assert language_name(tag) == name
