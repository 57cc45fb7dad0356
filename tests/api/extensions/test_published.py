"""The operator's page adds published models by the command that the command line has."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.api.extensions import published
from service.bundle.repository import Change
from service.engine import BundleCorrupt
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry

TOKEN = {"Authorization": "Bearer let-me-in-please-1"}
PUBLISHED, STATE = "/v2/repository/published", "/v2/repository/published/state"
PAIR = {"source": "en", "target": "es"}
LISTED = [
    {"source": source, "target": target, "model": "firefox tiny 3.0", "bytes": 17_000_000, "licence": "MPL-2.0"}
    for source, target in (("en", "es"), ("en", "fr"))
]
PROGRAM = f"""
import sys
if sys.argv[1] == "available":
    print({json.dumps(LISTED)!r})
elif sys.argv[-1] == "es":
    print("en → es: firefox-en-es is the default.", *sys.argv[1:3])
else:
    sys.exit("no model is listed")
"""


@pytest.fixture
async def operator(registry: DummyRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    (tmp_path / "models.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setattr(published, "COMMAND", (sys.executable, str(tmp_path / "models.py")))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    async with serving(registry, admin_token="let-me-in-please-1") as client:
        yield client


async def ended(operator: Client) -> tuple[str, str]:
    """Return how the model that is being added ended, and what the command said."""
    for _ in range(500):
        found = (await operator.get(STATE, headers=TOKEN)).json()
        if found["state"] != "running":
            return found["state"], found["message"]
        await asyncio.sleep(0.02)
    raise AssertionError(found)


async def test_only_the_operator_may_see_and_add_models(operator: Client) -> None:
    for answer in (await operator.get(PUBLISHED), await operator.post(PUBLISHED, json=PAIR), await operator.get(STATE)):
        assert (answer.status_code, answer.json()["code"]) == (403, "invalid_token")


async def test_pairs_that_are_not_served_are_listed_with_names_and_sizes(operator: Client) -> None:
    (model,) = (await operator.get(PUBLISHED, headers=TOKEN)).json()["models"]
    assert model == LISTED[0] | {"source_name": "English", "target_name": "Spanish"}


async def test_a_model_is_added_and_the_folder_read_again(operator: Client, registry: DummyRegistry) -> None:
    assert await ended(operator) == ("none", "")
    answer = await operator.post(PUBLISHED, headers=TOKEN, json=PAIR)
    assert (answer.status_code, answer.json()["state"]) == (202, "running")
    busy = await operator.post(PUBLISHED, headers=TOKEN, json=PAIR)
    assert (busy.status_code, busy.json()["error"]) == (409, "en → es is being added; wait for it.")
    assert await ended(operator) == ("added", "en → es: firefox-en-es is the default. get --yes")
    assert "translucent_model_changes_total" in (await operator.get("/metrics")).text
    await operator.post(PUBLISHED, headers=TOKEN, json=PAIR | {"target": "it"})
    assert await ended(operator) == ("failed", "no model is listed")


async def test_a_model_that_is_fetched_but_not_served_is_not_called_added(
    operator: Client, registry: DummyRegistry
) -> None:
    registry.refused = Change("firefox-en-es", "refused", "", BundleCorrupt("firefox-en-es: it is damaged."))
    await operator.post(PUBLISHED, headers=TOKEN, json=PAIR)
    assert await ended(operator) == ("failed", "firefox-en-es: it is damaged.")


@pytest.mark.parametrize("target", ["--name", "../x", "", "e", "x" * 40])
async def test_what_is_no_language_never_reaches_the_command(operator: Client, target: str) -> None:
    answer = await operator.post(PUBLISHED, headers=TOKEN, json=PAIR | {"target": target})
    assert (answer.status_code, answer.json()["param"]) == (400, "target")
