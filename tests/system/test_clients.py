"""A real client of this dialect, and requests of others as they were recorded, against the real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from tests.system.process import ServerProcess, running_dummy


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_dummy() as server:
        server.wait_for("ready")
        yield server


def test_libretranslatepy_works_unchanged(server: ServerProcess) -> None:
    client = LibreTranslateAPI(f"{server.url}/")
    assert client.translate("I lost. Été & co = 100 %", "en", "fr") == "I LOST. ÉTÉ & CO = 100 %"
    assert client.translate("I have lost my keys.", "auto", "fr") == "I HAVE LOST MY KEYS."
    assert client.detect("Où sont mes clés ?")[0]["language"] == "fr"
    assert {"code": "en", "name": "English", "targets": ["de", "en", "fr"]} in client.languages()


# As the sources of these programs send them.
RECORDED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Weblate": (
        {"json": {"api_key": "", "q": ["Hello.", "World"], "source": "en", "target": "fr", "alternatives": 2}},
        {"translatedText": ["HELLO.", "WORLD"], "alternatives": [["HELLO.!", "HELLO.?"], ["WORLD!", "WORLD?"]]},
    ),
    "Mastodon": (
        {"json": {"q": ["<p>Hello</p>"], "source": "en", "target": "fr", "format": "html", "api_key": None}},
        {"translatedText": ["<p>HELLO</p>"]},
    ),
    "deep-translator": (
        {"params": {"q": "Hello", "source": "en", "target": "fr", "format": "text"}},
        {"translatedText": "HELLO"},
    ),
    "PHP": (
        {"files": {name: (None, value) for name, value in
                   {"q": "<b>Hello</b>", "source": "en", "target": "fr", "format": "html"}.items()}},
        {"translatedText": "<b>HELLO</b>"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_requests_get_the_documented_answers(server: ServerProcess, name: str) -> None:
    request, expected = RECORDED[name]
    answer = httpx.post(f"{server.url}/translate", **request)
    assert answer.status_code == 200
    body = answer.json()
    if "alternatives" in expected:
        assert body["translatedText"] == expected["translatedText"]
        assert all(isinstance(text, str) for texts in body["alternatives"] for text in texts)
    else:
        assert body == expected


def test_the_languages_that_mastodon_asks_for(server: ServerProcess) -> None:
    answer = httpx.get(f"{server.url}/languages", headers={"content-type": "application/x-www-form-urlencoded"})
    assert {language["code"]: language["targets"] for language in answer.json()}["en"] == ["de", "en", "fr"]
