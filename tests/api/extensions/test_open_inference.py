"""The Open Inference Protocol, field by field."""

import gzip
import json
from typing import Any

import httpx
import pytest

from service.api.state import Service
from service.engine.model_info import WorkerState
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

MODEL = "/v2/models/transformer-en-fr"


def text(*values: str, **changes: Any) -> dict[str, Any]:
    return {"name": "text", "shape": [len(values)], "datatype": "BYTES", "data": list(values), **changes}


async def test_health_and_metadata_are_as_specified(client: Client, service: Service, registry: DummyRegistry) -> None:
    assert (await client.get("/v2/health/live")).json() == {"live": True}
    assert (await client.get("/v2/health/ready")).json() == {"ready": True}
    for path in ("/v2", "/v2/"):
        server = (await client.get(path)).json()
        assert set(server) == {"name", "version", "extensions"}
        assert server["extensions"] == ["binary_tensor_data", "model_configuration", "parameters"]
    names = (await client.get("/v2/models")).json()
    assert names == {"models": ["bahdanau-en-fr", "transformer-en-de", "transformer-en-fr"]}
    for path in (MODEL, f"{MODEL}/versions/1"):
        metadata = (await client.get(path)).json()
        about = (metadata["name"], metadata["versions"], metadata["platform"])
        assert about == ("transformer-en-fr", ["1"], "onnx_onnxv1")
        # What every request has and gets; the rest is optional.
        assert metadata["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
        assert [output["name"] for output in metadata["outputs"]] == ["translation", "score"]
        assert metadata["properties"]["optional_inputs"] == "target_text"
        assert metadata["properties"]["optional_outputs"] == "attention"
        config = (await client.get(f"{path}/config")).json()
        inputs = [(each["name"], each.get("optional", False)) for each in config["input"]]
        assert inputs == [("text", False), ("target_text", True)]
        assert [each["data_type"] for each in config["output"]] == ["TYPE_STRING", *["TYPE_FP32"] * 2]
        assert config["max_batch_size"] == 0
        assert (await client.get(f"{path}/ready")).json() == {"name": "transformer-en-fr", "ready": True}
    registry["bahdanau-en-fr"].worker.state = WorkerState.DEAD
    answer = await client.get("/v2/models/bahdanau-en-fr/ready")
    assert (answer.status_code, answer.json()) == (503, {"name": "bahdanau-en-fr", "ready": False})
    assert (await client.get("/v2/health/ready")).status_code == 200
    service.draining = True
    assert (await client.get("/v2/health/live")).status_code == 200
    for path in ("/v2/health/ready", f"{MODEL}/ready"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["ready"]) == (503, False)


@pytest.mark.parametrize("path", ["/v2/models/nope", f"{MODEL}/versions/2", f"{MODEL}/versions/2/ready"])
async def test_unknown_models_and_versions_are_404_with_an_error(client: Client, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert isinstance(answer.json()["error"], str)


@pytest.mark.parametrize("path", [f"{MODEL}/infer", f"{MODEL}/versions/1/infer"])
async def test_texts_are_translated_nested_or_flat(client: Client, path: str) -> None:
    nested = text("go", "i lost", shape=[2, 1], data=[["go"], ["i lost"]])
    for tensor in (text("go", "i lost"), text("go", "i lost", shape=[1.0, 2]), nested):
        as_kserve: dict[str, Any] = {"parameters": None, "outputs": []} if tensor is nested else {}
        body = (await client.post(path, json={"id": "7", "inputs": [tensor], **as_kserve})).json()
        assert (body["model_name"], body["model_version"], body["id"]) == ("transformer-en-fr", "1", "7")
        assert body["outputs"] == [
            {"name": "translation", "shape": [2], "datatype": "BYTES", "data": ["GO", "I LOST"]},
            {"name": "score", "shape": [2], "datatype": "FP32", "data": [-0.5, -0.5]},
        ]


async def test_only_what_is_asked_for_is_computed(client: Client, registry: DummyRegistry) -> None:
    request = {
        "inputs": [text("go", data="go")],
        "outputs": [{"name": "translation"}],
        "parameters": {"beam_size": 2, "repetition_guard": True},
    }
    body = (await client.post(f"{MODEL}/infer", json=request)).json()
    assert [(output["name"], output["data"]) for output in body["outputs"]] == [("translation", ["GO"])]
    assert "id" not in body
    options: Any = registry["transformer-en-fr"].calls[0][1]
    assert (options.beam_size, options.details, options.repetition_guard) == (2, False, True)
    assert 'route="/v2/models/{model}/infer"' in (await client.get("/metrics")).text


async def test_a_named_model_never_pivots(client: Client) -> None:
    request = {"inputs": [text("go")], "parameters": {"source": "de", "target": "fr"}}
    answer = await client.post(f"{MODEL}/infer", json=request)
    assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_pair")


async def test_given_translations_are_scored_together(client: Client, registry: DummyRegistry) -> None:
    target = text("va", "perdu", name="target_text")
    answer = await client.post(f"{MODEL}/infer", json={"inputs": [text("go", "lost"), target]})
    assert [output["data"] for output in answer.json()["outputs"]] == [["va", "perdu"], [-0.5, -0.5]]
    assert len(registry["transformer-en-fr"].calls) == 1
    as_bytes = {"inputs": [binary("text", 14, 2), binary("target_text", 15, 2)]}
    same = await post_binary(client, as_bytes, packed(b"go", b"lost", b"va", b"perdu"))
    assert same.json()["outputs"] == answer.json()["outputs"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputs": [5]},
        {"inputs": [text("a", name="other")]},
        {"inputs": [text("a", name={})]},
        {"inputs": [text("a", datatype="FP32")]},
        {"inputs": [text("a", shape=[2])]},
        {"inputs": [text("a", shape=[-1])]},
        {"inputs": [text("a", shape=[True])]},
        {"inputs": [text("a", shape=["1"])]},
        {"inputs": [text("a", data=[5])]},
        {"inputs": [text("a", data=[["a"], "b"])]},
        {"inputs": [text("a", data=None)]},
        {"inputs": [text(*"a" * 129)]},
        {"inputs": [text("a" * 1001)]},
        {"inputs": [text("a"), text("b", "c", name="target_text")]},
        {"inputs": [text("a", "b")], "outputs": [{"name": "attention"}]},
        {"inputs": [text("a")], "outputs": [{"name": "logits"}]},
        {"inputs": [text("a")], "outputs": [{"name": ["x"]}]},
        {"inputs": [text("a")], "outputs": {"name": "score"}},
        {"inputs": [text("a")], "parameters": [1]},
        {"inputs": [text("a")], "id": 5},
    ],
)
async def test_wrong_requests_get_a_400_with_an_error(client: Client, body: dict[str, Any]) -> None:
    answer = await client.post(f"{MODEL}/infer", json=body)
    assert answer.status_code == 400
    assert isinstance(answer.json()["error"], str)


def packed(*texts: bytes) -> bytes:
    return b"".join(len(each).to_bytes(4, "little") + each for each in texts)


async def post_binary(
    client: Client, message: dict[str, Any], data: bytes, json_length: str | None = None
) -> httpx.Response:
    head = json.dumps(message).encode()
    headers = {"Inference-Header-Content-Length": json_length or str(len(head))}
    return await client.post(f"{MODEL}/infer", content=head + data, headers=headers)


def binary(name: str, size: object, *shape: int) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "datatype": "BYTES", "parameters": {"binary_data_size": size}}


@pytest.mark.parametrize(
    ("message", "data", "json_length", "words"),
    [
        ({"inputs": [binary("text", 5, 1)]}, packed(b"a"), "-1", "Inference-Header-Content-Length"),
        ({"inputs": [binary("text", 5, 1)]}, packed(b"a"), "99999", "Inference-Header-Content-Length"),
        ({"inputs": [binary("text", 5, 1)]}, packed(b"a"), "5", "not valid JSON"),
        ({"inputs": [binary("text", 6, 1)]}, packed(b"a"), None, "binary_data_size of text"),
        ({"inputs": [binary("text", -1, 1)]}, packed(b"a"), None, "binary_data_size of text"),
        ({"inputs": [binary("text", "5", 1)]}, packed(b"a"), None, "binary_data_size of text"),
        ({"inputs": [binary("text", 5, 1)]}, b"\xff\xff\xff\xffa", None, "its length in four bytes"),
        ({"inputs": [binary("text", 5, 1)]}, packed(b"a") + b"more", None, "4 bytes after the JSON"),
        ({"inputs": [binary("text", 5, 2)]}, packed(b"a"), None, "does not fit its 1 elements"),
        ({"inputs": [binary("text", 5, 1)]}, packed(b"\xff"), None, "not valid UTF-8"),
        ({"inputs": [{**binary("text", 5, 1), "data": ["a"]}]}, packed(b"a"), None, "both data and"),
        ({"inputs": [text("a")]}, b"x", None, "1 bytes after the JSON"),
    ],
)
async def test_bytes_that_do_not_add_up_are_refused_with_a_sentence(
    client: Client, message: dict[str, Any], data: bytes, json_length: str | None, words: str
) -> None:
    answer = await post_binary(client, message, data, json_length)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize("encoding", ["GZIP", "gzip, deflate", "nonsense"])
async def test_compressed_bodies_are_refused_for_what_they_are(client: Client, encoding: str) -> None:
    for route in (f"{MODEL}/infer", "/translate", "/detect", "/attention"):
        headers = {"content-type": "application/json", "content-encoding": encoding}
        answer = await client.post(route, content=gzip.compress(b"{}"), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_encoding")
        assert answer.headers["accept-encoding"] == "identity"
    headers = {"content-type": "application/json", "content-encoding": "identity"}
    answer = await client.post(f"{MODEL}/infer", content=json.dumps({"inputs": [text("a")]}), headers=headers)
    assert answer.status_code == 200
