"""Explanations of shipped models: scores behind the weights, and occlusion beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from service.bundle.load import load_bundle
from service.engine import open_translator
from service.engine.errors import InvalidOption, TooManyWeights
from service.engine.translator import Translator
from service.engine.types import AttentionOptions, ViewKind

MODELS = Path(__file__).resolve().parents[2] / "models"
TEXT = "The little dog sleeps in the garden."


@pytest.fixture(scope="module", params=["transformer-en-fr", "bahdanau-en-fr"])
def translator(request: pytest.FixtureRequest) -> Iterator[Translator]:
    translator = open_translator(load_bundle(MODELS / request.param))
    asyncio.run(translator.start())
    yield translator
    asyncio.run(translator.stop(1))


def kinds_of(translator: Translator) -> list[ViewKind]:
    return ["cross", "encoder", "decoder"] if translator.name.startswith("transformer") else ["cross"]


async def test_scores_and_softmax_are_the_weights_of_the_same_view(translator: Translator) -> None:
    for kind in kinds_of(translator):
        options = AttentionOptions(kind=kind, layer=0, head=0)
        weights = (await translator.attention(TEXT, None, options)).weights
        explained = await translator.attention(TEXT, None, AttentionOptions(kind, 0, 0, stage="scores"))
        found = explained.scores
        assert found is not None
        raised = np.exp(found.scores - found.scores.max(-1, keepdims=True))
        softmax = raised / raised.sum(-1, keepdims=True)
        np.testing.assert_allclose(softmax, explained.weights, atol=1e-6)
        np.testing.assert_allclose(softmax, weights, atol=1e-5)
        terms = found.terms(2, 1)
        assert terms is not None
        assert found.scale * terms.sum() == pytest.approx(float(found.scores[2, 1]), abs=1e-4)


async def test_the_alignment_head_is_explained_at_the_step_that_aligns(translator: Translator) -> None:
    plain = await translator.attention(TEXT, None, AttentionOptions())
    explained = await translator.attention(TEXT, None, AttentionOptions(stage="scores"))
    assert explained.scores is not None
    assert explained.step == plain.step
    known = ~np.isnan(plain.weights).any(-1)
    scores = explained.scores.scores
    assert (np.isnan(scores).any(-1) == ~known).all()
    raised = np.exp(scores[known] - scores[known].max(-1, keepdims=True))
    np.testing.assert_allclose(raised / raised.sum(-1, keepdims=True), plain.weights[known], atol=1e-5)


async def test_every_head_has_scores(translator: Translator) -> None:
    found = await translator.attention(TEXT, None, AttentionOptions(layer="all", head="all", stage="scores"))
    assert found.scores is not None
    assert found.scores.scores.shape == found.weights.shape
    assert found.scores.queries is None


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (AttentionOptions(layer="mean", head="mean", stage="scores"), "mean"),
        (AttentionOptions(tokens="word", stage="scores"), "subword"),
        (AttentionOptions(kind="occlusion", stage="scores"), "Occlusion"),
    ],
)
async def test_views_without_scores_are_refused(translator: Translator, options: AttentionOptions, hint: str) -> None:
    with pytest.raises(InvalidOption, match=hint):
        await translator.attention(TEXT, None, options)


async def test_a_token_loses_most_without_the_word_that_it_translates(translator: Translator) -> None:
    options = AttentionOptions(kind="occlusion", tokens="word")
    found = await translator.attention("The dog sleeps.", "Le chien dort.", options)
    columns = [token.text for token in found.column_tokens]
    rows = [token.text for token in found.target_tokens]
    assert columns == ["The", "dog", "sleeps", "."]
    lost = found.weights
    assert columns[int(lost[rows.index("chien")].argmax())] == "dog"
    assert columns[int(lost[rows.index("dort")].argmax())] == "sleeps"
    assert lost[rows.index("chien"), columns.index("dog")] > 1


async def test_occlusion_is_the_difference_of_two_scores(translator: Translator) -> None:
    options = AttentionOptions(kind="occlusion", tokens="word")
    found = await translator.attention("The dog sleeps.", "Le chien dort.", options)
    whole, without = await translator.score_batch(
        [("The dog sleeps.", "Le chien dort."), ("The dog.", "Le chien dort.")]
    )
    # The row of a word is the sum over its subwords; all rows together are the whole translation.
    lost = sum(whole.token_logprobs) - sum(without.token_logprobs)
    assert float(found.weights[:, 2].sum()) == pytest.approx(lost, abs=0.05)


async def test_too_many_parts_are_refused(translator: Translator) -> None:
    with pytest.raises(TooManyWeights, match="64"):
        await translator.attention("a, " * 70, "a", AttentionOptions(kind="occlusion"))
