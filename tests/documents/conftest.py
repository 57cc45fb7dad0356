"""Runners of jobs that stop with their test."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from service.documents.jobs.runner import JobRunner
from service.documents.jobs.store import JobStore
from tests.support.fake_engine import DummyTranslator
from tests.support.jobs import Gate, runner_of, store_at

OpenRunner = Callable[..., JobRunner]


@pytest.fixture
async def open_runner(tmp_path: Path) -> AsyncIterator[OpenRunner]:
    runners: list[JobRunner] = []

    def open_runner(translator: Gate | DummyTranslator, store: JobStore | None = None) -> JobRunner:
        runners.append(runner_of(store or store_at(tmp_path), translator))
        return runners[-1]

    yield open_runner
    for runner in runners:
        await runner.stop()
