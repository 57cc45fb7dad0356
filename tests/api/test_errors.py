"""One table from the engine's errors to statuses, one body for every error, nothing leaked."""

import io
from collections.abc import Iterator

import pytest

from service.engine import errors as engine
from service.logs import configure_logging
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

TEXT = {"q": "my secret text", "source": "en", "target": "fr"}


def tree(root: type[engine.EngineError] = engine.EngineError) -> Iterator[type[engine.EngineError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ in (
            engine.__name__,
            "service.bundle.errors",
            "service.documents.errors",
            "service.glossaries.checks",
        ):  # not those of tests
            yield from tree(child)


STATUSES = {
    404: {"unknown_model"},
    409: {"last_model"},
    413: {"document_too_large"},
    500: {"engine_error", "engine_failure", "bundle_error", "bundle_missing", "bundle_corrupt", "bundle_incompatible"},
    501: {"format_not_installed"},
    503: {
        *("overloaded", "not_ready", "interrupted", "model_not_opened", "cancelled", "not_enough_memory"),
        "device_unavailable",
    },
    504: {"deadline_exceeded"},
}  # of every other kind: 400


@pytest.mark.parametrize("kind", list(tree()))
@pytest.mark.parametrize("route", ["/translate", "/attention"])
async def test_every_error_of_the_engine_is_answered_in_one_shape(
    client: Client, registry: DummyRegistry, kind: type[engine.EngineError], route: str
) -> None:
    registry["transformer-en-fr"].error = kind("a message of the engine")
    answer = await client.post(route, json={**TEXT, "text": TEXT["q"]})
    body = answer.json()
    assert answer.status_code == next((status for status, codes in STATUSES.items() if kind.code in codes), 400)
    assert set(body) == {"error", "code", "request_id"}
    assert body["code"] == kind.code
    assert body["request_id"] == answer.headers["x-request-id"]
    assert ("a message of the engine" in body["error"]) == (answer.status_code != 500)
    assert ("retry-after" in answer.headers) == (answer.status_code == 503)


async def test_a_full_queue_says_when_to_come_back(client: Client, registry: DummyRegistry) -> None:
    registry["transformer-en-fr"].error = engine.Overloaded("The queue is full.", retry_after=2.3)
    answer = await client.post("/translate", json=TEXT)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")


@pytest.mark.parametrize("error", [RuntimeError("my secret text"), RecursionError()])
async def test_what_nobody_foresaw_is_a_500_that_tells_nothing(
    client: Client, registry: DummyRegistry, error: Exception
) -> None:
    registry["transformer-en-fr"].error = error
    stream = io.StringIO()
    configure_logging("debug", "json", stream)
    answer = await client.post("/translate", json=TEXT)
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal_error"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "unhandled error" in stream.getvalue()
    assert "secret" not in stream.getvalue()
    registry["transformer-en-fr"].error = None
    assert (await client.post("/translate", json=TEXT)).status_code == 200


async def test_an_unknown_route_is_404_in_the_same_shape(client: Client) -> None:
    for path in ("/nope", "/translate/x", "/healthy/", "/%00", "/%ff"):
        for method in ("GET", "POST", "DELETE"):
            answer = await client.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/translate", ["POST"]),
        ("POST", "/languages", ["GET"]),
        ("BREW", "/metrics", ["GET"]),
        ("PUT", "/attention", ["GET", "POST"]),
    ],
)
async def test_a_wrong_method_is_405_and_says_which_is_right(
    client: Client, method: str, path: str, allowed: list[str]
) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    for name in allowed:
        assert name in answer.headers["allow"]
        assert name in answer.json()["error"]
