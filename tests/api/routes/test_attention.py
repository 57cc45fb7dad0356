"""GET and POST /attention: weights, the scores before them, and the steps of a search."""

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.engine.model_info import MemberInfo
from service.engine.types import AttentionOptions, TranslationOptions
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry, DummyTranslator, info_of

TEXT = {"text": "I lost.", "source": "en", "target": "fr"}
SCORES = {**TEXT, "text": "a small dog", "layer": "0", "head": "0", "stage": "scores"}
STEPS = {**TEXT, "text": "a small dog", "view": "steps"}


async def test_get_and_post_give_the_same_axes_tokens_and_weights(client: Client) -> None:
    by_get = await client.get("/attention", params=TEXT)
    by_post = await client.post("/attention", json=TEXT)
    by_form = await client.post("/attention", data=TEXT)
    assert by_get.status_code == by_post.status_code == 200
    assert by_get.json() == by_post.json() == by_form.json()
    body = by_get.json()
    assert body["axes"] == ["target", "source"]
    assert (body["kind"], body["layer"], body["head"]) == ("cross", "align", "align")
    assert len(body["weights"]) == len(body["target"]["tokens"]) == len(body["token_logprobs"])
    for row in body["weights"]:
        assert len(row) == len(body["source"]["tokens"])
        assert sum(row) == pytest.approx(1, abs=1e-3)
    assert body["source"]["tokens"][0] == {"id": 10, "text": "I", "piece": "▁I", "start": 0, "end": 1}


async def test_parameters_reach_the_engine(client: Client, registry: DummyRegistry) -> None:
    parameters = {"layer": "1", "head": "mean", "tokens": "word", "specials": "drop", "beam_size": "2"}
    fields = {**TEXT, **parameters, "model": "bahdanau", "target_text": "C'est perdu"}
    body = (await client.get("/attention", params=fields)).json()
    assert registry["bahdanau-en-fr"].calls[0][1] == AttentionOptions(
        layer=1, head="mean", tokens="word", specials="drop", translation=TranslationOptions(beam_size=2)
    )
    assert (body["target"]["text"], body["token_ranks"]) == ("C'est perdu", [1, 1, 1])
    shown: list[tuple[dict[str, str], tuple[str, object, object]]] = [
        ({"kind": "encoder"}, ("encoder", "mean", "mean")),
        ({"kind": "decoder", "head": "1"}, ("decoder", "mean", 1)),
        ({"kind": "decoder", "layer": "1"}, ("decoder", 1, "mean")),
    ]
    for asked, expected in shown:
        body = (await client.get("/attention", params={**TEXT, **asked})).json()
        assert (body["kind"], body["layer"], body["head"]) == expected


def members_of(ensemble: DummyTranslator) -> list[str | None]:
    """Return the members whose attention was asked for."""
    options = [call[1] for call in ensemble.calls]
    return [each.member for each in options if isinstance(each, AttentionOptions)]


async def test_an_ensemble_is_compared_with_itself_by_the_members_weights(
    client: Client, registry: DummyRegistry
) -> None:
    names = ("transformer-en-fr", "bahdanau-en-fr")
    members = tuple(MemberInfo(name, "1", f"sha256:{name}", {"align": {"layer": 1, "head": 2}}) for name in names)
    ensemble = DummyTranslator(replace(info_of("ensemble-en-fr"), members=members))
    registry.add(ensemble)
    fields = {**TEXT, "model": "ensemble", "view": "compare"}
    body = (await client.get("/attention", params=fields)).json()
    assert len(body["maps"]) == 2
    assert members_of(ensemble) == list(names)
    await client.get("/attention", params={**fields, "other_model": names[1]})
    assert registry[names[1]].calls
    await client.get("/attention", params={**TEXT, "model": "ensemble", "member": names[1]})
    assert members_of(ensemble)[-1] == names[1]
    await client.get("/attention", params={**TEXT, "view": "compare"})  # of another model: with the other architecture
    assert len(registry[names[1]].calls) == 2
    models = {model["name"]: model for model in (await client.get("/models")).json()["models"]}
    assert [member["name"] for member in models["ensemble-en-fr"]["members"]] == list(names)
    assert "members" not in models[names[0]]


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"text": ""}, "text is empty"),
        ({"target": "zz"}, "zz is not supported"),
        ({"target": "en"}, "own language"),
        ({"source": "fr", "target": "de"}, "not available as a target"),
        ({"kind": "self"}, "kind must be one of cross, encoder, decoder"),
        ({"layer": "best"}, "layer must be align, mean, all or a whole number"),
        ({"head": "-1"}, "head must be"),
        ({"tokens": "letters"}, "tokens must be one of subword, word"),
        ({"format": "png", "scale": "9"}, "scale must be a number from 0.25 to 4"),
        ({"view": "contrast"}, "view=contrast needs target_text"),
        ({"view": "compare", "layer": "all"}, "show one layer and one head"),
        ({"view": "compare", "format": "bertviz"}, "format bertviz holds one map"),
        ({"view": "models"}, "view=models needs models"),
        ({"view": "models", "models": "transformer", "head": "all"}, "show one layer and one head"),
        ({"view": "models", "models": ",".join("abcdefghijklm")}, "at most 12"),
        ({"digest": "1234"}, "digest must be sha256:"),
        ({"format": "bmp"}, "format must be one of json"),
        ({"target_ids": "1,two"}, "target_ids must be ids of tokens"),
        ({"source_ids": "1,2"}, "source_ids belong to target_ids"),
        ({"target_ids": "1,2", "view": "contrast"}, "use view=heatmap or lines"),
        ({"target_ids": "1,2", "view": "steps"}, "leave out target_ids"),
        ({"text": "a" * 1001}, "exceeds text limit"),
        ({**SCORES, "cell": "1"}, "cell"),
        ({**SCORES, "cell": "9,0"}, "no cell 9,0"),
        ({**SCORES, "cell": "0,0", "stage": "weights"}, "stage=scores"),
        ({**SCORES, "view": "compare"}, "view=compare"),
        ({**SCORES, "view": "lines", "format": "svg"}, "view=lines"),
        ({**SCORES, "kind": "occlusion", "stage": "weights", "format": "bertviz"}, "occlusion"),
        ({**STEPS, "format": "svg"}, "format=json"),
        ({**STEPS, "kind": "encoder"}, "kind=cross"),
        ({**STEPS, "tokens": "word"}, "tokens=subword"),
        ({**STEPS, "specials": "drop"}, "specials=keep"),
        ({**STEPS, "target_text": "Un chien"}, "target_text"),
    ],
)
async def test_wrong_parameters_say_what_is_accepted(client: Client, fields: dict[str, Any], word: str) -> None:
    for answer in (
        await client.get("/attention", params={**TEXT, **fields}),
        await client.post("/attention", json={**TEXT, **fields}),
    ):
        assert answer.status_code == 400
        assert word in answer.json()["error"]


async def test_a_missing_text_and_a_layer_of_the_wrong_type_are_refused(client: Client) -> None:
    answer = await client.post("/attention", json={"source": "en", "target": "fr"})
    assert (answer.status_code, answer.json()["param"]) == (400, "text")
    assert "missing text parameter" in answer.json()["error"]
    for layer in (True, 1.5, [1], {"a": 1}, 10**30):
        assert (await client.post("/attention", json={**TEXT, "layer": layer})).status_code == 400


async def test_a_known_answer_is_not_computed_again(client: Client, registry: DummyRegistry) -> None:
    first = await client.get("/attention", params=TEXT)
    tag = first.headers["etag"]
    assert "must-revalidate" in first.headers["cache-control"]
    second = await client.get("/attention", params=TEXT, headers={"If-None-Match": f'"other", W/{tag}'})
    assert second.status_code == 304
    assert second.content == b""
    assert second.headers["etag"] == tag
    assert len(registry["transformer-en-fr"].calls) == 1


async def test_the_tag_depends_on_model_and_parameters_but_not_on_their_spelling(
    client: Client, registry: DummyRegistry
) -> None:
    async def tag(**more: str) -> str:
        return (await client.get("/attention", params={**TEXT, **more})).headers["etag"]

    plain = await tag()
    assert plain == await tag(kind="cross", layer="align", model="transformer", source="EN")
    changes = {"layer": "0", "target_text": "x", "model": "bahdanau", "beam_size": "1", "tokens": "word"}
    assert len({plain, *[await tag(**{name: value}) for name, value in changes.items()]}) == 6
    info = registry["transformer-en-fr"].info
    object.__setattr__(info, "digest", "sha256:another")
    assert await tag() != plain


async def test_scores_are_beside_the_weights_and_a_cell_has_every_number_of_its_own(client: Client) -> None:
    found = (await client.get("/attention", params=SCORES)).json()
    assert (found["stage"], found["score_function"], found["normalisation"]) == ("scores", "scaled_dot", "softmax")
    np.testing.assert_allclose(np.exp(found["scores"]), found["weights"], atol=1e-5)
    assert "scores" not in (await client.get("/attention", params={**SCORES, "stage": "weights"})).json()
    cell = (await client.get("/attention", params={**SCORES, "cell": "1,2"})).json()["cell"]
    assert (cell["row"], cell["column"], cell["masked"]) == (1, 2, False)
    np.testing.assert_allclose(np.array(cell["query"]) * cell["key"], cell["terms"], atol=1e-5)
    assert sum(cell["terms"]) == pytest.approx(cell["sum"], abs=1e-5)
    assert 0.5 * cell["sum"] == pytest.approx(cell["score"], abs=1e-5)
    assert np.exp(cell["score"]) == pytest.approx(cell["weight"], abs=1e-5)


async def test_files_and_pictures_show_scores(client: Client) -> None:
    rows = list(csv.DictReader(io.StringIO((await client.get("/attention", params={**SCORES, "format": "csv"})).text)))
    assert np.exp(float(rows[0]["score"])) == pytest.approx(float(rows[0]["weight"]), abs=1e-5)
    arrays = np.load(io.BytesIO((await client.get("/attention", params={**SCORES, "format": "npz"})).content))
    np.testing.assert_allclose(arrays["scale"] * arrays["queries"] @ arrays["keys"].T, arrays["scores"], atol=1e-5)
    picture = (await client.get("/attention", params={**SCORES, "format": "vega"})).text
    assert "scores before the softmax" in picture
    assert '"title":"score"' in picture


async def test_steps_have_the_whole_search_beside_the_weights(client: Client) -> None:
    found = (await client.get("/attention", params=STEPS)).json()
    search = found["search"]
    assert (search["beam_size"], search["length_penalty"], search["shortlist"]) == (2, 1.0, False)
    hypotheses = search["hypotheses"]
    beginning = {"parent": None, "step": None, "id": 1, "piece": "<s>", "logprob": 0.0, "total": 0.0, "outcome": "live"}
    likely = [{"id": 10, "piece": "▁A", "logprob": -0.25}, {"id": 8, "piece": "▁other", "logprob": -1.5}]
    assert hypotheses[0] == {**beginning, "next": likely}
    path = [hypotheses[number] for number in search["best"]]
    assert [node["step"] for node in path[1:]] == list(range(len(found["weights"])))
    assert [node["piece"] for node in path[1:]] == [token["piece"] for token in found["target"]["tokens"]]
    assert path[-1]["outcome"] == "finished"
    assert path[-1]["score"] == pytest.approx(-0.25)
    assert "search" not in (await client.get("/attention", params={**STEPS, "view": "heatmap"})).json()
