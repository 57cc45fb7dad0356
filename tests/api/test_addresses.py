"""Addresses as clients and proxies spell them: slashes at the end, and names that a trusted proxy reports."""

import pytest

from tests.support.api_client import Client, serving

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}
PAIR = {"source": "en", "target": "fr"}
FILE = {"file": ("letter.txt", b"I lost.\n")}


@pytest.mark.parametrize("path", ["/translate/", "//translate", "//translate//", "/translate"])
async def test_a_base_address_may_end_in_a_slash(client: Client, path: str) -> None:
    answer = await client.post(f"http://translucent{path}", json=TEXT)
    assert answer.json() == {"translatedText": "I LOST."}


@pytest.mark.parametrize("path", ["/languages/", "//v2//health/ready"])
async def test_other_routes_take_such_addresses_too(client: Client, path: str) -> None:
    assert (await client.get(f"http://translucent{path}")).status_code == 200


@pytest.mark.parametrize("path", ["/translated/", "//nothing", "/web//"])
async def test_there_are_no_more_routes_for_it(client: Client, path: str) -> None:
    assert (await client.post(f"http://translucent{path}", json=TEXT)).status_code == 404


async def test_a_slash_opens_no_route_that_needs_a_token() -> None:
    async with serving(metrics_token="x" * 32) as client:
        for path in ("/metrics/", "//metrics", "//v2//repository/index"):
            answer = await client.request("GET" if "metrics" in path else "POST", f"http://translucent{path}")
            assert answer.status_code == 403


PROXY = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "mt.example.org:8443", "X-Forwarded-Prefix": "/mt/"}


@pytest.mark.parametrize(
    ("proxies", "headers", "begin"),
    [
        ("127.0.0.1", PROXY, "https://mt.example.org:8443/mt/download_file/"),
        ("127.0.0.1", {**PROXY, "X-Forwarded-Host": "a.example, b.example"}, "https://a.example/mt/download_file/"),
        ("127.0.0.1", {**PROXY, "X-Forwarded-Host": "[::1]:80"}, "https://[::1]:80/mt/download_file/"),
        ("127.0.0.1", {"X-Forwarded-Host": "a b", "X-Forwarded-Prefix": "/../x"}, "http://translucent/download_file/"),
        ("127.0.0.1", {"X-Forwarded-Host": "a@b/c", "X-Forwarded-Prefix": "//x"}, "http://translucent/download_file/"),
        ("10.0.0.1", PROXY, "http://translucent/download_file/"),
    ],
)
async def test_the_address_of_a_translated_file_is_the_one_that_a_trusted_proxy_reports(
    proxies: str, headers: dict[str, str], begin: str
) -> None:
    async with serving(trusted_proxies=proxies) as client:
        answer = await client.post("/translate_file", data=PAIR, files=FILE, headers=headers)
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(begin)
        found = await client.get(f"/download_file/{address.rpartition('/')[2]}", headers=headers)
        assert found.content == b"I LOST.\n"
