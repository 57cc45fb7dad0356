"""The Open Inference Protocol, field by field."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from service.api.ports import Service
from tests.api.dummy import DummyRegistry

MODEL = "/v2/models/transformer-en-fr"


def text(*values: str, **changes: Any) -> dict[str, Any]:
    return {"name": "text", "shape": [len(values)], "datatype": "BYTES", "data": list(values), **changes}


def named(answer: httpx.Response) -> dict[str, Any]:
    return {output["name"]: output for output in answer.json()["outputs"]}


async def test_health_and_metadata_are_as_specified(client: httpx.AsyncClient, service: Service) -> None:
    assert (await client.get("/v2/health/live")).json() == {"live": True}
    assert (await client.get("/v2/health/ready")).json() == {"ready": True}
    for path in ("/v2", "/v2/"):
        assert set((await client.get(path)).json()) == {"name", "version", "extensions"}
    names = (await client.get("/v2/models")).json()
    assert names == {"models": ["transformer-en-fr", "bahdanau-en-fr", "transformer-en-de"]}
    for path in (MODEL, f"{MODEL}/versions/1"):
        metadata = (await client.get(path)).json()
        assert (metadata["name"], metadata["versions"], metadata["platform"]) == (
            "transformer-en-fr",
            ["1"],
            "onnx_onnxv1",
        )
        assert metadata["inputs"][0] == {"name": "text", "datatype": "BYTES", "shape": [-1]}
        assert {output["name"] for output in metadata["outputs"]} == {"translation", "score", "attention"}
        assert (await client.get(f"{path}/ready")).json() == {"name": "transformer-en-fr", "ready": True}
    service.draining = True
    assert (await client.get("/v2/health/live")).status_code == 200
    for path in ("/v2/health/ready", f"{MODEL}/ready"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["ready"]) == (503, False)


@pytest.mark.parametrize("path", ["/v2/models/nope", f"{MODEL}/versions/2", f"{MODEL}/versions/2/ready"])
async def test_unknown_models_and_versions_are_404_with_an_error(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert isinstance(answer.json()["error"], str)


@pytest.mark.parametrize("path", [f"{MODEL}/infer", f"{MODEL}/versions/1/infer"])
async def test_texts_are_translated(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.post(path, json={"id": "7", "inputs": [text("go", "i lost")]})
    body = answer.json()
    assert (body["model_name"], body["model_version"], body["id"]) == ("transformer-en-fr", "1", "7")
    assert body["outputs"] == [
        {"name": "translation", "shape": [2], "datatype": "BYTES", "data": ["GO", "I LOST"]},
        {"name": "score", "shape": [2], "datatype": "FP32", "data": [-0.5, -0.5]},
    ]


async def test_only_what_is_asked_for_is_computed(client: httpx.AsyncClient, registry: DummyRegistry) -> None:
    request = {"inputs": [text("go")], "outputs": [{"name": "translation"}], "parameters": {"beam_size": 2}}
    body = (await client.post(f"{MODEL}/infer", json=request)).json()
    assert [output["name"] for output in body["outputs"]] == ["translation"]
    assert "id" not in body
    options: Any = registry["transformer-en-fr"].calls[0][1]
    assert (options.beam_size, options.details) == (2, False)


@pytest.mark.parametrize("tensor", [text("a", "b", shape=[2, 1], data=[["a"], ["b"]]), text("a", "b", shape=[1.0, 2])])
async def test_data_may_be_nested_or_flat(client: httpx.AsyncClient, tensor: dict[str, Any]) -> None:
    answer = await client.post(f"{MODEL}/infer", json={"inputs": [tensor]})
    assert named(answer)["translation"]["data"] == ["A", "B"]


async def test_given_translations_are_scored(client: httpx.AsyncClient) -> None:
    target = text("va", "perdu", name="target_text")
    answer = await client.post(f"{MODEL}/infer", json={"inputs": [text("go", "lost"), target]})
    assert named(answer)["translation"]["data"] == ["va", "perdu"]
    assert named(answer)["score"]["data"] == [-0.5, -0.5]


async def test_attention_on_request(client: httpx.AsyncClient) -> None:
    request = {"inputs": [text("i lost")], "outputs": [{"name": "attention"}, {"name": "translation"}]}
    answer = await client.post(f"{MODEL}/infer", json=request)
    outputs = answer.json()["outputs"]
    assert [output["name"] for output in outputs] == ["attention", "translation"]
    assert (outputs[0]["shape"], outputs[0]["datatype"]) == ([3, 3], "FP32")
    assert sum(outputs[0]["data"][:3]) == pytest.approx(1, abs=1e-3)
    two = {**request, "inputs": [text("a", "b")]}
    assert (await client.post(f"{MODEL}/infer", json=two)).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputs": None},
        {"inputs": []},
        {"inputs": [5]},
        {"inputs": [text("a"), text("b")]},
        {"inputs": [text("a", name="other")]},
        {"inputs": [text("a", datatype="FP32")]},
        {"inputs": [text("a", shape=[2])]},
        {"inputs": [text("a", shape=[-1])]},
        {"inputs": [text("a", shape=[True])]},
        {"inputs": [text("a", shape=["1"])]},
        {"inputs": [text("a", shape=[1, 1, 1])]},
        {"inputs": [text("a", data=[5])]},
        {"inputs": [text("a", data=[["a"], "b"])]},
        {"inputs": [text("a", data=None)]},
        {"inputs": [text()]},
        {"inputs": [text(*"abcdef")]},
        {"inputs": [text("a" * 1001)]},
        {"inputs": [text("a"), text("b", "c", name="target_text")]},
        {"inputs": [text("a")], "outputs": [{"name": "logits"}]},
        {"inputs": [text("a")], "outputs": [{"name": ["x"]}]},
        {"inputs": [text("a")], "outputs": {"name": "score"}},
        {"inputs": [text("a")], "parameters": [1]},
        {"inputs": [text("a")], "parameters": {"beam_size": 99}},
        {"inputs": [text("a")], "id": 5},
    ],
)
async def test_wrong_requests_get_a_400_with_an_error(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    answer = await client.post(f"{MODEL}/infer", json=body)
    assert answer.status_code == 400
    assert isinstance(answer.json()["error"], str)
