"""Input that wants to break something gets a clear 4xx, and never a 500."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from service.api.body import decode_json, decode_multipart, decode_urlencoded
from service.api.errors import ApiError

GOOD = {"q": "I lost.", "source": "en", "target": "fr"}

BODIES: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"{",
    "a word": b"hello",
    "a string": b'"hello"',
    "a number": b"1",
    "null": b"null",
    "a list": b'[{"q":"a"}]',
    "two objects": b"{}{}",
    "single quotes": b"{'q':'a'}",
    "deep list": b'{"q":' + b"[" * 9000 + b"]" * 9000 + b"}",
    "deep object": b'{"q":' * 2000 + b"1" + b"}" * 2000,
    "open brackets": b"[" * 19_000,
    "NaN": b'{"q":"a","source":"en","target":"fr","length_penalty":NaN}',
    "Infinity": b'{"q":"a","source":"en","target":"fr","length_penalty":-Infinity}',
    "a float beyond range": b'{"q":"a","source":"en","target":"fr","length_penalty":1e999}',
    "a huge whole number": b'{"q":"a","source":"en","target":"fr","beam_size":' + b"9" * 9000 + b"}",
    "a big whole number": b'{"q":"a","source":"en","target":"fr","beam_size":' + b"9" * 99 + b"}",
    "a big number for a float": b'{"q":"a","source":"en","target":"fr","length_penalty":' + b"9" * 99 + b"}",
    "a lone high surrogate": b'{"q":"\\ud800","source":"en","target":"fr"}',
    "a lone low surrogate": b'{"q":"\\uDC00 a","source":"en","target":"fr"}',
    "a lone surrogate in a list": b'{"q":["a","\\ud800"],"source":"en","target":"fr"}',
    "a lone surrogate in a code": b'{"q":"a","source":"\\ud800","target":"fr"}',
    "a lone surrogate in a name": b'{"q":"a","source":"en","target":"fr","\\ud800":1}',
    "invalid UTF-8": b'{"q":"\xff\xfe","source":"en","target":"fr"}',
    "half a character": b'{"q":"\xc3","source":"en","target":"fr"}',
    "UTF-16": '{"q":"a","source":"en","target":"fr"}'.encode("utf-16"),
    "surrogates as UTF-8": b'{"q":"\xed\xa0\x80","source":"en","target":"fr"}',
    "a field twice": b'{"q":"a","q":"b","source":"en","target":"fr"}',
    "a raw control character": b'{"q":"a\x00b","source":"en","target":"fr"}',
    "too large": json.dumps({**GOOD, "x": "a" * 20_000}).encode(),
}


@pytest.mark.parametrize("route", ["/translate", "/attention"])
@pytest.mark.parametrize("name", BODIES)
async def test_hostile_json_is_refused_with_a_sentence(client: httpx.AsyncClient, route: str, name: str) -> None:
    body = BODIES[name].replace(b'"q"', b'"text"') if route == "/attention" and name != "too large" else BODIES[name]
    answer = await client.post(route, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == (413 if name == "too large" else 400), answer.text
    assert set(answer.json()) == {"error", "code", "request_id"}
    assert len(answer.json()["error"]) > 15


async def test_surrogate_pairs_and_escaped_backslashes_are_fine(client: httpx.AsyncClient) -> None:
    body = b'{"q":"\\ud83c\\udf89 \\\\ud800 \\u00e9","source":"en","target":"fr"}'
    answer = await client.post("/translate", content=body, headers={"content-type": "application/json"})
    assert answer.json() == {"translatedText": "🎉 \\UD800 É"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"q=%ff&source=en&target=fr", "application/x-www-form-urlencoded"),
        (b"q=\xff&source=en&target=fr", "application/x-www-form-urlencoded"),
        (b"q=a&" * 2000, "application/x-www-form-urlencoded"),
        (b"q", "application/x-www-form-urlencoded"),
        (b"&&&===&", "application/x-www-form-urlencoded"),
        (b"no parts", "multipart/form-data; boundary=x"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\nBad\r\n\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\nContent-Type: text/plain\r\n\r\nabc\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (
            b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
        ),
        (b"--x--\r\n", "multipart/form-data"),
        (b"--x--\r\n", "multipart/form-data; boundary="),
        (b"q=a", "text/plain"),
        (b"q=a", ";;;"),
        (b'{"q":"a"}', "application/json-patch"),
    ],
)
async def test_hostile_forms_are_refused(client: httpx.AsyncClient, content: bytes, kind: str) -> None:
    answer = await client.post("/translate", content=content, headers={"content-type": kind})
    assert answer.status_code == 400, answer.text
    assert set(answer.json()) == {"error", "code", "request_id"}


@pytest.mark.parametrize("query", [b"text=%ff", b"text=%ED%A0%80", b"a=b&" * 1500, b"text=" + b"a" * 30_000])
async def test_hostile_query_strings_are_refused(client: httpx.AsyncClient, query: bytes) -> None:
    answer = await client.get(httpx.URL("http://translucent/attention", query=query))
    assert answer.status_code == (413 if len(query) > 20_000 else 400)


async def test_files_in_a_form_are_not_fields(client: httpx.AsyncClient) -> None:
    answer = await client.post("/translate", params={"source": "en", "target": "fr"}, files={"q": ("a.txt", b"text")})
    assert answer.json()["error"] == "Invalid request: missing q parameter"


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "a", [], ["a"], {}, {"a": {}}])
@pytest.mark.parametrize(
    "field", ["q", "source", "target", "format", "alternatives", "model", "beam_size", "length_penalty", "max_length",
              "details", "api_key"]
)  # fmt: skip
async def test_no_type_of_any_field_is_a_server_error(client: httpx.AsyncClient, field: str, value: Any) -> None:
    answer = await client.post("/translate", json={**GOOD, field: value})
    assert answer.status_code in (200, 400, 404), answer.text


@pytest.mark.parametrize(
    "decode", [decode_json, lambda data: decode_urlencoded(data, "form"), lambda data: decode_multipart(data, b"x")]
)
def test_what_cannot_be_read_does_not_reach_the_message(decode: Callable[[bytes], object]) -> None:
    with pytest.raises(ApiError) as caught:
        decode(b'{"q": "my secret text \xff')
    assert "secret" not in caught.value.message
