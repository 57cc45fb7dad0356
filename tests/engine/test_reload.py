"""Bundles change under a running engine: a request keeps its bundle, and a refused bundle changes nothing."""

import asyncio
import gc
import json
import logging
import shutil
import threading
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.bundle.load import Bundle
from service.bundle.repository import Change
from service.engine.errors import (
    BundleCorrupt,
    BundleIncompatible,
    BundleMissing,
    EngineFailure,
    LastModel,
    NotReady,
    UnknownModel,
    UnsupportedPair,
)
from service.engine.loader import EngineSettings
from service.engine.model import onnx_model
from service.engine.model.device import ModelSettings
from service.engine.registry import Registry
from tests.support.models_folder import PlacedModel, WriteModel, load_scripted
from tests.support.polling import PATIENCE

FR, DE = "transformer-en-fr", "transformer-en-de"


@pytest.fixture
async def registry(tmp_path: Path, write_model: WriteModel) -> AsyncIterator[Registry]:
    write_model(FR)
    found = Registry(tmp_path)
    await found.start()
    yield found
    await found.stop(0)


def outcomes(changes: list[Change]) -> dict[str, str]:
    return {change.name: change.outcome for change in changes}


async def test_what_is_new_or_changed_is_served_and_the_rest_is_left_alone(
    write_model: WriteModel, registry: Registry
) -> None:
    untouched = registry.resolve("en", "fr")
    write_model(DE)
    assert await registry.unused() == [DE]
    assert outcomes(await registry.reload()) == {DE: "added", FR: "unchanged"}
    assert await registry.unused() == []
    assert registry.resolve("en", "fr") is untouched
    assert registry.resolve("en", "de").model.ready
    write_model(FR, version="2")
    [change] = await registry.reload(FR)
    new = registry.resolve("en", "fr").info
    assert (change.outcome, change.digest, new.version) == ("replaced", new.digest, "2")
    assert new.digest != untouched.info.digest
    assert registry.ready
    await registry.unload(DE)
    assert await registry.unused() == [DE]


async def test_a_request_that_was_resolved_before_a_model_was_replaced_is_answered_by_what_replaced_it(
    write_model: WriteModel, registry: Registry
) -> None:
    resolved = registry.resolve("en", "fr")
    for version in ("2", "3"):
        write_model(FR, version=version)
        await registry.reload(FR)
    while resolved.model.state != "closed":
        await asyncio.sleep(0.01)
    assert (await resolved.translate(["I lost."]))[0].text == "I lost."
    assert (await resolved.score_batch([("I lost.", "I lost.")]))[0].source_text == "I lost."
    write_model(FR, version="4", target_language="de")
    await registry.reload()
    with pytest.raises(NotReady, match="replaced or unloaded"):  # not by a model of another pair
        await resolved.translate(["I lost."])


async def test_a_damaged_or_unreadable_bundle_is_refused_and_the_old_one_serves(
    tmp_path: Path, write_model: WriteModel, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = registry.resolve("en", "fr")
    write_model(FR, version="2")
    (tmp_path / FR / "weights.bin").write_bytes(b"damaged")
    manifest = json.loads((write_model(DE) / "manifest.json").read_text("utf-8"))
    (tmp_path / DE / "manifest.json").write_text(json.dumps(manifest | {"format_version": 9}), "utf-8")
    (tmp_path / "no-json").mkdir()
    (tmp_path / "no-json" / "manifest.json").write_text("{", "utf-8")
    changes = {change.name: change for change in await registry.reload()}
    assert {change.outcome for change in changes.values()} == {"refused"}
    assert isinstance(changes[FR].error, BundleCorrupt)
    assert isinstance(changes[DE].error, BundleIncompatible)
    assert isinstance(changes["no-json"].error, BundleCorrupt)
    assert changes[FR].digest == served.info.digest
    assert registry.resolve("en", "fr") is served
    assert registry.ready
    states = {each.name: each for each in registry.states()}
    assert (states[DE].state, states["no-json"].state, states[FR].state) == ("refused", "refused", "ready")
    assert "format_version" in states[DE].reason
    shutil.rmtree(tmp_path / "no-json")
    await registry.reload()
    assert "no-json" not in {each.name for each in registry.states()}
    assert (await served.translate(["I lost."]))[0].text == "I lost."


@pytest.mark.parametrize("when", ["opening", "the first run"])
async def test_a_bundle_that_cannot_run_is_refused_before_anybody_meets_it(
    write_model: WriteModel, registry: Registry, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def broken(bundle: Bundle, settings: ModelSettings) -> PlacedModel:
        def fail(what: str, rows: int) -> None:
            raise RuntimeError("no such operator")

        if when == "opening":
            raise RuntimeError("no such operator")
        model = load_scripted(bundle, settings)
        model.before = fail
        return model

    served = registry.resolve("en", "fr")
    monkeypatch.setattr(onnx_model, "load_model", broken)
    write_model(FR, version="2")
    [change] = await registry.reload()
    assert (change.outcome, type(change.error)) == ("refused", EngineFailure)
    assert registry.resolve("en", "fr") is served
    assert (registry.ready, registry.dead) == (True, False)


@pytest.mark.parametrize("why", ["it hangs", "it fails", "it is loaded too late"])
async def test_a_bundle_that_is_refused_leaves_the_memory(
    tmp_path: Path,
    write_model: WriteModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    why: str,
) -> None:
    caplog.set_level(logging.CRITICAL, "service")  # a captured record would hold the frames of an error
    go_on, opened = threading.Event(), []

    def broken(bundle: Bundle, settings: ModelSettings) -> PlacedModel:
        def run(what: str, rows: int) -> None:
            if why == "it fails":
                raise RuntimeError("no such operator")
            go_on.wait(60)

        if why == "it is loaded too late":
            go_on.wait(60)
        model = load_scripted(bundle, settings)
        model.before = run
        opened.append(weakref.ref(model))
        return model

    monkeypatch.setattr("service.engine.thread_pools.GRACE_SECONDS", 0.0)
    write_model(FR)
    registry = Registry(tmp_path, EngineSettings(load_seconds=1.0))
    await registry.start()
    monkeypatch.setattr(onnx_model, "load_model", broken)
    write_model(DE)
    assert outcomes(await registry.reload(DE)) == {DE: "refused"}
    go_on.set()
    async with asyncio.timeout(PATIENCE):
        while not opened or opened[0]() is not None:
            await asyncio.sleep(0.05)
            gc.collect()
    await registry.stop(0)


async def test_a_bundle_whose_load_hangs_is_refused_in_time_and_holds_up_no_other(
    tmp_path: Path, write_model: WriteModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def hangs(bundle: Bundle, settings: ModelSettings) -> PlacedModel:
        if bundle.manifest.name == DE:
            go_on.wait(60)
        return load_scripted(bundle, settings)

    monkeypatch.setattr("service.engine.thread_pools.GRACE_SECONDS", 0.0)
    write_model(FR)
    registry = Registry(tmp_path, EngineSettings(load_seconds=5.0))
    await registry.start()
    monkeypatch.setattr(onnx_model, "load_model", hangs)
    write_model(DE)
    hanging = asyncio.create_task(registry.reload(DE))
    await asyncio.sleep(0.1)
    write_model(FR, version="2")
    assert outcomes(await registry.reload(FR)) == {FR: "replaced"}
    assert not hanging.done()
    assert (await registry.resolve("en", "fr").translate(["I lost."]))[0].text == "I lost."
    [refused] = await hanging
    assert refused.outcome == "refused"
    assert "within 5 seconds" in str(refused.error)
    [again] = await registry.reload(DE)
    assert "an earlier attempt" in str(again.error)
    assert {each.name: each.state for each in registry.states()} == {FR: "ready", DE: "refused"}
    go_on.set()
    async with asyncio.timeout(PATIENCE):
        while (await registry.reload(DE))[0].outcome != "added":
            await asyncio.sleep(0.05)
    await registry.stop(0)


async def test_a_second_bundle_of_a_name_does_not_push_the_first_one_out(
    write_model: WriteModel, registry: Registry
) -> None:
    served = registry.resolve("en", "fr")
    write_model("a-en-fr", name=FR, version="2")
    assert sorted(change.outcome for change in await registry.reload()) == ["refused", "unchanged"]
    assert registry.resolve("en", "fr") is served


async def test_a_bundle_that_has_gone_is_served_until_it_is_unloaded(
    tmp_path: Path, write_model: WriteModel, registry: Registry
) -> None:
    write_model(DE)
    await registry.reload()
    shutil.rmtree(tmp_path / DE)
    assert outcomes(await registry.reload()) == {FR: "unchanged", DE: "missing"}
    assert registry.resolve("en", "de").model.ready
    with pytest.raises(BundleMissing, match="no bundle named"):
        await registry.reload(DE)
    await registry.unload(DE)
    assert await registry.unused() == []
    with pytest.raises(UnsupportedPair):
        registry.resolve("fr", "en")
    with pytest.raises(UnknownModel):
        await registry.unload(DE)
    with pytest.raises(LastModel):
        await registry.unload(FR)
    shutil.rmtree(tmp_path)
    with pytest.raises(BundleMissing, match="no such folder"):
        await registry.reload()
    assert registry.ready
