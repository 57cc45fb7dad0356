"""Keys and limits: closed routes, open routes, and the errors in each format."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.access.keys import KeyFileError, add_key
from service.api.app import create_app
from service.api.paths import ADMIN, is_public
from service.api.state import Service
from service.metrics import Metrics
from service.settings import Settings
from tests.support.fake_engine import DummyRegistry

TEXT: dict[str, Any] = {"q": "I lost.", "source": "en", "target": "fr"}
OPEN = ["/health", "/health/live", "/health/ready", "/languages", "/docs", "/openapi.json", "/"]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def key(key_file: Path) -> str:
    return add_key(key_file, "weblate")


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of an application with these settings."""
    app = create_app(Service(Settings(**settings), DummyRegistry(), Metrics()))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://translucent") as client:
        yield client


@pytest.fixture
async def closed(key_file: Path, key: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(api_keys_file=key_file, require_key=True) as client:
        yield client


def every_route() -> list[tuple[str, str]]:
    """Return method and path of every route."""
    app = create_app(Service(Settings(), DummyRegistry(), Metrics()))
    return [(method, path) for path, methods in app.state.methods.items() for method in methods]


@pytest.mark.parametrize(
    ("method", "path"), [*every_route(), ("GET", "/nowhere"), ("GET", "/health/"), ("POST", "/v2")]
)
async def test_without_a_key_only_what_is_public_answers(closed: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await closed.request(method, path)
    if is_public(path):
        assert answer.status_code not in (400, 401, 403)
    elif path.startswith(ADMIN):  # the operator's, whatever key somebody has
        assert (answer.status_code, answer.json()["code"]) == (403, "admin_disabled")
    else:
        # LibreTranslate's clients know 400, all others 401 and how to go on.
        own = path not in ("/translate", "/detect", "/translate_file", "/suggest")
        assert (answer.status_code, answer.json()["code"]) == (401 if own else 400, "key_required")
        assert answer.headers.get("www-authenticate") == ("Bearer" if own else None)
        assert answer.json()["error"] == "Please contact the server operator to get an API key"
        wrong = await closed.request(method, path, headers={"Authorization": "Bearer tl_wrong"})
        assert (wrong.status_code, wrong.json()["error"]) == (403, "Invalid API key")


@pytest.mark.parametrize("path", OPEN)
async def test_probes_languages_page_and_docs_stay_open(closed: httpx.AsyncClient, path: str) -> None:
    assert is_public(path)
    assert (await closed.get(path)).status_code in {200, 404}  # the page may not be there
    assert (await closed.get(path, headers={"Authorization": "Bearer tl_wrong"})).status_code in {200, 404}


async def test_a_key_opens_in_every_place_it_may_stand(closed: httpx.AsyncClient, key: str) -> None:
    header = {"Authorization": f"Bearer {key}"}
    answers = [
        await closed.post("/translate", json=TEXT, headers=header),
        await closed.post("/translate", json=TEXT, headers={"authorization": f"bearer  {key} "}),
        await closed.post("/translate", json={**TEXT, "api_key": key}),
        await closed.post("/translate", data={**TEXT, "api_key": key}),
        await closed.post("/translate", params={**TEXT, "api_key": key}),
        await closed.post(
            "/translate", files={name: (None, value) for name, value in {**TEXT, "api_key": key}.items()}
        ),
        await closed.post("/translate", json={**TEXT, "api_key": "wrong"}, headers=header),  # the header wins
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()) == (200, {"translatedText": "I LOST."})
    assert (
        await closed.get("/attention", params={"text": "a", "source": "en", "target": "fr", "api_key": key})
    ).is_success
    assert (await closed.get("/metrics", headers=header)).status_code == 200


@pytest.mark.parametrize("given", ["", None])
async def test_an_empty_key_is_none(closed: httpx.AsyncClient, given: str | None) -> None:
    answer = await closed.post("/translate", json={**TEXT, "api_key": given})
    assert (answer.status_code, answer.json()["code"]) == (400, "key_required")


@pytest.mark.parametrize("given", ["wrong", " ", 5, ["a"], {"a": 1}, True])
async def test_a_wrong_key_is_refused_in_the_body(closed: httpx.AsyncClient, given: object) -> None:
    answer = await closed.post("/translate", json={**TEXT, "api_key": given})
    assert (answer.status_code, answer.json()["error"]) == (403, "Invalid API key")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"a": "\\ud800"}', b"\xff", b"[" * 10_000])
async def test_a_body_that_cannot_be_read_has_no_key(closed: httpx.AsyncClient, key: str, body: bytes) -> None:
    json_type = {"content-type": "application/json"}
    answer = await closed.post("/translate", content=body, headers=json_type)
    assert (answer.status_code, answer.json()["code"]) == (400, "key_required")
    answer = await closed.post("/translate", content=body, headers={**json_type, "Authorization": f"Bearer {key}"})
    assert answer.status_code == 400
    assert answer.json()["code"] != "key_required"


async def test_keys_may_be_voluntary(key_file: Path, key: str) -> None:
    async with serving(api_keys_file=key_file) as client:
        assert (await client.post("/translate", json=TEXT)).status_code == 200
        assert (await client.post("/translate", json={**TEXT, "api_key": key})).status_code == 200
        assert (await client.post("/translate", json={**TEXT, "api_key": "wrong"})).status_code == 403


async def test_where_there_are_no_keys_they_are_ignored() -> None:
    async with serving() as client:
        assert (await client.post("/translate", json={**TEXT, "api_key": "any"})).status_code == 200


async def test_the_metrics_have_a_token_of_their_own(key_file: Path, key: str) -> None:
    async with serving(api_keys_file=key_file, require_key=True, metrics_token="scrape-me-scrape-me") as client:
        for token, status in [("scrape-me-scrape-me", 200), (key, 403), ("scrape-me", 403), ("", 403)]:
            answer = await client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == status
        assert (await client.get("/metrics")).json()["code"] == "invalid_token"


async def test_an_address_gets_its_requests_and_then_has_to_wait() -> None:
    async with serving(rate_limit="2/minute") as client:
        for _ in range(2):
            assert (await client.post("/translate", json=TEXT)).status_code == 200
        answer = await client.post("/translate", json=TEXT)
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit")
        assert answer.json()["error"].startswith("Slowdown: 2 requests in 1 minute are allowed; try again in ")
        assert 1 <= int(answer.headers["Retry-After"]) <= 61
        for path in ("/languages", "/health/ready", "/metrics"):
            assert (await client.get(path)).status_code == 200


async def test_keys_have_limits_of_their_own(key_file: Path, key: str) -> None:
    second = add_key(key_file, "second")
    async with serving(api_keys_file=key_file, rate_limit="1/minute", key_rate_limit="2/minute") as client:
        assert (await client.post("/translate", json=TEXT)).status_code == 200
        assert (await client.post("/translate", json=TEXT)).status_code == 429
        for one in (key, second):
            statuses = [(await client.post("/translate", json={**TEXT, "api_key": one})).status_code for _ in range(3)]
            assert statuses == [200, 200, 429]


async def test_wrong_keys_cannot_be_tried_without_end(key_file: Path, key: str) -> None:
    async with serving(api_keys_file=key_file, require_key=True, rate_limit="3/minute") as client:
        tries = [(await client.post("/translate", json={**TEXT, "api_key": f"{n}"})).status_code for n in range(5)]
        assert tries == [403, 403, 403, 429, 429]
        assert (await client.post("/translate", json={**TEXT, "api_key": key})).status_code == 200


async def test_behind_a_trusted_proxy_each_client_counts_for_itself() -> None:
    async with serving(rate_limit="1/minute", trusted_proxies="127.0.0.0/8") as client:
        for address in ("198.51.100.1", "198.51.100.2"):
            headers = {"X-Forwarded-For": f"203.0.113.9, {address}"}
            assert (await client.post("/translate", json=TEXT, headers=headers)).status_code == 200
            assert (await client.post("/translate", json=TEXT, headers=headers)).status_code == 429


def test_a_file_of_keys_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError):
        create_app(Service(Settings(api_keys_file=tmp_path / "none"), DummyRegistry(), Metrics()))


class Body:
    """A body that says how much of it was read."""

    def __init__(self, pieces: int = 100) -> None:
        self.pieces = pieces
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.pieces):
            self.read += 1
            yield b" " * 1000


async def refused_unread(client: httpx.AsyncClient, path: str, **headers: str) -> tuple[int, str]:
    """Status and code of a refusal for which nothing of the body was read."""
    body = Body()
    answer = await client.post(path, content=body, headers={"content-type": "application/json", **headers})
    assert body.read == 0
    return answer.status_code, answer.json()["code"]


async def test_a_wrong_key_or_token_is_refused_before_the_body_is_read(closed: httpx.AsyncClient) -> None:
    assert await refused_unread(closed, "/translate", Authorization="Bearer tl_wrong") == (403, "invalid_key")
    assert await refused_unread(closed, "/v2/repository/index") == (403, "admin_disabled")
    async with serving(admin_token="operator-of-models") as client:
        assert await refused_unread(client, "/v2/repository/index", Authorization="Bearer x") == (403, "invalid_token")


async def test_an_address_or_key_without_calls_left_is_refused_before_the_body_is_read(
    key_file: Path, key: str
) -> None:
    async with serving(rate_limit="1/minute") as client:
        assert (await client.post("/translate", json=TEXT)).status_code == 200
        assert await refused_unread(client, "/translate") == (429, "rate_limit")
    async with serving(api_keys_file=key_file, key_rate_limit="1/minute") as client:
        header = {"Authorization": f"Bearer {key}"}
        assert (await client.post("/translate", json=TEXT, headers=header)).status_code == 200
        assert await refused_unread(client, "/translate", **header) == (429, "rate_limit")


@pytest.mark.parametrize(("path", "method"), [("/metrics", "GET"), ("/v2/repository/index", "POST")])
async def test_tokens_cannot_be_guessed_without_end_even_where_nothing_else_is_limited(
    path: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.middleware.access.FAILURES", "3/minute")
    right = {"Authorization": "Bearer right-right-right-right"}
    tokens = {"metrics_token": "right-right-right-right", "admin_token": "right-right-right-right"}
    async with serving(**tokens) as client:
        assert (await client.request(method, path, headers=right)).status_code == 200
        tries = [
            (await client.request(method, path, headers={"Authorization": f"Bearer {number}"})).status_code
            for number in range(5)
        ]
        assert tries == [403, 403, 403, 429, 429]
        answer = await client.request(method, path, headers=right)  # or the next guess could be told from this
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit")
        assert "too many wrong keys or tokens" in answer.json()["error"]
        assert 1 <= int(answer.headers["Retry-After"]) <= 61
        assert (await client.post("/translate", json=TEXT)).status_code == 200


async def test_wrong_keys_are_counted_even_where_nothing_else_is_limited(
    key_file: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.middleware.access.FAILURES", "3/minute")
    async with serving(api_keys_file=key_file) as client:
        wrong = [{"Authorization": "Bearer tl_wrong"}, {}] * 3
        tries = [
            (await client.post("/translate", json={**TEXT, "api_key": "wrong"}, headers=headers)).status_code
            for headers in wrong
        ]
        assert tries == [403, 403, 403, 429, 429, 429]
        assert (await client.post("/translate", json={**TEXT, "api_key": key})).status_code == 200
        assert (await client.post("/translate", json=TEXT)).status_code == 200


async def test_bodies_together_take_up_no_more_room_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.middleware.bodies.BUFFERED", 0)  # the largest body fits, and no more
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b" " * 1_060_000
        sent.set()
        await go_on.wait()
        yield json.dumps(TEXT).encode()

    headers = {"content-type": "application/json"}
    async with serving(max_file_mb=1, body_limit=1_100_000) as client:
        first = asyncio.create_task(client.post("/translate", content=slowly(), headers=headers))
        await sent.wait()
        large = b" " * 1_095_000 + json.dumps(TEXT).encode()
        answer = await client.post("/translate", content=large, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (503, "bodies_full")
        assert answer.headers["Retry-After"] == "1"
        assert (await client.post("/translate", json=TEXT)).status_code == 200
        go_on.set()
        assert (await first).status_code == 200
        assert (await client.post("/translate", content=large, headers=headers)).status_code == 200


async def test_a_file_of_keys_that_is_deleted_takes_them_back_and_shows_in_the_metrics(
    key_file: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.access.keys.CHECK_SECONDS", 0.0)
    header = {"Authorization": f"Bearer {key}"}
    async with serving(api_keys_file=key_file, metrics_token="right-right-right-right") as client:
        assert (await client.post("/translate", json=TEXT, headers=header)).status_code == 200
        await asyncio.to_thread(key_file.unlink)
        assert (await client.post("/translate", json=TEXT, headers=header)).status_code == 403
        scraped = await client.get("/metrics", headers={"Authorization": "Bearer right-right-right-right"})
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
            answer = await client.post("/translate", content=content, headers={"content-type": "application/json"})
            assert answer.status_code == status
