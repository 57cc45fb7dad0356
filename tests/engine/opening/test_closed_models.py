"""A folder of models that are opened at their first request: what is known before, what is refused, what changes."""

import asyncio
import gc
import re
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.bundle.load import Bundle
from service.engine.errors import BundleCorrupt, ModelNotOpened, NotEnoughMemory, UnsupportedLanguage
from service.engine.loader import EngineSettings, own_process
from service.engine.model import onnx_model
from service.engine.model.device import ModelSettings
from service.engine.opening import open_models
from service.engine.opening.memory import resident_bytes
from service.engine.registry import Registry
from service.engine.types import AttentionOptions
from tests.support.models_folder import PlacedModel, WriteModel, load_scripted
from tests.support.polling import wait_until_async

FR, DE = "transformer-en-fr", "transformer-en-de"


@pytest.fixture(autouse=True)
def two_models(write_model: WriteModel) -> None:
    write_model(FR)
    write_model(DE)


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[Registry]:
    found = Registry(tmp_path, EngineSettings(lazy=True))
    await found.start()
    yield found
    await found.stop(0)


def states(registry: Registry) -> dict[str, str]:
    return {state.name: state.state for state in registry.states()}


async def test_everything_is_known_before_a_model_is_opened(registry: Registry) -> None:
    assert registry.ready
    assert not registry.dead
    assert not registry.stalled
    assert registry.languages().targets["en"] == ("de", "en", "fr")
    assert [info.name for info in registry.models()] == [DE, FR]
    assert [info.provider for info in registry.models()] == ["CPUExecutionProvider"] * 2
    assert states(registry) == {DE: "closed", FR: "closed"}
    assert all(state.ready and state.last_used is None for state in registry.states())


async def test_every_kind_of_request_opens_its_model_and_no_other(registry: Registry) -> None:
    translator = registry.resolve("en", "fr")
    info = translator.info
    assert (info.source_language, info.target_language) == ("en", "fr")
    assert (await translator.translate(["I lost."]))[0].text == "I lost."
    assert translator.info is info
    assert states(registry) == {DE: "closed", FR: "ready"}
    assert next(state for state in registry.states() if state.name == FR).last_used is not None
    assert (await translator.attention("I lost.", None, AttentionOptions())).model == FR
    assert len(await translator.score_batch([("I lost.", "I lost.")])) == 1
    assert states(registry)[DE] == "closed"


async def test_a_damaged_bundle_is_found_at_its_first_request_and_serves_once_repaired(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_models, "RETRY_SECONDS", 0.5)
    translator = registry.resolve("en", "fr")
    content = (tmp_path / FR / "weights.bin").read_bytes()
    (tmp_path / FR / "weights.bin").write_bytes(b"damaged")
    for error in await asyncio.gather(*(translator.translate(["I lost."]) for _ in range(3)), return_exceptions=True):
        assert isinstance(error, ModelNotOpened)
        assert 0 < error.retry_after <= 0.5
        assert re.fullmatch(r"The model transformer-en-fr could not be opened; .* Try again later\.", error.message)
        assert str(tmp_path) not in error.message
    assert states(registry) == {DE: "closed", FR: "failed"}
    assert registry.ready
    (tmp_path / FR / "weights.bin").write_bytes(content)
    with pytest.raises(ModelNotOpened):
        translator.check_room()
    with pytest.raises(ModelNotOpened):
        await translator.translate(["I lost."])  # it is not tried again at once
    await wait_until_async(lambda: states(registry)[FR] == "closed")
    assert (await translator.translate(["I lost."]))[0].text == "I lost."


async def test_what_could_not_be_served_is_refused_at_the_start(tmp_path: Path) -> None:
    limit = resident_bytes(own_process())  # other tests' memory may be given back before the next measurement
    with pytest.raises(NotEnoughMemory, match=r"needs about 1[67] MiB, and the server itself"):
        Registry(tmp_path, EngineSettings(lazy=True, memory_limit=limit)).load()
    (tmp_path / FR / "manifest.json").write_text("{}", "utf-8")
    with pytest.raises(BundleCorrupt):
        Registry(tmp_path, EngineSettings(lazy=True)).load()


async def test_a_reload_opens_what_changed_and_a_load_what_is_closed(
    write_model: WriteModel, registry: Registry
) -> None:
    write_model(FR, version="2")
    changes = {change.name: change.outcome for change in await registry.reload()}
    assert changes == {DE: "unchanged", FR: "replaced"}
    assert states(registry) == {DE: "closed", FR: "ready"}
    assert registry.resolve("en", "fr").info.version == "2"
    [change] = await registry.reload(DE)
    assert change.outcome == "unchanged"
    assert states(registry)[DE] == "ready"
    await registry.unload(FR)
    with pytest.raises(UnsupportedLanguage):
        registry.resolve("en", "fr")
    assert states(registry) == {DE: "ready"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[PlacedModel]:
    """Return the models that are opened during a test, in their order."""
    models: list[PlacedModel] = []

    def kept(bundle: Bundle, settings: ModelSettings) -> PlacedModel:
        models.append(load_scripted(bundle, settings))
        return models[-1]

    monkeypatch.setattr(onnx_model, "load_model", kept)
    return models


async def test_a_request_ends_with_the_model_it_began_with_which_is_then_closed(
    write_model: WriteModel, registry: Registry, opened: list[PlacedModel]
) -> None:
    old = registry.resolve("en", "fr")
    freed = weakref.ref(old)
    running = asyncio.create_task(old.translate(["I lost. " * 200]))
    await wait_until_async(lambda: bool(opened), pause=0.001)
    write_model(FR, version="2")
    await registry.reload(FR)
    assert (await registry.resolve("en", "fr").translate(["I lost."]))[0].text == "I lost."
    assert (await running)[0].text == "I lost. " * 200
    del old, running
    await wait_until_async(lambda: ("close", 0) in opened[0].calls)
    gc.collect()
    assert freed() is None


async def test_a_model_that_was_replaced_serves_those_who_hold_it(
    write_model: WriteModel, registry: Registry, opened: list[PlacedModel]
) -> None:
    old = registry.resolve("en", "fr")
    await old.translate(["I lost."])
    write_model(FR, version="2")
    with old.keep():  # as a document does between its parts
        await registry.reload(FR)
        await asyncio.sleep(0.1)
        assert (await old.translate(["I lost."]))[0].text == "I lost."
        assert ("close", 0) not in opened[0].calls
    await wait_until_async(lambda: ("close", 0) in opened[0].calls)
