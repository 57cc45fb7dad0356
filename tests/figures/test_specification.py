"""What a picture shows is what the engine gave, and no text of a user is more than data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from service.engine.errors import InvalidOption
from service.figures.content import Naming, TooLargeToDraw, compare, contrast, one
from service.figures.labels import clean, label
from service.figures.specification import specification
from tests.figures.maps import make_map, side


def records(spec: Any) -> list[dict[str, Any]]:
    """All data of a specification that are weights."""
    if isinstance(spec, dict):
        own = [record for record in spec.get("data", {}).get("values", []) if "w" in record and "n" not in record]
        return own + [found for key, value in spec.items() if key != "data" for found in records(value)]
    return [found for item in spec for found in records(item)] if isinstance(spec, list) else []


@pytest.mark.parametrize("seed", range(100))
def test_the_data_of_a_picture_are_the_numbers_of_the_json(seed: int) -> None:
    words = [f"w{at}" for at in range(1 + seed % 30)]
    found = make_map(words, words[: 1 + seed % 17], seed=seed)
    drawn = np.full(found.weights.shape, np.nan)
    for record in records(specification(one(found))):
        drawn[record["t"], record["s"]] = record["w"]
    np.testing.assert_array_equal(drawn, found.weights.astype(np.float64).round(6))


def test_small_multiples_hold_every_layer_and_head() -> None:
    found = make_map(shape=(2, 3))
    drawn = {(r["layer"], r["head"], r["t"], r["s"]): r["w"] for r in records(specification(one(found)))}
    assert len(drawn) == found.weights.size
    assert drawn["layer 1", "head 2", 4, 5] == pytest.approx(float(found.weights[1, 2, 4, 5]), abs=1e-6)


def test_a_comparison_shows_both_and_the_difference() -> None:
    first, second = make_map(seed=1), make_map(seed=2, model="bahdanau-en-fr")
    charts = specification(compare(first, second))["hconcat"]
    assert [chart["title"]["text"] for chart in charts] == ["transformer-en-fr", "bahdanau-en-fr", "difference"]
    difference = [record["w"] for record in records(charts[2])]
    np.testing.assert_allclose(difference, (first.weights - second.weights).ravel(), atol=1e-6)


def test_models_that_cut_texts_differently_are_not_compared() -> None:
    with pytest.raises(InvalidOption, match="tokens=word"):
        compare(make_map(), make_map(["The", "foxes", "sleep"]))


def test_a_contrast_tells_probability_and_rank_of_every_token() -> None:
    found = make_map(["I"], ["Je"], token_logprobs=(np.log(0.25), np.log(1e-5)), token_ranks=(2, 812))
    text = json.dumps(specification(contrast(found, found, Naming(("said", "expected")))), ensure_ascii=False)
    assert "25%  #2" in text
    assert "1e-05  #812" in text
    assert "said  ·  score -0.31" in text


def test_a_picture_says_what_it_is_of() -> None:
    title = specification(one(make_map(layer=3, head="mean")))["title"]
    told = " ".join([*title["text"], *title["subtitle"]])
    for word in ("fox", "renard", "transformer-en-fr", "sha256:9f86d081884c", "layer 3", "mean of heads", "on </s>"):
        assert word in told


def test_a_picture_names_the_layer_and_head_that_align() -> None:
    figure = one(make_map(), naming=Naming(aligning={"transformer-en-fr": (1, 2)}))
    assert any("layer 1, head 2 (aligning)" in note for note in figure.notes)


def test_a_picture_says_that_its_rows_are_those_of_the_next_step() -> None:
    naming = Naming(aligning={"transformer-en-fr": (1, 2)}, later=frozenset({"transformer-en-fr"}))
    assert any("layer 1, head 2 (aligning, a step later)" in note for note in one(make_map(), naming=naming).notes)


@pytest.mark.parametrize(("tokens", "shape"), [(100, ()), (200, ()), (60, (6, 4))])
def test_what_nobody_could_read_is_refused(tokens: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(TooLargeToDraw, match="too much for one picture"):
        one(make_map(["a"] * tokens, ["b"] * tokens, shape))


def test_sixty_tokens_can_be_drawn() -> None:
    assert one(make_map(["a"] * 60, ["b"] * 60)).cells == 61 * 61


def test_lines_need_one_head() -> None:
    with pytest.raises(InvalidOption, match="one head"):
        one(make_map(shape=(4,)), "lines")


def test_texts_are_in_data_only() -> None:
    hostile = ["');alert(1)//", "datum.w", "<script>", '"', "${x}"]
    spec = specification(one(make_map(hostile, hostile)))

    def expressions(value: Any, inside: bool = False) -> list[str]:
        if isinstance(value, dict):
            return [e for key, item in value.items() if key not in ("value", "values", "text", "description")
                    for e in expressions(item, key in ("calculate", "labelExpr", "test", "expr"))]  # fmt: skip
        if isinstance(value, list):
            return [e for item in value for e in expressions(item, inside)]
        return [str(value)] if inside else []

    assert expressions(spec)
    assert not any(word in expression for expression in expressions(spec) for word in hostile if word != "datum.w")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a\\u0000b"), ("\n", "\\n"), ("\u202eabc", "\\u202eabc"), ("\ud800", "\\ud800"),
        ("\uffff", "\\uffff"), ("a\u00a0b", "a b"), ("日本", "日本"), ("👩\u200d👧", "👩\u200d👧"),
        ("e\u0301", "e\u0301"), ("\u2028", "\\u2028"),
    ],
)  # fmt: skip
def test_labels_show_what_cannot_be_seen(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_label_is_never_empty_and_never_endless() -> None:
    _, (space, long, end) = side([" ", "x" * 500])
    assert label(space) == "␣"
    assert len(label(long)) == 40
    assert label(end) == "</s>"
