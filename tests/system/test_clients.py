"""A real client of this dialect, and requests of others as they were recorded, against the real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import jinja2
import numpy as np
import pytest
import yaml
from libretranslatepy import LibreTranslateAPI

from tests.support.server import ServerProcess, running_dummy

if TYPE_CHECKING:
    import tritonclient.http as triton
    from tritonclient.utils import InferenceServerException
else:
    triton = pytest.importorskip("tritonclient.http", reason="gevent, which it needs, has no wheels for this system")
    InferenceServerException = pytest.importorskip("tritonclient.utils").InferenceServerException


MODEL = "transformer-en-fr"
ADMIN = "let-me-in-please-1"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_dummy(TRANSLUCENT_ADMIN_TOKEN=ADMIN) as server:
        yield server


def test_libretranslatepy_works_unchanged(server: ServerProcess) -> None:
    client = LibreTranslateAPI(f"{server.url}/")
    assert client.translate("I lost. Été & co = 100 %", "en", "fr") == "I LOST. ÉTÉ & CO = 100 %"
    assert client.translate("I have lost my keys.", "auto", "fr") == "I HAVE LOST MY KEYS."
    assert client.detect("Où sont mes clés ?")[0]["language"] == "fr"
    assert {"code": "en", "name": "English", "targets": ["de", "en", "fr"]} in client.languages()


@pytest.fixture(scope="module")
def triton_client(server: ServerProcess) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.url.removeprefix("http://")) as client:
        yield client


def tensor(name: str, *texts: str) -> triton.InferInput:
    """Return a tensor made as in the documentation of this client; its data are bytes after the JSON."""
    made = triton.InferInput(name, [len(texts)], "BYTES")
    made.set_data_from_numpy(np.array([text.encode() for text in texts], dtype=np.object_))
    return made


def test_tritons_own_client_works_with_its_defaults(triton_client: triton.InferenceServerClient) -> None:
    result = triton_client.infer(MODEL, [tensor("text", "I lost. Été 🎉", "go")], request_id="7")
    assert [text.decode() for text in result.as_numpy("translation")] == ["I LOST. ÉTÉ 🎉", "GO"]
    assert result.as_numpy("score").tolist() == [-0.5, -0.5]
    assert result.get_response()["id"] == "7"
    forced = triton_client.infer(MODEL, [tensor("text", "i lost"), tensor("target_text", "perdu")])
    assert forced.as_numpy("translation").tolist() == [b"perdu"]
    assert triton_client.async_infer(MODEL, [tensor("text", "go")]).get_result().as_numpy("translation")[0] == b"GO"


@pytest.mark.parametrize("binary", [True, False])
def test_tritons_own_client_gets_the_outputs_that_it_names(
    triton_client: triton.InferenceServerClient, binary: bool
) -> None:
    wanted = [triton.InferRequestedOutput(name, binary_data=binary) for name in ("attention", "translation")]
    parameters = {"beam_size": 2}
    result = triton_client.infer(MODEL, [tensor("text", "i lost")], outputs=wanted, parameters=parameters)
    assert result.as_numpy("attention").shape == (3, 3)
    assert result.as_numpy("attention").sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-3)
    assert [np.asarray(text, dtype=np.bytes_).item() for text in result.as_numpy("translation")] == [b"I LOST"]
    assert result.as_numpy("score") is None


def test_tritons_own_client_learns_what_there_is(triton_client: triton.InferenceServerClient) -> None:
    assert triton_client.is_server_live()
    assert triton_client.is_server_ready()
    assert triton_client.is_model_ready(MODEL, "1")
    assert not triton_client.is_model_ready("nope")
    assert "binary_tensor_data" in triton_client.get_server_metadata()["extensions"]
    metadata = triton_client.get_model_metadata(MODEL)
    # Whoever fills every input that is listed, as perf_analyzer does, gets a translation.
    filled = [tensor(each["name"], "go") for each in metadata["inputs"]]
    assert triton_client.infer(MODEL, filled).as_numpy("translation").tolist() == [b"GO"]
    assert triton_client.get_model_config(MODEL)["name"] == MODEL
    with pytest.raises(InferenceServerException, match="no such model"):
        triton_client.infer("nope", [tensor("text", "go")])
    with pytest.raises(InferenceServerException, match="compressed"):
        triton_client.infer(MODEL, [tensor("text", "go")], request_compression_algorithm="gzip")


def test_tritons_own_client_works_on_the_repository(triton_client: triton.InferenceServerClient) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}"}
    listed = triton_client.get_model_repository_index(headers=headers)
    assert {"name": MODEL, "version": "1", "state": "READY", "reason": ""} in listed
    triton_client.load_model(MODEL, headers=headers)
    with pytest.raises(InferenceServerException, match="configuration"):
        triton_client.load_model(MODEL, headers=headers, config='{"max_batch_size": 4}')
    triton_client.unload_model("bahdanau-en-fr", headers=headers)
    index = {each["name"]: each for each in triton_client.get_model_repository_index(headers=headers)}
    assert index["bahdanau-en-fr"]["state"] == "UNAVAILABLE"


# As the sources of these programs send them.
RECORDED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Weblate": (
        {"json": {"api_key": "", "q": ["Hello.", "World"], "source": "en", "target": "fr", "alternatives": 2}},
        {"translatedText": ["HELLO.", "WORLD"], "alternatives": [["HELLO.!"], ["WORLD!"]]},
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
    assert answer.json() == expected


def test_the_languages_that_mastodon_asks_for_and_reads_from_an_answer(server: ServerProcess) -> None:
    answer = httpx.get(f"{server.url}/languages", headers={"content-type": "application/x-www-form-urlencoded"})
    assert {language["code"]: language["targets"] for language in answer.json()}["en"] == ["de", "en", "fr"]
    texts = ["<p>I have lost my keys this morning.</p>", "<p>Where is the house?</p>"]
    body = {"q": texts, "source": "auto", "target": "fr", "format": "html", "api_key": None}
    found = httpx.post(f"{server.url}/translate", json=body).json()["detectedLanguage"]
    assert [found[index]["language"] for index in range(len(texts))] == ["en", "en"]


def test_home_assistants_command_as_the_docs_have_it(server: ServerProcess) -> None:
    page = (Path(__file__).parents[2] / "docs/integrations.md").read_text("utf-8")
    [command] = re.findall(r"^```yaml\n(rest_command:.*?)^```", page, re.M | re.S)
    configured = yaml.safe_load(command)["rest_command"]["translate"]
    templates = jinja2.Environment(autoescape=False)
    templates.filters["to_json"] = json.dumps
    payload = templates.from_string(configured["payload"]).render(text='He said "no".', target="fr", source="en")
    url = configured["url"].replace("http://translucent:8000", server.url)
    answer = httpx.request(
        configured["method"], url, content=payload, headers={"content-type": configured["content_type"]}
    )
    assert answer.json() == {"translatedText": 'HE SAID "NO".'}
