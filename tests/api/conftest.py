"""The real application over a dummy engine, called without a network."""

from collections.abc import AsyncIterator

import pytest

from service.api.app import create_app
from service.api.state import Service
from service.metrics import Metrics
from service.settings import Settings
from tests.support.api_client import Client, calling
from tests.support.fake_engine import DummyRegistry, service_of


@pytest.fixture
def settings() -> Settings:
    return Settings(character_limit=1000, body_limit=20_000)


@pytest.fixture
def registry() -> DummyRegistry:
    return DummyRegistry()


@pytest.fixture
def service(settings: Settings, registry: DummyRegistry) -> Service:
    metrics = Metrics()
    for translator in registry.dummies:
        translator.on_event = metrics.record
    return service_of(registry, settings, metrics)


@pytest.fixture
async def client(service: Service) -> AsyncIterator[Client]:
    async with calling(create_app(service)) as client:
        yield client
