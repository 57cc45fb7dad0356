"""Clients of the real application, most of them over a dummy engine, called without a network."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from service.api.app import create_app
from service.api.state import Service
from service.engine.registry import Registry
from service.metrics import Metrics
from service.settings import Settings
from tests.support.fake_engine import DummyRegistry, service_of

Client = httpx.AsyncClient


@asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[Client]:
    """Yield a client of an application, whose jobs end with it."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with Client(transport=transport, base_url="http://translucent") as client:
        yield client
    await app.state.jobs.stop()


@asynccontextmanager
async def serving(registry: DummyRegistry | None = None, **settings: Any) -> AsyncIterator[Client]:
    """Yield a client of an application with these settings."""
    async with calling(create_app(service_of(registry or DummyRegistry(), Settings(**settings)))) as client:
        yield client


@asynccontextmanager
async def serving_models(models: Path) -> AsyncIterator[Client]:
    """Yield a client of an application over the bundles of a folder."""
    registry = Registry(models)
    await registry.start()
    async with calling(create_app(Service(Settings(), registry, Metrics()))) as client:
        yield client
    await registry.stop(5)


async def answer(client: Client, path: str, **fields: Any) -> Any:
    """Return what a route answers with 200."""
    answered = await client.post(path, json=fields)
    assert answered.status_code == 200, answered.text
    return answered.json()
