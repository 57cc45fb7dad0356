"""POST /translate: what existing clients send and expect, and our own fields."""

import json
from typing import Any

import httpx
import pytest

from service.engine.fields import MAX_LENGTH_PENALTY
from service.engine.model_info import WorkerState
from service.engine.types import TranslationOptions
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}
BEYOND_ASCII = {**TEXT, "q": "été 🎉 & a=b + 100 % ключ"}
ENCODED = json.dumps(BEYOND_ASCII, ensure_ascii=False).encode()


async def post(client: Client, **fields: Any) -> httpx.Response:
    return await client.post("/translate", json={**TEXT, **fields})


async def error_of(client: Client, status: int = 400, **fields: Any) -> str:
    answer = await post(client, **fields)
    body = answer.json()
    assert answer.status_code == status, body
    assert set(body) - {"param"} == {"error", "code", "request_id"}
    return str(body["error"])


async def test_a_string_is_answered_with_a_string_and_a_list_with_a_list_in_its_order(client: Client) -> None:
    answered = [
        ("I lost.", "I LOST."),
        ("", ""),
        (["a"], ["A"]),
        (["a", "", "b", " \n", "c"], ["A", "", "B", " \n", "C"]),
    ]
    for q, translated in answered:
        answer = await post(client, q=q)
        assert (answer.status_code, answer.json()) == (200, {"translatedText": translated})
    assert (await client.post("/translate", data={**TEXT, "q": ""})).json() == {"translatedText": ""}


@pytest.mark.parametrize(
    "request_arguments",
    [
        {"json": BEYOND_ASCII},
        {"data": BEYOND_ASCII},
        {"params": BEYOND_ASCII},
        {"files": {name: (None, value) for name, value in BEYOND_ASCII.items()}},
        {"params": {"source": "en", "target": "fr"}, "data": {"q": BEYOND_ASCII["q"]}},
        {"params": {"q": BEYOND_ASCII["q"]}, "files": {"source": (None, "en"), "target": (None, "fr")}},
        {"params": BEYOND_ASCII, "content": b"", "headers": {"content-type": "text/plain"}},
        {"content": ENCODED, "headers": {"content-type": "application/vnd.a+json"}},
        {"content": b"\xef\xbb\xbf" + ENCODED, "headers": {"content-type": "Application/JSON; charset=utf-8"}},
    ],
)
async def test_fields_come_from_json_forms_and_the_query_string(
    client: Client, request_arguments: dict[str, Any]
) -> None:
    answer = await client.post("/translate", **request_arguments)
    assert answer.json()["translatedText"] == BEYOND_ASCII["q"].upper()  # it also warns that this is no English


async def test_line_breaks_of_a_form_are_those_that_were_typed(client: Client) -> None:
    lines = "a\r\n" * 300  # as a browser sends it: 900 characters, of which 600 were typed
    fields = {**TEXT, "q": lines + "b" * 400}
    parts: dict[str, Any] = {name: (None, value) for name, value in fields.items()}
    for answer in (await client.post("/translate", data=fields), await client.post("/translate", files=parts)):
        assert answer.json() == {"translatedText": "A\n" * 300 + "B" * 400}
    assert (await post(client, q="a\r\nb")).json() == {"translatedText": "A\r\nB"}


async def test_the_query_string_wins_over_the_form_and_the_first_value_over_the_second_but_json_leaves_it_out(
    client: Client,
) -> None:
    answer = await client.post("/translate?q=first&model=transformer&model=none", data={**TEXT, "q": "third"})
    assert answer.json() == {"translatedText": "FIRST"}
    answer = await client.post("/translate?q=hello", json={"source": "en", "target": "fr"})
    assert answer.json()["error"] == "Invalid request: missing q parameter"


async def test_unknown_fields_and_keys_that_are_not_needed_are_ignored(client: Client) -> None:
    answer = await post(client, api_key="any", secret="x", colour=["blue"], format="text")
    assert answer.json() == {"translatedText": "I LOST."}


async def test_a_language_translated_into_itself_comes_back_unchanged(client: Client) -> None:
    assert (await post(client, target="en", alternatives=2, details=True)).json() == {
        "translatedText": "I lost.",
        "alternatives": [],
        "details": {"sentences": []},
    }


async def test_alternatives_are_unlike_each_other_and_the_translation(client: Client) -> None:
    assert (await post(client, alternatives=3)).json()["alternatives"] == ["I LOST.!", "I LOST.?"]
    assert (await post(client, q=["a", "b"], alternatives=1)).json()["alternatives"] == [["A!"], ["B!"]]
    for none in (0, -1, "-2", 0.9):  # LibreTranslate reads them with int() and max(0, …)
        assert "alternatives" not in (await post(client, alternatives=none)).json()
    assert (await post(client, alternatives=1.5)).json()["alternatives"] == ["I LOST.!"]


async def test_details_give_tokens_that_are_slices_of_the_texts(client: Client) -> None:
    (sentence,) = (await post(client, q="I lost my keys.", details=True)).json()["details"]["sentences"]
    for side in (sentence["source"], sentence["target"]):
        for token in side["tokens"]:
            assert token["text"] == side["text"][token["start"] : token["end"]]
    assert sentence["source"]["tokens"][-1]["special"] == "</s>"
    assert "special" not in sentence["source"]["tokens"][0]
    assert set(sentence) == {
        *("source", "target", "score", "token_logprobs", "alignment", "word_alignment", "finish_reason", "quality"),
        "coverage",
    }
    assert len((await post(client, q=["a", "b"], details="true")).json()["details"]) == 2


async def test_options_reach_the_engine(client: Client, registry: DummyRegistry) -> None:
    fields: dict[str, Any] = {"beam_size": 2, "length_penalty": MAX_LENGTH_PENALTY, "max_length": 30, "alternatives": 1}
    await post(client, **{**fields, "beam_size": 2.0}, model="bahdanau", values="Keep", repetition_guard="off")
    await client.post("/translate", data={**TEXT, "beam_size": "2", "details": "on", "length_penalty": "", "model": ""})
    first, second = (registry[name].calls[0][1] for name in ("bahdanau-en-fr", "transformer-en-fr"))
    assert first == TranslationOptions(**fields, values="keep", repetition_guard=False)
    assert second == TranslationOptions(beam_size=2, details=True)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": 7}, "Invalid request: q must be a string or a list of strings"),
        ({"q": ["a", 1]}, "Invalid request: q must be a string or a list of strings"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"source": ""}, "Invalid request: missing source parameter"),
        ({"source": ["en"]}, "Invalid request: source must be a string"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"target": 1}, "Invalid request: target must be a string"),
        ({"alternatives": "1.5"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": True}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 8}, "Invalid request: alternatives must be a whole number from 0 to 7"),
        ({"q": ["a"] * 129}, "Invalid request: request (129) exceeds text limit (128)"),
        ({"q": ["a", "b" * 1001]}, "Invalid request: request (1001) exceeds text limit (1000)"),
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "ZZ"}, "zz is not supported"),
        ({"format": "pdf"}, "pdf format is not supported"),
        ({"format": "html", "details": True},
         "Invalid request: details are available for plain text only; send format text"),
        ({"source": "fr", "target": "de"},
         "German (de) is not available as a target language from French (fr); available: fr"),
        ({"beam_size": 0}, "Invalid request: beam_size must be a whole number from 1 to 8"),
        ({"beam_size": 9}, "Invalid request: beam_size must be a whole number from 1 to 8"),
        ({"beam_size": True}, "Invalid request: beam_size must be a whole number from 1 to 8"),
        ({"length_penalty": 5.1}, "Invalid request: length_penalty must be a number from 0 to 5"),
        ({"length_penalty": -1}, "Invalid request: length_penalty must be a number from 0 to 5"),
        ({"max_length": 0}, "Invalid request: max_length must be a whole number of at least 1"),
        ({"details": "maybe"}, "Invalid request: details must be true or false"),
        ({"values": "all"}, "Invalid request: values must be one of localize, keep, off"),
        ({"effort": "most"}, "Invalid request: effort must be one of usual, best"),
        ({"model": 3}, "Invalid request: model must be a string"),
    ],
)  # fmt: skip
async def test_errors_have_the_texts_that_clients_match(client: Client, fields: dict[str, Any], error: str) -> None:
    assert await error_of(client, **fields) == error


async def test_an_error_names_the_field_that_is_wrong_if_it_is_one(client: Client) -> None:
    for name, value in (("q", None), ("target", 1), ("beam_size", 9), ("format", "pdf")):
        assert (await post(client, **{name: value})).json()["param"] == name
    assert "param" not in (await post(client, source="fr", target="de")).json()
    assert len(await error_of(client, source="z" * 5000)) < 100


async def test_an_unknown_model_is_404(client: Client) -> None:
    assert "available: bahdanau, bahdanau-en-fr" in await error_of(client, 404, model="nope")
    assert "available: transformer" in await error_of(client, 404, model="bahdanau", target="de")


async def test_checks_come_in_the_order_that_clients_expect(client: Client) -> None:
    wrong: dict[str, Any] = {"q": ["a" * 1005, *["a"] * 128], "source": "zz", "target": "yy", "alternatives": "x"}
    wrong["format"] = "pdf"
    mended: list[tuple[str, Any, str]] = [
        ("alternatives", 0, "alternatives"),
        ("q", ["a" * 1005] * 5, "(129) exceeds"),
        ("q", "a", "(1005) exceeds"),
        ("source", "fr", "zz is not supported"),
        ("target", "de", "yy is not supported"),
        ("format", "text", "format"),
        ("target", "fr", "not available as a target"),
    ]
    required = ("q", "source", "target")
    for number, missing in enumerate(required):
        assert f"missing {missing}" in await error_of(client, **{**wrong, **dict.fromkeys(required[number:])})
    for name, value, expected in mended:
        assert expected in await error_of(client, **wrong)
        wrong[name] = value
    assert (await post(client, **wrong)).status_code == 200


async def test_the_limit_of_characters_is_of_each_text(client: Client) -> None:
    answer = await post(client, q=["a" * 1000] * 5)
    assert (answer.status_code, len(answer.json()["translatedText"])) == (200, 5)


async def test_another_model_translates_where_the_default_has_failed_and_says_so(
    client: Client, registry: DummyRegistry
) -> None:
    request = {"q": ["Hello.", "Go."], "source": "en", "target": "fr"}
    default, other = "transformer-en-fr", "bahdanau-en-fr"
    assert "warnings" not in (await client.post("/translate", json=request)).json()
    registry[default].worker.state = WorkerState.DEAD
    calls = len(registry[other].calls)
    warnings = (await client.post("/translate", json=request)).json()["warnings"]
    assert len(registry[other].calls) == calls + 1
    assert [[each["code"] for each in of_text] for of_text in warnings] == [["default_model_failed"]] * 2
    assert default in warnings[0][0]["message"]
    assert other in warnings[0][0]["message"]
    assert warnings[0][0]["model"] == other
    assert "warnings" not in (await client.post("/translate", json={**request, "model": other})).json()


async def test_formality_is_passed_on_and_what_is_missing_is_said(client: Client, registry: DummyRegistry) -> None:
    translator = registry["transformer-en-fr"]
    translator.quality_of, translator.say = (lambda text: 0.9), (lambda text: "Attendez ici.")
    assert "warnings" not in (await post(client, q="Wait here.", formality="PREFER_MORE")).json()
    [warning] = (await post(client, q="Wait here.", formality="prefer_less")).json()["warnings"]
    assert translator.calls[-1][1].formality == "prefer_less"  # type: ignore[attr-defined]
    assert (warning["code"], warning["language"], warning["model"]) == ("formality", None, None)
    assert "1 of 1 have no familiar translation" in warning["message"]
    assert "one of default, prefer_more, prefer_less" in await error_of(client, formality="more")


async def test_a_page_has_one_register(client: Client, registry: DummyRegistry) -> None:
    translator = registry["transformer-en-fr"]
    translator.say = lambda text: (
        "Appelle-moi." if text == "Call me." and translator.calls[-1][1].formality == "default" else "Attendez ici."  # type: ignore[attr-defined]
    )
    page = "<p>Wait here.</p><p>Call me.</p><p>Wait there.</p>"
    answer = (await post(client, q=page, format="html")).json()
    assert answer["translatedText"] == "<p>Attendez ici.</p>" * 3
    assert translator.calls[-1][0] == ("Call me.",)
