"""Explanations of shipped models: scores behind the weights, and occlusion beside them."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from service.bundle.load import load_bundle
from service.engine import open_translator
from service.engine.errors import InvalidOption, TooManyWeights
from service.engine.translation.translator import Translator
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


async def test_the_recorded_search_is_the_one_that_found_the_translation(translator: Translator) -> None:
    plain = await translator.attention(TEXT, None, AttentionOptions(layer=0, head=0))
    found = await translator.attention(TEXT, None, AttentionOptions(layer=0, head=0, trace=True))
    assert (found.target_text, found.score) == (plain.target_text, plain.score)
    assert (found.token_logprobs, found.weights.tobytes()) == (plain.token_logprobs, plain.weights.tobytes())
    assert plain.search is None
    assert found.search is not None
    trace, pieces = found.search.trace, found.search.pieces
    path = [trace.hypotheses[node] for node in trace.best]
    assert [pieces[node.token] for node in path] == ["<s>", *(token.piece for token in found.target_tokens)]
    # The search sees the words of a shortlist only, which makes each a little likelier.
    for node, logprob in zip(path[1:], found.token_logprobs, strict=True):
        assert logprob - 0.05 <= node.logprob <= logprob + 0.5
    for before, node in itertools.pairwise(path):
        assert len(before.following) == 5
        assert sum(np.exp(logprob) for _, logprob in before.following) <= 1.0001
        likeliest = dict(before.following)
        assert node.logprob == pytest.approx(likeliest[node.token], abs=1e-6) if node.token in likeliest else True


async def test_the_aligning_head_is_shown_at_the_step_itself(translator: Translator) -> None:
    found = await translator.attention(TEXT, None, AttentionOptions(trace=True))
    align = translator.info.attention["align"]
    assert (found.layer, found.head, found.step) == (align["layer"], align["head"], "produce")
    assert not np.isnan(found.weights).any()


@pytest.mark.parametrize("text", ["I have 12.50 € left.", "SAVE CHANGES…", "Save the file"])
async def test_values_and_short_strings_are_shown_as_the_search_read_them(translator: Translator, text: str) -> None:
    [own] = await translator.translate([text])
    found = await translator.attention(text, None, AttentionOptions(trace=True))
    assert (found.source_text, found.target_text) == (text, own.text)
    assert found.search is not None
    path = found.search.trace.best
    assert found.weights.shape == (len(path) - 1, len(found.source_tokens))


async def test_recorded_and_other_sentences_together_are_the_same_as_alone(translator: Translator) -> None:
    options, traced = AttentionOptions(), AttentionOptions(trace=True)
    alone = await translator.attention(TEXT, None, traced)
    together = await asyncio.gather(
        translator.attention(TEXT, None, traced),
        *(translator.attention(text, None, options) for text in ("The cat sleeps.", "We lost our keys yesterday.")),
        translator.attention("The cat sleeps.", None, traced),
    )
    assert alone.search is not None
    assert together[0].search is not None
    assert together[0].search.trace == alone.search.trace
    assert together[1].search is together[2].search is None
    assert together[3].search is not None
    assert together[3].token_logprobs == together[1].token_logprobs
