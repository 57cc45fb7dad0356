"""The real application over a dummy engine, called without a network."""

from collections.abc import AsyncIterator

import httpx
import pytest

from service.api.app import create_app
from service.api.state import Service
from service.metrics import Metrics
from service.settings import Settings
from tests.support.fake_engine import DummyRegistry


@pytest.fixture
def settings() -> Settings:
    return Settings(character_limit=1000, batch_limit=5, body_limit=20_000)


@pytest.fixture
def registry(settings: Settings) -> DummyRegistry:
    return DummyRegistry()


@pytest.fixture
def service(settings: Settings, registry: DummyRegistry) -> Service:
    metrics = Metrics()
    for translator in registry.translators.values():
        translator.on_event = metrics.record
    return Service(settings, registry, metrics)


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(service), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://translucent") as client:
        yield client
