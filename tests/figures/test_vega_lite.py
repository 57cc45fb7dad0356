"""A picture shows what the engine gave, and texts of users are only data in it."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.engine.errors import InvalidOption
from service.engine.types import AttentionMap, Token
from service.figures.figure import TooLargeToDraw, compare, contrast, single_figure
from service.figures.labels import clean, label, labels
from service.figures.panels import Naming
from service.figures.vega_lite import percent, specification
from tests.figures.maps import make_map, side


def records(spec: Any) -> list[dict[str, Any]]:
    """All data of a specification that are weights."""
    if isinstance(spec, dict):
        own = [record for record in spec.get("data", {}).get("values", []) if "w" in record and "n" not in record]
        return own + [found for key, value in spec.items() if key != "data" for found in records(value)]
    return [found for item in spec for found in records(item)] if isinstance(spec, list) else []


def test_small_multiples_hold_every_layer_and_head() -> None:
    found = make_map(shape=(2, 3))
    drawn = {(r["layer"], r["head"], r["t"], r["s"]): r["w"] for r in records(specification(single_figure(found)))}
    assert len(drawn) == found.weights.size
    assert drawn["layer 2", "head 3", 4, 5] == pytest.approx(float(found.weights[1, 2, 4, 5]), abs=1e-6)


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
    assert "0.001%  #812" in text
    assert "said  ·  score -0.31" in text


def test_a_picture_says_what_it_is_of() -> None:
    title = specification(single_figure(make_map(layer=3, head="mean")))["title"]
    told = " ".join([*title["text"], *title["subtitle"]])
    for word in ("fox", "renard", "transformer-en-fr", "sha256:9f86d081884c", "layer 4", "mean of heads", "on </s>"):
        assert word in told


@pytest.mark.parametrize(
    ("step", "note"),
    [("produce", "alignment head)"), ("consume", "alignment head, read one step later)")],
)
def test_a_picture_names_the_layer_and_head_that_align(step: str, note: str) -> None:
    notes = single_figure(make_map(step=step), naming=Naming(aligning={"transformer-en-fr": (1, 2)})).notes
    assert any(f"layer 2, head 3 ({note}" in each for each in notes)


def unread(seed: int = 0, **more: Any) -> AttentionMap:
    """Return a map whose rows belong to the step that reads a token; the last token has no such step."""
    found = make_map(seed=seed, step="consume", **more)
    weights = found.weights.copy()
    weights[-1] = np.nan
    return replace(found, weights=weights)


def outlined(spec: Any) -> set[tuple[int, int]]:
    """Return the cells with a dashed outline."""
    layers = [layer for layer in spec["layer"] if "strokeDash" in layer["mark"]]
    return {(record["t"], record["s"]) for layer in layers for record in layer["data"]["values"]}


def test_a_row_that_nothing_is_known_of_is_drawn_as_unknown() -> None:
    found = unread()
    figure = single_figure(found)
    spec = specification(figure)
    rows, columns = found.weights.shape
    assert outlined(spec) == {(rows - 1, column) for column in range(columns)}
    assert {record["t"] for record in records(spec)} == set(range(rows - 1))
    assert any("dashed: not known" in note for note in figure.notes)
    assert "NaN" not in json.dumps(spec)
    lines = records(specification(single_figure(found, "lines")))
    assert {record["t"] for record in lines} <= set(range(rows - 1))


def test_a_difference_of_what_is_not_known_is_not_known() -> None:
    """One model is read a step later than the other: its end token has no row to compare."""
    first, second = unread(seed=1), make_map(seed=2, model="bahdanau-en-fr")
    charts = specification(compare(first, second))["hconcat"]
    last = first.weights.shape[0] - 1
    assert [len(outlined(chart)) > 0 for chart in charts] == [True, False, True]
    assert last not in {record["t"] for record in records(charts[2])}


def test_a_map_of_which_nothing_is_known_is_drawn_all_the_same() -> None:
    found = make_map(["I"], [], step="consume")
    spec = specification(single_figure(replace(found, weights=np.full_like(found.weights, np.nan))))
    assert records(spec) == []
    assert len(outlined(spec)) == 2


@pytest.mark.parametrize(
    ("chance", "shown"),
    [(1.0, "100%"), (0.254, "25%"), (0.0099, "1%"), (0.0044, "0.4%"), (1e-5, "0.001%"), (1e-6, "<0.001%")],
)  # fmt: skip
def test_small_probabilities_are_plain_decimals(chance: float, shown: str) -> None:
    assert percent(chance) == shown


def test_bytes_of_one_character_are_numbered() -> None:
    dog = tuple(Token(at, f"<0x{at}>", "🐶", 2, 3) for at in range(4))
    found = labels((Token(9, "▁I", "I", 0, 1), *dog, Token(2, "</s>", "", 3, 3, "</s>"), Token(3, "▁", "", 3, 3)))
    assert found == ("I", "🐶 1/4", "🐶 2/4", "🐶 3/4", "🐶 4/4", "</s>", "▁")


@pytest.mark.parametrize(("tokens", "shape"), [(200, ()), (60, (6, 4))])
def test_what_nobody_could_read_is_refused(tokens: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(TooLargeToDraw, match="too much for one picture"):
        single_figure(make_map(["a"] * tokens, ["b"] * tokens, shape))
    with pytest.raises(InvalidOption, match="one head"):
        single_figure(make_map(shape=(4,)), "lines")
    assert single_figure(make_map(["a"] * 60, ["b"] * 60)).cells == 61 * 61


def test_texts_are_in_data_only() -> None:
    hostile = ["');alert(1)//", "datum.w", "<script>", '"', "${x}"]
    spec = specification(single_figure(make_map(hostile, hostile)))

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
