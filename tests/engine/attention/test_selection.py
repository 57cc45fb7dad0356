"""A chosen view has the weights that were asked for and no more; they keep their meaning between words."""

from typing import Any

import numpy as np
import pytest

from service.bundle.manifest import AlignmentHead, AttentionSize, AttentionSpec
from service.engine.attention import alignment
from service.engine.attention.selection import (
    alignment_head_in_result,
    check_size,
    limit_for,
    select_weights,
    selected_scores,
)
from service.engine.errors import InvalidOption, TooManyWeights
from service.engine.jobs import WeightSelection
from service.engine.types import AttentionOptions, Token
from tests.support.fake_worker import forced_result

SIZE = AttentionSize(2, 4)
SPEC = AttentionSpec(cross=SIZE, encoder=SIZE, decoder=None, align=AlignmentHead(1, 0, "consume", 0.1, 9.0, "x"))


def wanted(**options: Any) -> WeightSelection:
    return select_weights(AttentionOptions(**options), SPEC, "toy")


def test_only_the_aligning_head_comes_back_by_default() -> None:
    every = forced_result(5, 7)
    result = selected_scores(every, wanted())
    np.testing.assert_array_equal(result.cross_attention, every.cross_attention[1:, :1])
    assert (result.encoder_attention, result.decoder_attention, result.selected) == (None, None, None)
    assert result.cross_attention.base is None  # nothing keeps the whole alive
    assert (
        alignment_head_in_result(SPEC.align).layer,
        alignment_head_in_result(SPEC.align).head,
        alignment_head_in_result(SPEC.align).step,
    ) == (0, 0, "consume")
    assert selected_scores(every, None) is every


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"kind": "encoder", "layer": "all", "head": "all"}, (2, 4, 5, 5)),
        ({"kind": "encoder"}, (5, 5)),
        ({"kind": "cross", "layer": "all", "head": 2}, (2, 7, 5)),
        ({"kind": "cross", "layer": "align", "head": "mean"}, (7, 5)),
    ],
)
def test_a_view_is_the_weights_that_were_asked_for(options: dict[str, Any], shape: tuple[int, ...]) -> None:
    result = selected_scores(forced_result(5, 7), wanted(**options))
    assert result.selected is not None
    assert result.selected.shape == shape
    assert result.selected.base is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "decoder"}, "no decoder self-attention"),
        ({"layer": 2}, "no layer 2: the model has 2"),
        ({"kind": "encoder", "head": 4}, "no head 4"),
    ],
)
def test_what_the_model_does_not_have_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        wanted(**options)


def test_more_weights_than_one_answer_may_have_are_refused() -> None:
    every = AttentionOptions(kind="encoder", layer="all", head="all")
    check_size(limit_for(every, SPEC, 800, "m"), 10, 20)
    check_size(limit_for(every, SPEC, None, "m"), 1000, 20)
    check_size(limit_for(AttentionOptions(), SPEC, 800, "m"), 20, 40)
    with pytest.raises(TooManyWeights, match=r"968 attention weights \(8 times 11 by 11\); at most 800"):
        check_size(limit_for(every, SPEC, 800, "m"), 11, 20)
    with pytest.raises(InvalidOption, match="bahdanau has no decoder self-attention; kind must be cross or encoder"):
        limit_for(AttentionOptions(kind="decoder"), SPEC, 800, "bahdanau")


def token(text: str, start: int, special: str | None = None) -> Token:
    return Token(9, text, "" if special else text, start, start if special else start + len(text), special)


def test_special_tokens_are_kept_dropped_or_renormalised_and_a_row_with_nothing_left_stays_zero() -> None:
    rows = (token("a", 0), token("b", 1), token("</s>", 2, "</s>"))
    columns = (token("x", 0), token("y", 1), token("</s>", 2, "</s>"))
    weights = np.array([[0.1, 0.3, 0.6], [0.0, 0.0, 1.0], [0.2, 0.2, 0.6]], dtype=np.float32)
    np.testing.assert_array_equal(alignment.limit_specials(weights, rows, columns, "keep"), weights)
    np.testing.assert_array_equal(alignment.limit_specials(weights, rows, columns, "drop"), weights[:2, :2])
    found = alignment.limit_specials(weights, rows, columns, "renormalise")
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.0, 0.0]], rtol=1e-6)
