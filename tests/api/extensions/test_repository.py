"""Loading and unloading over HTTP: only for the operator; every outcome is reported and counted."""

from collections.abc import AsyncIterator

import pytest

from service.bundle.repository import Change
from service.engine.errors import BundleCorrupt
from service.engine.model_info import WorkerState
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry

TOKEN = {"Authorization": "Bearer let-me-in-please-1"}
MODELS, INDEX = "/v2/repository/models", "/v2/repository/index"
LOAD, UNLOAD = f"{MODELS}/transformer-en-fr/load", f"{MODELS}/transformer-en-fr/unload"


@pytest.fixture
async def operator(registry: DummyRegistry) -> AsyncIterator[Client]:
    async with serving(registry, admin_token="let-me-in-please-1") as client:
        yield client


@pytest.mark.parametrize("route", [LOAD, UNLOAD, INDEX])
async def test_only_the_operator_may_load(operator: Client, registry: DummyRegistry, route: str) -> None:
    for headers in ({}, {"Authorization": "Bearer let you"}, {"Authorization": "Bearer "}):
        answer = await operator.post(route, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "invalid_token")
    assert len(registry.models()) == 3
    assert (await operator.get(route, headers=TOKEN)).status_code == 405


async def test_the_operators_requests_count_as_those_of_an_address() -> None:
    async with serving(admin_token="let-me-in-please-1", rate_limit="2/minute") as client:
        statuses = [(await client.post(INDEX, headers=TOKEN)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


async def test_loading_says_what_is_served_now(operator: Client, registry: DummyRegistry) -> None:
    answer = await operator.post(LOAD, headers=TOKEN, json={"parameters": {}})
    assert answer.status_code == 200
    assert answer.json() == {"name": "transformer-en-fr", "outcome": "replaced", "digest": "sha256:transformer-en-fr"}
    answer = await operator.post(f"{MODELS}/nope/load", headers=TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (404, "bundle_missing")
    error = BundleCorrupt("models/x/weights.bin: its SHA-256 is wrong.")
    registry.refused = Change("transformer-en-fr", "refused", "sha256:old", error)
    answer = await operator.post(LOAD, headers=TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (409, "bundle_corrupt")
    assert "its SHA-256 is wrong" in answer.json()["error"]
    text = (await operator.get("/metrics")).text
    assert 'translucent_model_changes_total{result="replaced"} 1.0' in text
    assert 'translucent_model_changes_total{result="refused"} 2.0' in text


async def test_unloading_takes_a_model_out_of_everything_but_never_the_last(operator: Client) -> None:
    for name, status in [("transformer-en-de", 200), ("transformer-en-de", 404), ("bahdanau-en-fr", 200)]:
        answer = await operator.post(f"{MODELS}/{name}/unload", headers=TOKEN)
        assert answer.status_code == status
    left = (await operator.post(INDEX, headers=TOKEN)).json()
    assert {each["name"]: (each["version"], each["state"]) for each in left} == {
        "transformer-en-fr": ("1", "READY"),
        "bahdanau-en-fr": ("", "UNAVAILABLE"),
        "transformer-en-de": ("", "UNAVAILABLE"),
    }
    assert "not loaded" in left[0]["reason"]
    ready = (await operator.post(INDEX, headers=TOKEN, json={"ready": True})).json()
    assert ready == [{"name": "transformer-en-fr", "version": "1", "state": "READY", "reason": ""}]
    answer = await operator.post(UNLOAD, headers=TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (409, "last_model")
    assert 'model="transformer-en-de"' not in (await operator.get("/metrics")).text.split("translucent_queued")[0]
    assert (await operator.get("/languages")).json()[0]["targets"] == ["en", "fr"]


async def test_the_index_says_what_cannot_be_asked_and_why(operator: Client, registry: DummyRegistry) -> None:
    registry["bahdanau-en-fr"].worker.state = WorkerState.DEAD
    registry["transformer-en-de"].worker.state = WorkerState.RESTARTING
    listed = (await operator.post(INDEX, headers=TOKEN)).json()
    assert [(each["name"], each["state"]) for each in listed] == [
        ("bahdanau-en-fr", "UNAVAILABLE"),
        ("transformer-en-de", "LOADING"),
        ("transformer-en-fr", "READY"),
    ]
    assert all(each["reason"] for each in listed[:2])
    answer = await operator.post(INDEX, headers=TOKEN, content=b"[]")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


async def test_a_request_cannot_bring_a_model_of_its_own(operator: Client) -> None:
    for parameters in ({"config": "{}"}, {"file:1/model.onnx": "AAAA"}):
        answer = await operator.post(LOAD, headers=TOKEN, json={"parameters": parameters})
        assert (answer.status_code, answer.json()["param"]) == (400, "parameters")
