"""POST /translate with `effort`: which models do their best, and when that is refused."""

from dataclasses import replace
from typing import Any

import pytest

from service.engine.model_info import MemberInfo
from service.engine.types import TranslationOptions
from service.settings import Settings
from tests.support.api_client import serving
from tests.support.fake_engine import DummyRegistry, DummyTranslator, info_of

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}
FORTH, BACK, TOGETHER = "transformer-en-fr", "transformer-fr-en", "ensemble-en-fr"


@pytest.fixture
def registry() -> DummyRegistry:
    found = DummyRegistry(names=(FORTH, BACK, "transformer-en-de", "transformer-it-en"))
    members = (MemberInfo(FORTH, "1", "sha256:1", {}), MemberInfo("other", "1", "sha256:2", {}))
    found.add(DummyTranslator(replace(info_of(TOGETHER), members=members)))
    return found


def options_of(registry: DummyRegistry, name: str) -> TranslationOptions:
    """Return the options of the last call of a model."""
    options = registry[name].calls[-1][1]
    assert isinstance(options, TranslationOptions)
    return options


async def answer_of(registry: DummyRegistry, settings: Settings, **fields: Any) -> tuple[int, dict[str, Any]]:
    async with serving(registry, effort=settings.effort) as client:
        answer = await client.post("/translate", json={**TEXT, **fields})
        return answer.status_code, answer.json()


async def test_best_is_the_ensemble_and_the_way_back(registry: DummyRegistry) -> None:
    assert (await answer_of(registry, Settings(), effort="best"))[0] == 200
    back = options_of(registry, TOGETHER).back
    assert back is not None
    assert await back([("J'ai perdu.", "I lost.")], None) == [-0.5]
    assert registry[BACK].calls[-1][0] == ("J'ai perdu.",)
    assert (await answer_of(registry, Settings(), effort="best", model=FORTH))[0] == 200
    assert options_of(registry, FORTH).back is not None


async def test_without_it_the_default_translates_as_usual(registry: DummyRegistry) -> None:
    for fields in ({}, {"effort": "usual"}):
        assert (await answer_of(registry, Settings(), **fields))[0] == 200
        assert options_of(registry, FORTH).back is None
    assert not registry[TOGETHER].calls


async def test_the_setting_applies_where_a_model_translates_back(registry: DummyRegistry) -> None:
    settings = Settings(effort="best")
    assert (await answer_of(registry, settings))[0] == 200
    assert options_of(registry, TOGETHER).back is not None
    assert (await answer_of(registry, settings, target="de"))[0] == 200
    assert options_of(registry, "transformer-en-de").back is None
    assert (await answer_of(registry, settings, effort="usual"))[0] == 200
    assert options_of(registry, FORTH).back is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": "de"}, "a model that translates back, and there is none from de to en"),
        ({"source": "it"}, "works in one translation, and this one goes through"),
        ({"effort": "more"}, "effort"),
    ],
)
async def test_what_is_not_possible_is_refused(registry: DummyRegistry, fields: dict[str, Any], message: str) -> None:
    status, body = await answer_of(registry, Settings(), **{"effort": "best", **fields})
    assert status == 400
    assert message in body["error"]
