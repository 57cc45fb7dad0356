"""One deadline for a request, whatever it consists of; what is slow holds up nothing of another kind."""

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any

import httpx
import pytest

from service.api import attention_formats
from service.api.app import create_app
from service.api.languages import LanguageDetection
from service.api.routes.attention import MOST_WEIGHTS
from service.api.state import Service
from service.detection import Detector
from service.engine.errors import TooManyWeights
from service.figures.renderer import FigureRenderer
from service.settings import Settings
from tests.support.api_client import Client, calling
from tests.support.fake_engine import DummyRegistry
from tests.support.polling import PATIENCE

SENTENCE = {"text": "I lost my dog", "source": "en", "target": "fr"}


@pytest.fixture
def settings() -> Settings:
    return Settings(request_timeout_seconds=0.3)


async def too_late(asked: Awaitable[httpx.Response]) -> None:
    """Wait for an answer that has to be 504."""
    answer = await asked
    assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")


async def test_a_comparison_of_two_models_has_the_time_of_one_request(
    client: Client, settings: Settings, registry: DummyRegistry
) -> None:
    settings.__dict__["request_timeout_seconds"] = 60.0
    names = ("transformer-en-fr", "bahdanau-en-fr")
    fields = {**SENTENCE, "view": "compare", "model": "transformer"}
    assert (await client.post("/attention", json=fields)).status_code == 200
    first, second = (registry[name].calls[0][2] for name in names)
    assert first is not None
    assert first == second


async def test_recognising_a_language_has_a_deadline_too(
    service: Service, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    service.detection = LanguageDetection()  # not loaded yet
    monkeypatch.setattr(Detector, "detect", lambda _self, _text: go_on.wait(20))
    await too_late(client.post("/detect", json={"q": "bonjour"}))
    await too_late(client.post("/translate", json={"q": "bonjour", "source": "auto", "target": "fr"}))
    go_on.set()


async def test_a_figure_has_a_deadline(service: Service, settings: Settings) -> None:
    app = create_app(service)

    class Slow(FigureRenderer):
        async def draw(self, *_: Any, **__: Any) -> bytes:
            await asyncio.sleep(20)
            return b""

    app.state.renderer = Slow()
    async with calling(app) as client:
        await too_late(client.post("/attention", json={**SENTENCE, "format": "svg"}))
        settings.__dict__["request_timeout_seconds"] = 60.0
        assert (await client.post("/attention", json=SENTENCE)).status_code == 200
    app.state.renderer.close()


async def test_large_answers_hold_up_no_other_kind_of_work(
    client: Client, settings: Settings, registry: DummyRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.__dict__["request_timeout_seconds"] = 60.0
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def slow(*_: object) -> bytes:
        begun.release()
        go_on.wait(20)
        return b"done"

    monkeypatch.setitem(attention_formats._FILES, "csv", slow)
    monkeypatch.setattr(attention_formats, "LARGE", 0)
    large = [asyncio.create_task(client.post("/attention", json={**SENTENCE, "format": "csv"})) for _ in range(40)]
    assert await asyncio.to_thread(begun.acquire, timeout=10)
    while sum(task.done() for task in large) < 6:  # 2 are made, 32 wait, the others are refused
        await asyncio.sleep(0.01)
    async with asyncio.timeout(PATIENCE):
        assert (await client.post("/detect", json={"q": "I lost my dog."})).status_code == 200
        html = {"q": "<p>I lost</p>", "source": "auto", "target": "fr", "format": "html"}
        assert (await client.post("/translate", json=html)).status_code == 200
    go_on.set()
    answers = [await task for task in large]
    assert sorted({answer.status_code for answer in answers}) == [200, 503]
    assert sum(answer.status_code == 503 for answer in answers) == 6
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)


async def test_the_engine_is_told_how_many_weights_an_answer_may_have(client: Client, registry: DummyRegistry) -> None:
    translator = registry["transformer-en-fr"]
    assert (await client.post("/attention", json=SENTENCE)).status_code == 200
    assert translator.most_weights == [MOST_WEIGHTS]
    translator.error = TooManyWeights("That is 2000 attention weights.")
    answer = await client.post("/attention", json={**SENTENCE, "format": "csv"})
    assert (answer.status_code, answer.json()["code"]) == (400, "too_many_weights")
