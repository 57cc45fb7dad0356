"""The shipped models behind the real server, with English as the pivot between German and French."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.polling import wait_until
from tests.support.server import ROOT, ServerProcess, metric, running

MODELS = ROOT / "models"
INTO_ENGLISH, INTO_FRENCH, INTO_GERMAN = "transformer-de-fr-en", "transformer-en-fr", "transformer-en-de"
GERMAN = "Ich habe meine Schlüssel verloren. Wo ist der Bahnhof?"
FRENCH = "J'ai perdu mes clés. Où est la gare ?"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Serve the shipped models with a pivot."""
    if not all((MODELS / name).is_dir() for name in (INTO_ENGLISH, INTO_FRENCH, INTO_GERMAN)):
        pytest.skip(f"the models of both legs are not in {MODELS}")
    options = ("--models-dir", str(MODELS), "--device", "cpu")
    settings = {
        "TRANSLUCENT_PIVOT": "en",
        "TRANSLUCENT_DEFAULT_MODELS": f"{INTO_FRENCH},{INTO_GERMAN}",
        "TRANSLUCENT_LOG_FORMAT": "json",
    }
    with running("-m", "service", "serve", *options, **settings) as server:
        yield server
        server.signal()
        assert server.exit_code() == 0
        assert "Bahnhof" not in "".join(server.raw)


def post(server: ServerProcess, path: str = "/translate", **fields: Any) -> Any:
    answer = httpx.post(f"{server.url}{path}", json=fields, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("text", "pair", "word"),
    [(GERMAN, ("de", "fr"), "gare"), (FRENCH, ("fr", "de"), "Bahnhof")],
    ids=["de-fr", "fr-de"],
)
def test_two_legs_are_the_same_as_two_requests(
    server: ServerProcess, text: str, pair: tuple[str, str], word: str
) -> None:
    source, target = pair
    whole = post(server, q=text, source=source, target=target, details=True)
    assert whole["pivot"] == "en"
    assert word in whole["translatedText"]
    first = post(server, q=text, source=source, target="en", details=True)
    second = post(server, q=first["translatedText"], source="en", target=target, details=True)
    assert whole["translatedText"] == second["translatedText"]
    between = whole["details"]["pivot"]
    assert (between["language"], between["text"], between["model"]) == ("en", first["translatedText"], INTO_ENGLISH)
    assert between["sentences"] == first["details"]["sentences"]
    assert _without_quality(whole) == _without_quality(second)
    qualities = zip(whole["details"]["sentences"], second["details"]["sentences"], strict=True)
    assert all(0 < both["quality"] < last["quality"] for both, last in qualities), "the doubt of both legs counts"


def _without_quality(answer: dict[str, Any]) -> list[dict[str, Any]]:
    sentences = answer["details"]["sentences"]
    return [{key: value for key, value in sentence.items() if key != "quality"} for sentence in sentences]


def test_every_language_is_a_target_of_every_other(server: ServerProcess) -> None:
    listed = httpx.get(f"{server.url}/languages").json()
    assert {each["code"]: (each["targets"], each.get("pivots")) for each in listed} == {
        "de": (["de", "en", "fr"], {"fr": "en"}),
        "en": (["de", "en", "fr"], None),
        "fr": (["de", "en", "fr"], {"de": "en"}),
    }
    [model] = [each for each in httpx.get(f"{server.url}/models").json()["models"] if each["name"] == INTO_ENGLISH]
    assert (model["sources"], model["targets"]) == (["de", "fr"], ["en"])
    assert model["pairs"] == [
        {"source": "de", "target": "en", "default": True},
        {"source": "fr", "target": "en", "default": True},
    ]


@pytest.mark.parametrize(("source", "text"), [("de", GERMAN), ("fr", FRENCH), (None, GERMAN)])
def test_the_inference_protocol_takes_either_source_of_a_model(
    server: ServerProcess, source: str | None, text: str
) -> None:
    inputs = [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [text]}]
    parameters = {} if source is None else {"source": source}
    found = post(server, f"/v2/models/{INTO_ENGLISH}/infer", inputs=inputs, parameters=parameters)
    wanted = post(server, q=text, source=source or "de", target="en", model=INTO_ENGLISH)["translatedText"]
    assert found["outputs"][0]["data"] == [wanted]
    fields = {"inputs": inputs, "parameters": {"source": "de", "target": "fr"}}
    refused = httpx.post(f"{server.url}/v2/models/{INTO_ENGLISH}/infer", json=fields)
    assert (refused.status_code, refused.json()["code"]) == (400, "unsupported_pair")  # named models never pivot


def test_a_list_of_several_languages_is_detected_and_translated(server: ServerProcess) -> None:
    english = "Where is the station?"
    body = post(server, q=[GERMAN, english, FRENCH, "12:30"], source="auto", target="fr")
    assert body["pivot"] == ["en", None, None, None]
    assert body["translatedText"][0] == post(server, q=GERMAN, source="de", target="fr")["translatedText"]
    assert body["translatedText"][1] == post(server, q=english, source="en", target="fr")["translatedText"]
    assert body["translatedText"][2:] == [FRENCH, "12:30"]


def test_numbers_survive_both_legs(server: ServerProcess) -> None:
    body = post(server, q="Der Zug kostet 1.234,50 €.", source="de", target="fr", details=True)
    assert "1,234.50" in body["details"]["pivot"]["text"]
    assert "234,50" in body["translatedText"]


def test_tags_follow_their_words_through_both_legs(server: ServerProcess) -> None:
    page = "<h1>Der Bahnhof</h1><p>Wo ist <b>meine Katze</b>?<br>Danke.</p>"
    body = post(server, q=page, source="de", target="fr", format="html")
    assert body["pivot"] == "en"
    assert "<b>mon chat</b>" in body["translatedText"] or "<b>ma chatte</b>" in body["translatedText"]
    assert body["translatedText"].startswith("<h1>")
    assert body["translatedText"].count("<br>") == 1
    first = post(server, q=page, source="de", target="en", format="html")["translatedText"]
    assert body["translatedText"] == post(server, q=first, source="en", target="fr", format="html")["translatedText"]


def test_a_stream_of_the_second_leg_begins_with_the_first(server: ServerProcess) -> None:
    fields = {"q": GERMAN, "source": "de", "target": "fr"}
    text = httpx.post(f"{server.url}/translate/stream", json=fields, timeout=60).text
    parts = [part.split("\n") for part in text.strip().split("\n\n")]
    events = [(name[7:], json.loads(data[6:])) for name, data in parts]
    assert events[0][0] == "pivot"
    greedy = post(server, **fields, beam_size=1, details=True)
    assert events[0][1]["text"] == greedy["details"]["pivot"]["text"]
    assert events[-1][1]["translatedText"] == greedy["translatedText"]
    assert events[-1][1]["pivot"] == "en"


def test_the_attention_of_each_leg_can_be_seen(server: ServerProcess) -> None:
    fields = {"text": "Wo ist der Bahnhof?", "source": "de", "target": "fr"}
    first = post(server, "/attention", **fields, leg=1)
    assert first == post(server, "/attention", **{**fields, "target": "en"})
    second = post(server, "/attention", **fields, leg=2, tokens="word")
    assert second["source"]["text"] == first["target"]["text"]
    assert (first["model"], second["model"]) == (INTO_ENGLISH, INTO_FRENCH)
    words = {name: [token["text"] for token in second[name]["tokens"]] for name in ("source", "target")}
    linked = [(words["source"][i], words["target"][j]) for i, j in second["alignment"]]
    assert ("station", "gare") in linked
    picture = httpx.get(f"{server.url}/attention", params={**fields, "leg": 2, "format": "svg"}, timeout=60)
    assert picture.status_code == 200
    assert "gare" in picture.text
    assert httpx.get(f"{server.url}/attention", params=fields).json()["code"] == "leg_required"


def test_each_leg_counts_under_its_model_and_the_log_names_both(server: ServerProcess) -> None:
    before = {name: metric(server.url, "sentences_total", model=name) for name in (INTO_ENGLISH, INTO_FRENCH)}
    answer = httpx.post(f"{server.url}/translate", json={"q": GERMAN, "source": "de", "target": "fr"}, timeout=60)
    for name, count in before.items():
        assert metric(server.url, "sentences_total", model=name) == count + 2
    wait_until(lambda: any(each.get("request_id") == answer.headers["x-request-id"] for each in server.lines))
    [line] = [each for each in server.lines if each.get("request_id") == answer.headers["x-request-id"]]
    assert (line["model"], line["pivot"]) == (f"{INTO_ENGLISH}, {INTO_FRENCH}", "en")
