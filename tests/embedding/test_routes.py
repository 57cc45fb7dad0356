"""POST /embed, and GET /attention?kind=sentence."""

import io
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx
import numpy as np
import pytest

from service.api.app import create_app
from service.embedding import embedder_in
from service.settings import Settings
from tests.support.api_client import calling
from tests.support.fake_engine import DummyRegistry, service_of

TEXT = "I see the sea."


def client_of(models: Path | None) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    settings = Settings(batch_limit=4, character_limit=500)
    embedder = None if models is None else embedder_in(models)
    return calling(create_app(service_of(DummyRegistry(), settings, embedder=embedder)))


@pytest.fixture
async def client(models: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(models) as client:
        yield client


async def test_embed_answers_as_text_embeddings_inference_does(client: httpx.AsyncClient) -> None:
    one = (await client.post("/embed", json={"inputs": TEXT})).json()
    assert np.shape(one) == (1, 10)
    assert np.linalg.norm(one[0]) == pytest.approx(1, abs=1e-5)
    two = (await client.post("/embed", json={"inputs": ["They sell bread.", TEXT], "truncate": True})).json()
    np.testing.assert_allclose(two[1], one[0], atol=1e-6)
    assert np.abs(np.subtract(*two)).max() > 0.01
    form = (await client.post("/embed", data={"inputs": TEXT})).json()
    np.testing.assert_allclose(form, one, atol=1e-6)


async def test_details_have_probabilities_and_the_model(client: httpx.AsyncClient) -> None:
    found = (await client.post("/embed", json={"inputs": [TEXT, ""], "details": True})).json()
    assert found["model"] == "tiny"
    assert found["digest"].startswith("sha256:")
    assert [set(each) for each in found["languages"]] == [{"en", "fr"}] * 2
    assert sum(found["languages"][0].values()) == pytest.approx(1, abs=1e-5)
    assert found["domains"][0] == {"home": 1.0}
    assert found["tokens"][1] == 1  # the end token


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "missing_parameter"),
        ({"inputs": []}, "missing_parameter"),
        ({"inputs": 7}, "invalid_parameter"),
        ({"inputs": TEXT, "normalize": False}, "invalid_parameter"),
        ({"inputs": ["a"] * 5}, "batch_limit"),
        ({"inputs": "a" * 501}, "character_limit"),
        ({"inputs": "the sea " * 30}, "input_too_long"),
    ],
)
async def test_what_cannot_be_embedded_is_refused(
    client: httpx.AsyncClient, fields: dict[str, object], code: str
) -> None:
    answer = await client.post("/embed", json=fields)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_the_attention_of_a_sentence_has_hops_as_rows_and_tokens_as_columns(client: httpx.AsyncClient) -> None:
    found = (await client.get("/attention", params={"kind": "sentence", "text": TEXT})).json()
    assert (found["kind"], found["axes"]) == ("sentence", ["hop", "source"])
    assert [token["piece"] for token in found["target"]["tokens"]] == ["hop 1", "hop 2", "hop 3"]
    columns = [token.get("special", token["text"]) for token in found["source"]["tokens"]]
    assert columns[-1] == "</s>"
    assert "".join(columns[:-1]) == TEXT.replace(" ", "")
    weights = np.array(found["weights"])
    assert weights.shape == (3, len(columns))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("form", ["svg", "png", "html", "csv", "npz", "vega"])
@pytest.mark.parametrize("view", ["heatmap", "lines"])
async def test_it_has_every_form_that_attention_has(client: httpx.AsyncClient, form: str, view: str) -> None:
    fields = {"kind": "sentence", "text": TEXT, "format": form, "view": view}
    answer = await client.get("/attention", params=fields)
    assert answer.status_code == 200, answer.text
    if form == "npz":
        arrays = np.load(io.BytesIO(answer.content))
        assert arrays["row_tokens"].tolist() == ["hop 1", "hop 2", "hop 3"]
        assert str(arrays["kind"]) == "sentence"
    elif form in ("svg", "csv"):
        assert "hop 2" in answer.text
        assert form != "svg" or "3 hops" in answer.text
    again = await client.get("/attention", params=fields, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


async def test_the_end_token_can_be_left_out(client: httpx.AsyncClient) -> None:
    fields = {"kind": "Sentence", "text": TEXT, "specials": "renormalise"}
    found = (await client.post("/attention", json=fields)).json()
    assert all("special" not in token for token in found["source"]["tokens"])
    np.testing.assert_allclose(np.array(found["weights"]).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "missing_parameter"),
        ({"text": TEXT, "format": "pharaoh"}, "invalid_parameter"),
        ({"text": TEXT, "view": "compare"}, "invalid_parameter"),
        ({"text": "." * 20}, "too_many_weights"),
    ],
)
async def test_a_wrong_request_for_sentence_attention_is_refused(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], code: str
) -> None:
    monkeypatch.setattr("service.api.routes.attention.MOST_WEIGHTS", 60)
    answer = await client.get("/attention", params={"kind": "sentence", **fields})
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_without_a_model_the_answer_says_so() -> None:
    async with client_of(None) as client:
        for answer in (
            await client.post("/embed", json={"inputs": TEXT}),
            await client.get("/attention", params={"kind": "sentence", "text": TEXT}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "no_embedding_model")


async def test_other_kinds_are_answered_as_before(client: httpx.AsyncClient) -> None:
    answer = await client.get("/attention", params={"kind": "strange", "text": TEXT, "source": "en", "target": "fr"})
    assert answer.json()["error"].endswith("kind must be one of cross, encoder, decoder, occlusion, sentence")
