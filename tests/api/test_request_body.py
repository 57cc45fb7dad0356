"""Input that wants to break something gets a clear 4xx, and never a 500."""

import time
from itertools import product
from typing import Any

import httpx
import pytest

from service.api.schemas.attention import AttentionRequest
from service.api.schemas.translate import TranslateRequest
from service.engine.types import TranslationOptions
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry

GOOD = {"q": "I lost.", "source": "en", "target": "fr"}

BODIES: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"{",
    "null": b"null",
    "a list": b'[{"q":"a"}]',
    "two objects": b"{}{}",
    "deep list": b'{"q":' + b"[" * 9000 + b"]" * 9000 + b"}",
    "deep object": b'{"q":' * 2000 + b"1" + b"}" * 2000,
    "open brackets": b"[" * 19_000,
    "Infinity": b'{"q":"a","source":"en","target":"fr","length_penalty":-Infinity}',
    "a float beyond range": b'{"q":"a","source":"en","target":"fr","length_penalty":1e999}',
    "a huge whole number": b'{"q":"a","source":"en","target":"fr","beam_size":' + b"9" * 9000 + b"}",
    "a big whole number": b'{"q":"a","source":"en","target":"fr","beam_size":' + b"9" * 99 + b"}",
    "a lone high surrogate": b'{"q":"\\ud800","source":"en","target":"fr"}',
    "a lone low surrogate": b'{"q":"\\uDC00 a","source":"en","target":"fr"}',
    "a lone surrogate in a list": b'{"q":["a","\\ud800"],"source":"en","target":"fr"}',
    "a lone surrogate in a name": b'{"q":"a","source":"en","target":"fr","\\ud800":1}',
    "invalid UTF-8": b'{"q":"\xff\xfe","source":"en","target":"fr"}',
    "UTF-16": '{"q":"a","source":"en","target":"fr"}'.encode("utf-16"),
    "a raw control character": b'{"q":"a\x00b","source":"en","target":"fr"}',
}


@pytest.mark.parametrize("route", ["/translate", "/attention"])
@pytest.mark.parametrize("name", BODIES)
async def test_hostile_json_is_refused_with_a_sentence(client: Client, route: str, name: str) -> None:
    body = BODIES[name].replace(b'"q"', b'"text"') if route == "/attention" else BODIES[name]
    answer = await client.post(route, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert set(answer.json()) - {"param"} == {"error", "code", "request_id"}
    assert len(answer.json()["error"]) > 15


async def test_surrogate_pairs_and_escaped_backslashes_are_fine(client: Client) -> None:
    body = b'{"q":"\\ud83c\\udf89 \\\\ud800 \\u00e9","source":"en","target":"fr"}'
    answer = await client.post("/translate", content=body, headers={"content-type": "application/json"})
    assert answer.json() == {"translatedText": "🎉 \\UD800 É"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"q=%ff&source=en&target=fr", "application/x-www-form-urlencoded"),
        (b"q=a&" * 2000, "application/x-www-form-urlencoded"),
        (b"&&&===&", "application/x-www-form-urlencoded"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\nBad\r\n\r\n", "multipart/form-data; boundary=x"),
        (b"--x\r\nContent-Type: text/plain\r\n\r\nabc\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--x--', "multipart/form-data; boundary=x"),
        (b"--x--\r\n", "multipart/form-data"),
        (b"q=a", "text/plain"),
        (b"q=a", ";;;"),
        (b'{"q":"a"}', "application/json-patch"),
    ],
)
async def test_hostile_forms_are_refused(client: Client, content: bytes, kind: str) -> None:
    answer = await client.post("/translate", content=content, headers={"content-type": kind})
    assert answer.status_code == 400, answer.text
    assert set(answer.json()) - {"param"} == {"error", "code", "request_id"}


@pytest.mark.parametrize("query", [b"text=%ff", b"text=%ED%A0%80", b"a=b&" * 1500, b"text=" + b"a" * 33_000])
async def test_hostile_query_strings_are_refused(client: Client, query: bytes) -> None:
    answer = await client.get(httpx.URL("http://translucent/attention", query=query))
    assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", ""])
async def test_json_with_another_content_type_is_told_the_right_one(client: Client, kind: str) -> None:
    answer = await client.post(
        "/translate", content=b' {"q": "I lost."}', headers={"content-type": kind} if kind else {}
    )
    assert answer.status_code == 400
    assert "Content-Type: application/json" in answer.json()["error"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"q": ["I lost.", "He's calm."]}, ["I LOST.", "HE'S CALM."]),
        ({"q": ["I lost.", "I lost."]}, ["I LOST.", "I LOST."]),
        ({"q": ["I lost."], "model": ["transformer", "bahdanau"]}, "I LOST."),
    ],
)
async def test_a_repeated_q_is_a_list_of_texts(client: Client, fields: dict[str, list[str]], expected: object) -> None:
    given = {"source": "en", "target": "fr", **fields}
    for answer in (
        await client.post("/translate", data=given),
        await client.post("/translate", params=given),
        await client.post("/translate", data=given, files={"unread": ("a.txt", b"a")}),
    ):
        assert answer.json() == {"translatedText": expected}


async def test_files_in_a_form_are_not_fields(client: Client) -> None:
    answer = await client.post("/translate", params={"source": "en", "target": "fr"}, files={"q": ("a.txt", b"text")})
    assert answer.json()["error"] == "Invalid request: missing q parameter"


@pytest.mark.parametrize(
    "kind", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_what_cannot_be_read_does_not_reach_the_message(client: Client, kind: str) -> None:
    content = b'{"q": "my secret text \xff'
    answer = await client.post("/translate", content=content, headers={"content-type": kind})
    assert answer.status_code == 400
    assert "secret" not in answer.text


# What is no number, or one that Python and pydantic spell in more ways than JSON does.
ODD_WORDS = """
    +-4 + - 4- 1+1 2e 1e+3 1e400 -1e99999 . 1..2 0x10 -0 1_000 1,5 4.0 4.5 1/2 1j 4px ٣ ½ ∞ −4 💥 4́
    NaN -inf Infinity null True align [] {"a":1} "4"
"""
ODD_NUMBERS = (
    *ODD_WORDS.split(),
    *("+ 4", "4 4", "\t4\t", "4\x00", "\u00a04"),
    *("9" * size for size in (19, 401, 5000)),
    *("-" * 4000, "0" * 4300 + "1", "0." + "0" * 4300 + "1", "9" * 300 + "e300", "b" * 1000),
)
TENSOR = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["I lost."]}
SEARCH = ("beam_size", "length_penalty", "max_length")
NUMERIC: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "/translate": (GOOD, (*SEARCH, "alternatives")),
    "/attention": ({**GOOD, "text": "I lost."}, (*SEARCH, "layer", "head", "scale")),
    "/v2/models/transformer-en-fr/infer": ({"inputs": [TENSOR]}, (*SEARCH, "shape")),
}


@pytest.mark.parametrize("route", NUMERIC)
async def test_no_string_in_the_place_of_a_number_is_an_error_of_ours(client: Client, route: str) -> None:
    fields, names = NUMERIC[route]
    for name, value in product(names, ODD_NUMBERS):
        given: dict[str, Any] = {name: value, "parameters": {name: value}}
        if name == "shape":
            given = {"inputs": [{**TENSOR, "shape": [value]}]}
        answer = await client.post(route, json={**fields, **given})
        assert answer.status_code in (200, 400), (name, value[:40], answer.text[:200])
        if answer.status_code == 400 and name != "shape":
            assert answer.json()["param"] == name, (name, value[:40])


DEEP = ("[" * 5000, '{"a":' * 1500, "[" * 500 + "]" * 500, "[" + "9" * 5000 + "]", '{"a": ' + "9" * 5000 + "}")


@pytest.mark.parametrize("value", DEEP, ids=lambda value: value[:8])
async def test_no_field_reads_json_that_python_cannot(client: Client, value: str) -> None:
    for name in TranslateRequest.model_fields:
        fields = {**GOOD, name: value}
        for answer in (await client.post("/translate", json=fields), await client.post("/translate", data=fields)):
            assert answer.status_code < 500, (name, answer.text[:200])
        if name == "glossary":
            assert (answer.status_code, answer.json()["param"]) == (400, name)
    for name in AttentionRequest.model_fields:
        answer = await client.get("/attention", params={**GOOD, "text": "a", name: value})
        assert answer.status_code < 500, (name, answer.text[:200])


async def test_a_shape_of_thousands_of_sizes_is_refused_before_they_are_multiplied() -> None:
    shape = [2**31] * 80_000  # their product has 2.5 million bits
    async with serving(rate_limit="3/minute") as client:
        for _ in range(3):
            began = time.process_time()
            answer = await client.post(
                "/v2/models/transformer-en-fr/infer", json={"inputs": [{**TENSOR, "shape": shape}]}
            )
            assert time.process_time() - began < 1
            assert (answer.status_code, answer.json()["param"]) == (400, "shape")
        assert (await client.post("/translate", json=GOOD)).status_code == 429


async def test_numbers_as_people_write_them_are_read(client: Client, registry: DummyRegistry) -> None:
    written = [(2, 0.5), (2.0, ".5"), ("2", "5e-1"), (" 2 ", " +0.5 "), ("+2", "0.50"), ("02", 5e-1)]
    for whole, real in written:
        answer = await client.post("/translate", json={**GOOD, "beam_size": whole, "length_penalty": real})
        assert answer.status_code == 200, (whole, real)
        options = registry["transformer-en-fr"].calls[-1][1]
        assert options == TranslationOptions(beam_size=2, length_penalty=0.5), (whole, real)
