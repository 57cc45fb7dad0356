"""The middleware of every request: its id, its size, its headers, its log line and metrics."""

import json
from collections.abc import AsyncIterator

import pytest

from service.settings import Settings
from tests.support.api_client import Client, serving

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}


async def test_a_request_id_is_made_or_taken_over(client: Client) -> None:
    made = [(await client.get("/health")).headers["x-request-id"] for _ in range(2)]
    assert len(set(made)) == 2
    taken = await client.get("/nope", headers={"X-Request-ID": "abc-123"})
    assert taken.headers["x-request-id"] == taken.json()["request_id"] == "abc-123"
    for unfit in ("", "a b", "x" * 65, 'a"b', "é", "I+have/lost=my:keys"):
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
        read = {name.strip().lower() for name in headers["access-control-expose-headers"].split(",")}
        assert read == {"authorization", "content-disposition", "etag", "retry-after", "x-request-id"}
        assert ("access-control-allow-methods" in headers) == (method == "OPTIONS")  # 43 files of the page lack it
        if method == "OPTIONS":
            sent = {name.strip().lower() for name in headers["access-control-allow-headers"].split(",")}
            assert sent == {"authorization", "content-type", "if-none-match", "x-request-id", "traceparent"}
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
    for path, allowed in (("/attention", "GET, POST"), ("/jobs/x", "GET, DELETE"), ("/v2/models/x/infer", "POST")):
        answer = await client.options(path)
        assert (answer.status_code, answer.headers["allow"]) == (204, f"OPTIONS, {allowed}")
    assert (await client.head("/health")).status_code == 200
    assert (await client.head("/translate")).status_code == 405
    for path in ("/nope", "/translation/", "/v2/models/x/y/z"):
        assert (await client.options(path)).status_code == 404


async def test_data_are_neither_guessed_at_nor_framed_and_translations_are_kept_by_nobody(client: Client) -> None:
    for path in ("/languages", "/nope", "/openapi.json", "/metrics", "/health"):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    for path in ("/translate", "/detect"):
        assert (await client.post(path, json=TEXT)).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("proxies", "claimed", "shown"),
    [("127.0.0.1", "https", "https"), ("", "https", "http"), ("127.0.0.1", "gopher", "http")],
)
async def test_a_trusted_proxy_says_which_scheme_its_client_used(proxies: str, claimed: str, shown: str) -> None:
    async with serving(trusted_proxies=proxies) as client:
        page = await client.get("/docs", headers={"X-Forwarded-Proto": claimed})
    assert f"{shown}://translucent/translate" in page.text


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
