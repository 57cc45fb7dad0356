"""The middleware of every request: its id, its size, its headers, its log line and metrics."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message, Scope

from service.api.app import create_app
from service.api.state import Service
from service.settings import Settings
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}


async def test_a_request_id_is_made_or_taken_over(client: Client) -> None:
    made = [(await client.get("/health")).headers["x-request-id"] for _ in range(2)]
    assert len(set(made)) == 2
    taken = await client.get("/nope", headers={"X-Request-ID": "abc-123"})
    assert taken.headers["x-request-id"] == taken.json()["request_id"] == "abc-123"
    for unfit in ("", "a b", "x" * 129, 'a"b', "é"):
        answer = await client.get("/health", headers=[(b"X-Request-ID", unfit.encode())])
        assert len(answer.headers["x-request-id"]) == 32


async def test_static_files_and_probes_are_no_lines_of_the_access_log(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(
        "service.api.middleware.request_log.log_often", lambda _event, values: lines.append(values["route"])
    )
    for path in ("/health", "/web/nope.js", "/learn/nope.css", "/languages"):
        await client.get(path)
    assert lines == ["/languages"]


async def test_pages_of_other_sites_may_call(client: Client) -> None:
    routes = [("GET", "/health"), ("GET", "/nope"), ("POST", "/translate"), ("OPTIONS", "/translate")]
    for method, path in (*routes, ("OPTIONS", "/v2/models/transformer-en-fr/infer")):
        headers = (await client.request(method, path)).headers
        assert headers["access-control-allow-origin"] == "*"
        sent = {name.strip().lower() for name in headers["access-control-allow-headers"].split(",")}
        assert sent == {"authorization", "content-type", "if-none-match", "x-request-id", "traceparent"}
        read = {name.strip().lower() for name in headers["access-control-expose-headers"].split(",")}
        assert read == {"authorization", "content-disposition", "etag", "retry-after", "x-request-id"}
        assert headers["access-control-allow-methods"] == "GET, POST, DELETE"
        assert headers["access-control-max-age"] == "1728000"
    async with serving(cors_origin="https://example.org") as restricted:
        answer = await restricted.options("/translate")
    assert answer.headers["access-control-allow-origin"] == "https://example.org"


@pytest.mark.parametrize("path", ["/metrics", "/v2/repository/index", "/v2/repository/models/x/load"])
async def test_pages_of_other_sites_may_not_read_what_is_the_operators(client: Client, path: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        headers = (await client.request(method, path)).headers
        assert not [name for name in headers if name.startswith("access-control")]


async def test_options_says_what_there_is_and_head_is_get_without_a_body(client: Client) -> None:
    answer = await client.options("/attention")
    assert (answer.status_code, answer.headers["allow"]) == (204, "OPTIONS, GET, POST")
    assert (await client.head("/health")).status_code == 200
    assert (await client.head("/translate")).status_code == 405
    for path in ("/nope", "/translate/", "/v2/models/x/y/z"):
        assert (await client.options(path)).status_code == 404


async def test_data_are_neither_guessed_at_nor_framed_and_translations_are_kept_by_nobody(client: Client) -> None:
    for path in ("/languages", "/nope", "/openapi.json", "/metrics", "/health"):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    for path in ("/translate", "/translate/stream", "/detect"):
        assert (await client.post(path, json=TEXT)).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("proxies", "claimed", "shown"),
    [("127.0.0.1", "https", "https"), ("", "https", "http"), ("127.0.0.1", "gopher", "http")],
)
async def test_a_trusted_proxy_says_which_scheme_its_client_used(proxies: str, claimed: str, shown: str) -> None:
    async with serving(trusted_proxies=proxies) as client:
        page = await client.get("/docs", headers={"X-Forwarded-Proto": claimed})
    assert f"{shown}://translucent/translate" in page.text


async def test_a_senseless_declared_size_is_no_server_error(client: Client) -> None:
    for declared in ("-1", "abc", "9" * 5000, "²"):
        answer = await client.post("/translate", content=b"", headers=[(b"content-length", declared.encode())])
        assert answer.status_code in (400, 413)


async def test_a_body_may_be_as_large_as_the_limit(client: Client, settings: Settings) -> None:
    async def undeclared(body: bytes) -> AsyncIterator[bytes]:
        yield body[:1000]
        yield body[1000:]

    body = json.dumps(TEXT).encode()
    padded = body + b" " * (settings.body_limit - len(body))
    headers = {"content-type": "application/json"}
    for content, status in ((padded, 200), (padded + b" ", 413)):
        bodies: list[bytes | AsyncIterator[bytes]] = [content, undeclared(content)]
        for sent in bodies:
            assert (await client.post("/translate", content=sent, headers=headers)).status_code == status


def scope_of(path: str = "/translate") -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


async def test_a_client_that_leaves_cancels_its_work(service: Service, registry: DummyRegistry) -> None:
    translator = registry["transformer-en-fr"]
    translator.seconds = 30
    messages: asyncio.Queue[Message] = asyncio.Queue()
    messages.put_nowait({"type": "http.request", "body": json.dumps(TEXT).encode(), "more_body": False})
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    running = asyncio.create_task(create_app(service)(scope_of(), messages.get, send))
    await translator.busy.wait()
    assert translator.rows == 4
    messages.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(running, 1)
    assert translator.rows == 0
    assert sent == []
    text = service.metrics.render().decode()
    assert 'translucent_sentences_cancelled_total{model="transformer-en-fr"} 1.0' in text
    assert 'translucent_http_requests_total{method="POST",route="/translate",status="499"} 1.0' in text
    assert "translucent_http_requests_in_flight 0.0" in text


async def test_a_client_that_leaves_while_it_sends_is_nobodys_error(service: Service) -> None:
    messages: asyncio.Queue[Message] = asyncio.Queue()
    messages.put_nowait({"type": "http.request", "body": b"{", "more_body": True})
    messages.put_nowait({"type": "http.disconnect"})

    async def send(message: Message) -> None:
        pytest.fail("there is nobody to answer")

    await create_app(service)(scope_of(), messages.get, send)
    assert 'status="499"' in service.metrics.render().decode()


async def test_a_stream_that_was_sent_whole_is_nobody_leaving(service: Service) -> None:
    # Servers announce a disconnect as soon as an answer is complete, while a stream is still coming to its end.
    messages: asyncio.Queue[Message] = asyncio.Queue()
    messages.put_nowait({"type": "http.request", "body": json.dumps(TEXT).encode(), "more_body": False})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            messages.put_nowait({"type": "http.disconnect"})
            await asyncio.sleep(0.01)

    await create_app(service)(scope_of("/translate/stream"), messages.get, send)
    text = service.metrics.render().decode()
    assert 'translucent_http_requests_total{method="POST",route="/translate/stream",status="200"} 1.0' in text
    assert 'status="499"' not in text
