"""SIGTERM under load on a real engine: every request that was accepted is answered in full."""

import asyncio
import json
from pathlib import Path

import httpx

from tests.support.polling import wait_until_async
from tests.support.server import running
from tests.support.toy_onnx import write_speaking_bundle
from tests.system.load import Load, status_of, status_of_translation


def whole(answer: httpx.Response) -> bool:
    """Say whether an answer is complete: streams have an end of their own."""
    if "event-stream" in answer.headers["content-type"]:
        return "\nevent: done\n" in answer.text and "event: error" not in answer.text
    return bool(json.loads(answer.content))


async def test_a_stop_under_load_loses_nothing_of_any_kind(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    settings = {"TRANSLUCENT_MODELS_DIR": str(tmp_path), "TRANSLUCENT_DRAIN_DELAY_SECONDS": "4"}
    with running("-m", "service", "serve", "--device", "cpu", **settings) as server:
        async with Load(server.url, callers=12) as load:
            await load.until(16)
            server.signal()
            before = len(load.answers)
            await wait_until_async(lambda: status_of(server, "/health/ready") == 503)
            assert status_of(server, "/health/live") == 200
            assert await asyncio.to_thread(status_of_translation, server) == 200
            await load.over()  # they go on asking until the port is closed
        assert await asyncio.to_thread(server.exit_code, 120) == 0
    assert load.lost == []
    assert set(load.statuses) == {200}
    assert len(load.answers) > before
    assert all(whole(answer) for _, answer in load.answers)
