"""GET /attention with stage=scores, cell and kind=occlusion."""

import csv
import io

import numpy as np
import pytest

from tests.support.api_client import Client

ASKED = {"text": "a small dog", "source": "en", "target": "fr", "layer": "0", "head": "0", "stage": "scores"}
STEPS = {"text": "a small dog", "source": "en", "target": "fr", "view": "steps"}


async def test_scores_are_beside_the_weights_and_a_cell_has_every_number_of_its_own(client: Client) -> None:
    found = (await client.get("/attention", params=ASKED)).json()
    assert (found["stage"], found["score_function"], found["normalisation"]) == ("scores", "scaled_dot", "softmax")
    np.testing.assert_allclose(np.exp(found["scores"]), found["weights"], atol=1e-5)
    assert "scores" not in (await client.get("/attention", params={**ASKED, "stage": "weights"})).json()
    cell = (await client.get("/attention", params={**ASKED, "cell": "1,2"})).json()["cell"]
    assert (cell["row"], cell["column"], cell["masked"]) == (1, 2, False)
    np.testing.assert_allclose(np.array(cell["query"]) * cell["key"], cell["terms"], atol=1e-5)
    assert sum(cell["terms"]) == pytest.approx(cell["sum"], abs=1e-5)
    assert 0.5 * cell["sum"] == pytest.approx(cell["score"], abs=1e-5)
    assert np.exp(cell["score"]) == pytest.approx(cell["weight"], abs=1e-5)


async def test_files_and_pictures_show_scores(client: Client) -> None:
    rows = list(csv.DictReader(io.StringIO((await client.get("/attention", params={**ASKED, "format": "csv"})).text)))
    assert np.exp(float(rows[0]["score"])) == pytest.approx(float(rows[0]["weight"]), abs=1e-5)
    arrays = np.load(io.BytesIO((await client.get("/attention", params={**ASKED, "format": "npz"})).content))
    np.testing.assert_allclose(arrays["scale"] * arrays["queries"] @ arrays["keys"].T, arrays["scores"], atol=1e-5)
    picture = (await client.get("/attention", params={**ASKED, "format": "vega"})).text
    assert "scores before the softmax" in picture
    assert '"title":"score"' in picture


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({**ASKED, "cell": "1"}, "cell"),
        ({**ASKED, "cell": "9,0"}, "no cell 9,0"),
        ({**ASKED, "cell": "0,0", "stage": "weights"}, "stage=scores"),
        ({**ASKED, "view": "compare"}, "view=compare"),
        ({**ASKED, "view": "lines", "format": "svg"}, "view=lines"),
        ({**ASKED, "kind": "occlusion", "stage": "weights", "format": "bertviz"}, "occlusion"),
        ({**STEPS, "format": "svg"}, "format=json"),
        ({**STEPS, "kind": "encoder"}, "kind=cross"),
        ({**STEPS, "tokens": "word"}, "tokens=subword"),
        ({**STEPS, "specials": "drop"}, "specials=keep"),
        ({**STEPS, "target_text": "Un chien"}, "target_text"),
    ],
)
async def test_bad_input_is_answered_with_what_is_accepted(client: Client, fields: dict[str, str], hint: str) -> None:
    response = await client.get("/attention", params=fields)
    assert response.status_code == 400
    assert hint in response.json()["error"]


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
