"""Keys and limits: closed routes, open routes, and the errors in each format."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.access.keys import KeyFileError, add_key
from service.api.app import create_app
from service.api.paths import ADMIN, is_public
from service.settings import Settings
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry, service_of

TEXT: dict[str, Any] = {"q": "I lost.", "source": "en", "target": "fr"}
OPEN = {"/health", "/health/live", "/health/ready", "/languages", "/docs", "/openapi.json", "/", "/learn/"}
JSON = {"content-type": "application/json"}
TOKEN = "right-right-right-right"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def key(key_file: Path) -> str:
    return add_key(key_file, "weblate")


@pytest.fixture
async def closed(key_file: Path, key: str) -> AsyncIterator[Client]:
    async with serving(api_keys_file=key_file, require_key=True) as client:
        yield client


def bearer(token: object) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def post(client: Client, headers: dict[str, str] | None = None, **fields: object) -> int:
    """Translate, and return the status."""
    return (await client.post("/translate", json={**TEXT, **fields}, headers=headers)).status_code


def every_route() -> list[tuple[str, str]]:
    """Return method and path of every route."""
    app = create_app(service_of(DummyRegistry()))
    return [(method, path) for path, methods in app.state.methods.items() for method in methods]


@pytest.mark.parametrize(
    ("method", "path"), [*every_route(), ("GET", "/nowhere"), ("GET", "/healthy/"), ("POST", "/v2")]
)
async def test_without_a_key_only_what_is_public_answers(closed: Client, method: str, path: str) -> None:
    answer = await closed.request(method, path)
    if is_public(path) or path in OPEN:
        assert answer.status_code not in (400, 401, 403)
        wrong = await closed.request(method, path, headers=bearer("tl_wrong"))
        assert wrong.status_code == answer.status_code
    elif path.startswith(ADMIN):  # the operator's, whatever key somebody has
        assert (answer.status_code, answer.json()["code"]) == (403, "admin_disabled")
    else:
        # LibreTranslate's clients know 400, all others 401 and how to go on.
        own = path not in ("/translate", "/detect", "/translate_file", "/suggest")
        assert (answer.status_code, answer.json()["code"]) == (401 if own else 400, "key_required")
        assert answer.headers.get("www-authenticate") == ("Bearer" if own else None)
        assert answer.json()["error"] == "Please contact the server operator to get an API key"
        wrong = await closed.request(method, path, headers=bearer("tl_wrong"))
        assert (wrong.status_code, wrong.json()["error"]) == (403, "Invalid API key")


async def test_a_key_opens_in_every_place_it_may_stand(closed: Client, key: str) -> None:
    fields = {**TEXT, "api_key": key}
    places: list[dict[str, Any]] = [
        {"json": TEXT, "headers": bearer(key)},
        {"json": TEXT, "headers": {"authorization": f"bearer  {key} "}},
        {"json": fields},
        {"data": fields},
        {"params": fields},
        {"files": {name: (None, value) for name, value in fields.items()}},
        {"json": {**TEXT, "api_key": "wrong"}, "headers": bearer(key)},  # the header wins
    ]
    for arguments in places:
        answer = await closed.post("/translate", **arguments)
        assert (answer.status_code, answer.json()) == (200, {"translatedText": "I LOST."})
    asked = {"text": "a", "source": "en", "target": "fr", "api_key": key}
    assert (await closed.get("/attention", params=asked)).is_success
    assert (await closed.get("/metrics", headers=bearer(key))).status_code == 200


@pytest.mark.parametrize("given", ["", None, "wrong", " ", 5, ["a"], {"a": 1}, True])
async def test_an_empty_key_is_none_and_a_wrong_one_is_refused(closed: Client, given: object) -> None:
    answer = await closed.post("/translate", json={**TEXT, "api_key": given})
    expected = (400, "key_required") if given in ("", None) else (403, "invalid_key")
    assert (answer.status_code, answer.json()["code"]) == expected


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"a": "\\ud800"}', b"\xff", b"[" * 10_000])
async def test_a_body_that_cannot_be_read_has_no_key(closed: Client, key: str, body: bytes) -> None:
    answer = await closed.post("/translate", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, "key_required")
    answer = await closed.post("/translate", content=body, headers={**JSON, **bearer(key)})
    assert answer.status_code == 400
    assert answer.json()["code"] != "key_required"


async def test_the_metrics_have_a_token_of_their_own(key_file: Path, key: str) -> None:
    async with serving(api_keys_file=key_file, require_key=True, metrics_token=TOKEN) as client:
        for token, status in [(TOKEN, 200), (key, 403), (TOKEN[:-1], 403), ("", 403)]:
            assert (await client.get("/metrics", headers=bearer(token))).status_code == status
        assert (await client.get("/metrics")).json()["code"] == "invalid_token"


class Body:
    """A body that says how much of it was read."""

    def __init__(self, pieces: int = 100) -> None:
        self.pieces = pieces
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.pieces):
            self.read += 1
            yield b" " * 1000


async def refused_unread(client: Client, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """Status and code of a refusal for which nothing of the body was read."""
    body = Body()
    answer = await client.post(path, content=body, headers={**JSON, **headers})
    assert body.read == 0
    return answer.status_code, answer.json()["code"]


async def test_a_wrong_key_or_token_is_refused_before_the_body_is_read(closed: Client) -> None:
    assert await refused_unread(closed, "/translate", bearer("tl_wrong")) == (403, "invalid_key")
    assert await refused_unread(closed, "/v2/repository/index", {}) == (403, "admin_disabled")
    async with serving(admin_token=TOKEN) as client:
        assert await refused_unread(client, "/v2/repository/index", bearer("x")) == (403, "invalid_token")


async def test_an_address_gets_its_requests_and_then_has_to_wait() -> None:
    async with serving(rate_limit="2/minute") as client:
        assert [await post(client) for _ in range(2)] == [200, 200]
        answer = await client.post("/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit")
        assert answer.json()["error"].startswith("Slowdown: 2 requests in 1 minute are allowed; try again in ")
        assert 1 <= int(answer.headers["Retry-After"]) <= 61
        assert await refused_unread(client, "/translate", {}) == (429, "rate_limit")
        for path in ("/languages", "/health/ready", "/metrics"):
            assert (await client.get(path)).status_code == 200


async def test_keys_have_limits_of_their_own(key_file: Path, key: str) -> None:
    second = add_key(key_file, "second")
    async with serving(api_keys_file=key_file, rate_limit="1/minute", key_rate_limit="2/minute") as client:
        assert [await post(client) for _ in range(2)] == [200, 429]
        for one in (key, second):
            assert [await post(client, api_key=one) for _ in range(3)] == [200, 200, 429]
            assert await refused_unread(client, "/translate", bearer(one)) == (429, "rate_limit")


async def test_behind_a_trusted_proxy_each_client_counts_for_itself() -> None:
    async with serving(rate_limit="1/minute", trusted_proxies="127.0.0.0/8") as client:
        for address in ("198.51.100.1", "198.51.100.2"):
            headers = {"X-Forwarded-For": f"203.0.113.9, {address}"}
            assert [await post(client, headers) for _ in range(2)] == [200, 429]


def test_a_file_of_keys_that_is_not_there_stops_the_start_and_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="translucent keys add"):
        create_app(service_of(DummyRegistry(), Settings(api_keys_file=tmp_path / "none")))


@pytest.mark.parametrize("limits", [{"require_key": True, "rate_limit": "3/minute"}, {}])
async def test_wrong_keys_cannot_be_tried_without_end_even_where_nothing_else_is_limited(
    key_file: Path, key: str, limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.middleware.access.FAILURES", "3/minute")
    async with serving(api_keys_file=key_file, **limits) as client:
        wrong = [bearer("tl_wrong"), {}] * 3
        tries = [await post(client, headers, api_key="wrong") for headers in wrong]
        assert tries == [403, 403, 403, 429, 429, 429]
        assert await post(client, api_key=key) == 200
        assert limits or await post(client) == 200


@pytest.mark.parametrize(("path", "method"), [("/metrics", "GET"), ("/v2/repository/index", "POST")])
async def test_tokens_cannot_be_guessed_without_end_even_where_nothing_else_is_limited(
    path: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.middleware.access.FAILURES", "3/minute")
    async with serving(metrics_token=TOKEN, admin_token=TOKEN) as client:
        assert (await client.request(method, path, headers=bearer(TOKEN))).status_code == 200
        tries = [(await client.request(method, path, headers=bearer(n))).status_code for n in range(5)]
        assert tries == [403, 403, 403, 429, 429]
        answer = await client.request(method, path, headers=bearer(TOKEN))  # or the next guess could be told from this
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit")
        assert "too many wrong keys or tokens" in answer.json()["error"]
        assert 1 <= int(answer.headers["Retry-After"]) <= 61
        assert await post(client) == 200


async def test_bodies_together_take_up_no_more_room_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.middleware.bodies.BUFFERED", 0)  # the largest body fits, and no more
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b" " * 1_060_000
        sent.set()
        await go_on.wait()
        yield json.dumps(TEXT).encode()

    async with serving(max_file_mb=1, body_limit=1_100_000) as client:
        first = asyncio.create_task(client.post("/translate", content=slowly(), headers=JSON))
        await sent.wait()
        large = b" " * 1_095_000 + json.dumps(TEXT).encode()
        answer = await client.post("/translate", content=large, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (503, "bodies_full")
        assert answer.headers["Retry-After"] == "1"
        assert await post(client) == 200
        go_on.set()
        assert (await first).status_code == 200
        assert (await client.post("/translate", content=large, headers=JSON)).status_code == 200


async def test_a_file_of_keys_that_is_deleted_takes_them_back_and_shows_in_the_metrics(
    key_file: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.access.keys.CHECK_SECONDS", 0.0)
    async with serving(api_keys_file=key_file, metrics_token=TOKEN) as client:
        assert await post(client, bearer(key)) == 200
        await asyncio.to_thread(key_file.unlink)
        assert await post(client, bearer(key)) == 403
        scraped = await client.get("/metrics", headers=bearer(TOKEN))
        assert "translucent_api_keys_readable 0.0" in scraped.text


async def test_a_list_counts_as_the_texts_that_it_holds() -> None:
    tensor = {"name": "text", "shape": [3], "datatype": "BYTES", "data": ["a", "b", "c"]}
    lists: list[tuple[str, dict[str, Any]]] = [
        ("/translate", {**TEXT, "q": ["a", "b", "c"]}),
        ("/detect", {"q": ["one text", "another", "and more"]}),
        ("/v2/models/transformer-en-fr/infer", {"inputs": [tensor]}),
        ("/v2/models/transformer-en-fr/versions/1/infer", {"inputs": [{**tensor, "shape": [3, 1]}]}),
    ]
    for path, request in lists:
        async with serving(rate_limit="7/minute") as client:
            statuses = [(await client.post(path, json=request)).status_code for _ in range(3)]
            assert statuses == [200, 200, 429], path
    async with serving(rate_limit="2/minute") as client:
        answer = await client.post("/translate", json={**TEXT, "q": ["a", "b", "c"]})
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit")
        assert "this one counts as 3" in answer.json()["error"]


async def test_what_cannot_be_read_counts_as_one_and_is_refused_for_what_it_is() -> None:
    async with serving(rate_limit="2/minute") as client:
        for content, status in ((b"{", 400), (b'{"q": 7}', 400), (b"{", 429)):
            answer = await client.post("/translate", content=content, headers=JSON)
            assert answer.status_code == status
