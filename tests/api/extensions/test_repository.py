"""Loading and unloading over HTTP: only for the operator; every outcome is reported and counted."""

from collections.abc import AsyncIterator

import httpx
import pytest

from service.api.app import create_app
from service.api.state import Service
from service.bundle.repository import Change
from service.engine.errors import BundleCorrupt
from service.metrics import Metrics
from service.settings import Settings
from tests.support.fake_engine import DummyRegistry

TOKEN = {"Authorization": "Bearer let-me-in-please-1"}
LOAD = "/v2/repository/models/transformer-en-fr/load"
ROUTES = (LOAD, "/v2/repository/models/transformer-en-fr/unload", "/v2/repository/index")


@pytest.fixture
def registry() -> DummyRegistry:
    return DummyRegistry()


@pytest.fixture
async def operator(registry: DummyRegistry) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Service(Settings(admin_token="let-me-in-please-1", rate_limit="20/minute"), registry, Metrics()))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://translucent") as client:
        yield client


@pytest.mark.parametrize("route", ROUTES)
async def test_without_a_token_of_the_operators_there_is_no_loading(client: httpx.AsyncClient, route: str) -> None:
    for headers in ({}, TOKEN, {"Authorization": "Bearer "}):
        answer = await client.post(route, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "admin_disabled")


@pytest.mark.parametrize("route", ROUTES)
async def test_only_the_operator_may_load(operator: httpx.AsyncClient, registry: DummyRegistry, route: str) -> None:
    for headers in ({}, {"Authorization": "Bearer let you"}, {"Authorization": "Bearer "}):
        answer = await operator.post(route, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "invalid_token")
    assert len(registry.models()) == 3
    assert (await operator.get(route, headers=TOKEN)).status_code == 405


async def test_tokens_cannot_be_tried_without_end(operator: httpx.AsyncClient) -> None:
    statuses = [(await operator.post(LOAD, headers={"Authorization": f"Bearer {n}"})).status_code for n in range(25)]
    assert statuses == [403] * 20 + [429] * 5


async def test_loading_says_what_is_served_now(operator: httpx.AsyncClient, registry: DummyRegistry) -> None:
    answer = await operator.post(LOAD, headers=TOKEN, json={"parameters": {}})
    assert (answer.status_code, answer.json()) == (
        200,
        {"name": "transformer-en-fr", "outcome": "replaced", "digest": "sha256:transformer-en-fr"},
    )
    answer = await operator.post("/v2/repository/models/nope/load", headers=TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (404, "bundle_missing")
    error = BundleCorrupt("models/x/weights.bin: its SHA-256 is wrong.")
    registry.refused = Change("transformer-en-fr", "refused", "sha256:old", error)
    answer = await operator.post(LOAD, headers=TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (409, "bundle_corrupt")
    assert "its SHA-256 is wrong" in answer.json()["error"]
    text = (await operator.get("/metrics")).text
    assert 'translucent_model_changes_total{result="replaced"} 1.0' in text
    assert 'translucent_model_changes_total{result="refused"} 2.0' in text


async def test_unloading_takes_a_model_out_of_everything_but_never_the_last(operator: httpx.AsyncClient) -> None:
    for name, status in [("transformer-en-de", 200), ("transformer-en-de", 404), ("bahdanau-en-fr", 200)]:
        answer = await operator.post(f"/v2/repository/models/{name}/unload", headers=TOKEN)
        assert answer.status_code == status
    left = (await operator.post("/v2/repository/index", headers=TOKEN)).json()
    assert {each["name"]: (each["version"], each["state"]) for each in left} == {
        "transformer-en-fr": ("1", "READY"),
        "bahdanau-en-fr": ("", "UNAVAILABLE"),
        "transformer-en-de": ("", "UNAVAILABLE"),
    }
    assert "not loaded" in left[0]["reason"]
    ready = (await operator.post("/v2/repository/index", headers=TOKEN, json={"ready": True})).json()
    assert ready == [{"name": "transformer-en-fr", "version": "1", "state": "READY", "reason": ""}]
    answer = await operator.post("/v2/repository/models/transformer-en-fr/unload", headers=TOKEN)
    assert (answer.status_code, answer.json()["code"]) == (409, "last_model")
    assert 'model="transformer-en-de"' not in (await operator.get("/metrics")).text.split("translucent_queued")[0]
    assert (await operator.get("/languages")).json()[0]["targets"] == ["en", "fr"]


async def test_the_index_says_what_cannot_be_asked_and_why(
    operator: httpx.AsyncClient, registry: DummyRegistry
) -> None:
    registry.states_of = {"bahdanau-en-fr": "failed", "transformer-en-de": "restarting"}
    listed = (await operator.post("/v2/repository/index", headers=TOKEN)).json()
    assert [(each["name"], each["state"]) for each in listed] == [
        ("bahdanau-en-fr", "UNAVAILABLE"),
        ("transformer-en-de", "LOADING"),
        ("transformer-en-fr", "READY"),
    ]
    assert all(each["reason"] for each in listed[:2])
    answer = await operator.post("/v2/repository/index", headers=TOKEN, content=b"[]")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


@pytest.mark.parametrize("parameters", [{"config": "{}"}, {"file:1/model.onnx": "AAAA"}])
async def test_a_request_cannot_bring_a_model_of_its_own(
    operator: httpx.AsyncClient, parameters: dict[str, str]
) -> None:
    answer = await operator.post(LOAD, headers=TOKEN, json={"parameters": parameters})
    assert (answer.status_code, answer.json()["param"]) == (400, "parameters")
