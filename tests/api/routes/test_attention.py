"""GET and POST /attention."""

from typing import Any

import pytest

from service.engine.types import AttentionOptions, TranslationOptions
from tests.support.api_client import Client
from tests.support.fake_engine import DummyRegistry

TEXT = {"text": "I lost.", "source": "en", "target": "fr"}


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
    for kind in ("encoder", "decoder"):
        body = (await client.get("/attention", params={**TEXT, "kind": kind})).json()
        assert (body["kind"], body["layer"], body["head"]) == (kind, "mean", "mean")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"text": ""}, "text is empty"),
        ({"source": ""}, "missing source parameter"),
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
