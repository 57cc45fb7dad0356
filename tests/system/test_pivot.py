"""The shipped models behind the real server: German to French and back go through English without a setting."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.paths import MODELS
from tests.support.polling import wait_until
from tests.support.server import ServerProcess, metric, running

INTO_ENGLISH = {"de": "transformer-de-en", "fr": "transformer-fr-en"}
INTO_FRENCH, INTO_GERMAN = "transformer-en-fr", "transformer-en-de"
SERVED = (*INTO_ENGLISH.values(), INTO_FRENCH, INTO_GERMAN)
GERMAN = "Ich habe meine Schlüssel verloren. Wo ist der Bahnhof?"
FRENCH = "J'ai perdu mes clés. Où est la gare ?"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Serve the shipped models."""
    if not all((MODELS / name).is_dir() for name in SERVED):
        pytest.skip(f"the models of both legs are not in {MODELS}")
    options = ("--models-dir", str(MODELS), "--device", "cpu")
    settings = {"TRANSLUCENT_DEFAULT_MODELS": ",".join(SERVED)}
    with running("-m", "service", "serve", *options, **settings) as server:
        yield server
        server.signal()
        assert server.exit_code() == 0
        assert "Bahnhof" not in "".join(server.raw)


def post(server: ServerProcess, path: str = "/translate", **fields: Any) -> Any:
    answer = httpx.post(f"{server.url}{path}", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("text", "source", "target"), [(GERMAN, "de", "fr"), (FRENCH, "fr", "de")])
def test_two_legs_are_the_same_as_two_requests(server: ServerProcess, text: str, source: str, target: str) -> None:
    whole = post(server, q=text, source=source, target=target, details=True)
    assert whole["pivot"] == "en"
    first = post(server, q=text, source=source, target="en", details=True)
    second = post(server, q=first["translatedText"], source="en", target=target, details=True)
    assert whole["translatedText"] == second["translatedText"]
    between = whole["details"]["pivot"]
    wanted = "en", first["translatedText"], INTO_ENGLISH[source]
    assert (between["language"], between["text"], between["model"]) == wanted
    assert between["sentences"] == first["details"]["sentences"]
    assert _without_quality(whole) == _without_quality(second)
    qualities = zip(whole["details"]["sentences"], second["details"]["sentences"], strict=True)
    assert all(0 < both["quality"] < last["quality"] for both, last in qualities), "the doubt of both legs counts"


def _without_quality(answer: dict[str, Any]) -> list[dict[str, Any]]:
    sentences = answer["details"]["sentences"]
    return [{key: value for key, value in sentence.items() if key != "quality"} for sentence in sentences]


def test_each_leg_counts_under_its_model_and_the_log_names_both(server: ServerProcess) -> None:
    before = {name: metric(server.url, "sentences_total", model=name) for name in (INTO_ENGLISH["de"], INTO_FRENCH)}
    answer = httpx.post(f"{server.url}/translate", json={"q": GERMAN, "source": "de", "target": "fr"})
    for name, count in before.items():
        assert metric(server.url, "sentences_total", model=name) == count + 2
    request = answer.headers["x-request-id"]
    wait_until(lambda: any(each.get("request_id") == request for each in server.lines))
    [line] = [each for each in server.lines if each.get("request_id") == request]
    assert (line["model"], line["pivot"]) == (f"{INTO_ENGLISH['de']}, {INTO_FRENCH}", "en")
