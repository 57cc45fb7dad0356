"""Translators: over a worker without a model, and shipped models for tests that need real translations."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from service.engine import open_translator
from service.engine.translation.translator import Translator
from tests.support.fake_worker import MirrorWorker, translator_of
from tests.support.models_folder import WriteModel, model_writer
from tests.support.paths import MODELS


@pytest.fixture
def worker() -> MirrorWorker:
    return MirrorWorker()


@pytest.fixture
def translator(worker: MirrorWorker) -> Translator:
    return translator_of(worker)


@pytest.fixture
def write_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteModel:
    return model_writer(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def shipped(request: pytest.FixtureRequest) -> Iterator[Translator]:
    """Return a shipped model: transformer-en-fr, unless a test file names others."""
    translator = open_translator(load_bundle(MODELS / getattr(request, "param", "transformer-en-fr")))
    asyncio.run(translator.model.start())
    yield translator
    asyncio.run(translator.model.stop(1))
