"""Explanations of shipped models: scores behind the weights, occlusion and the recorded search beside them."""

import asyncio
import itertools

import numpy as np
import pytest

from service.engine.errors import InvalidOption, TooManyWeights
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions

TEXT = "The little dog sleeps in the garden."
pytestmark = pytest.mark.parametrize("shipped", ["transformer-en-fr", "bahdanau-en-fr"], indirect=True, scope="module")


def softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


async def test_the_alignment_head_is_explained_at_the_step_that_aligns(shipped: Translator) -> None:
    plain = await shipped.attention(TEXT, None, AttentionOptions())
    explained = await shipped.attention(TEXT, None, AttentionOptions(stage="scores"))
    assert explained.scores is not None
    assert explained.step == plain.step
    known = ~np.isnan(plain.weights).any(-1)
    scores = explained.scores.scores
    assert (np.isnan(scores).any(-1) == ~known).all()
    np.testing.assert_allclose(softmax(scores[known]), plain.weights[known], atol=1e-5)
    both = await shipped.attention(f"I lost. {TEXT}", None, AttentionOptions(stage="scores"))
    assert both.scores is not None
    rows, columns = scores.shape
    np.testing.assert_allclose(both.scores.scores[-rows:, -columns:], scores, atol=1e-4)
    found = await shipped.attention(TEXT, None, AttentionOptions(layer="all", head="all", stage="scores"))
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
async def test_views_without_scores_are_refused(shipped: Translator, options: AttentionOptions, hint: str) -> None:
    with pytest.raises(InvalidOption, match=hint):
        await shipped.attention(TEXT, None, options)


async def test_a_token_loses_most_without_the_word_that_it_translates(shipped: Translator) -> None:
    options = AttentionOptions(kind="occlusion", tokens="word")
    found = await shipped.attention("The dog sleeps.", "Le chien dort.", options)
    columns, rows = [[token.text for token in side] for side in (found.column_tokens, found.target_tokens)]
    assert columns == ["The", "dog", "sleeps", "."]
    likeliest = found.weights.argmax(axis=1).tolist()
    assert [columns[likeliest[rows.index(word)]] for word in ("chien", "dort")] == ["dog", "sleeps"]
    assert found.weights[rows.index("chien"), columns.index("dog")] > 1
    texts = ("The dog sleeps.", "The dog.")
    whole, without = await shipped.score_batch([(text, "Le chien dort.") for text in texts])
    # The row of a word is the sum over its subwords; all rows together are the whole translation.
    lost = sum(whole.token_logprobs) - sum(without.token_logprobs)
    assert float(found.weights[:, 2].sum()) == pytest.approx(lost, abs=0.05)


async def test_too_many_parts_are_refused(shipped: Translator) -> None:
    with pytest.raises(TooManyWeights, match="64"):
        await shipped.attention("a, " * 70, "a", AttentionOptions(kind="occlusion"))


async def test_the_recorded_search_is_the_one_that_found_the_translation(shipped: Translator) -> None:
    plain = await shipped.attention(TEXT, None, AttentionOptions(layer=0, head=0))
    found = await shipped.attention(TEXT, None, AttentionOptions(layer=0, head=0, trace=True))
    assert (found.target_text, found.score) == (plain.target_text, plain.score)
    assert (found.token_logprobs, found.weights.tobytes()) == (plain.token_logprobs, plain.weights.tobytes())
    assert plain.search is None
    assert found.search is not None
    assert found.step == "produce"
    trace, pieces = found.search.trace, found.search.pieces
    path = [trace.hypotheses[node] for node in trace.best]
    assert [pieces[node.token] for node in path] == ["<s>", *(token.piece for token in found.target_tokens)]
    # The search sees the words of a shortlist only, which makes each a little likelier.
    for node, logprob in zip(path[1:], found.token_logprobs, strict=True):
        assert logprob - 0.05 <= node.logprob <= logprob + 0.5
    for before, node in itertools.pairwise(path):
        assert len(before.following) == 5
        assert sum(np.exp(logprob) for _, logprob in before.following) <= 1.0001
        assert dict(before.following).get(node.token, node.logprob) == pytest.approx(node.logprob, abs=1e-6)


@pytest.mark.parametrize("text", ["I have 12.50 € left.", "SAVE CHANGES…", "Save the file"])
async def test_values_and_short_strings_are_shown_as_the_search_read_them(shipped: Translator, text: str) -> None:
    [own] = await shipped.translate([text])
    found = await shipped.attention(text, None, AttentionOptions(trace=True))
    assert (found.source_text, found.target_text) == (text, own.text)
    assert found.search is not None
    path = found.search.trace.best
    assert found.weights.shape == (len(path) - 1, len(found.source_tokens))


async def test_recorded_and_other_sentences_together_are_the_same_as_alone(shipped: Translator) -> None:
    plain, traced = AttentionOptions(), AttentionOptions(trace=True)
    alone = await shipped.attention(TEXT, None, traced)
    align = shipped.info.attention["align"]
    assert (alone.layer, alone.head, alone.step) == (align["layer"], align["head"], "produce")
    assert not np.isnan(alone.weights).any()
    recorded, one, other, second = await asyncio.gather(
        shipped.attention(TEXT, None, traced),
        *(shipped.attention(text, None, plain) for text in ("The cat sleeps.", "We lost our keys yesterday.")),
        shipped.attention("The cat sleeps.", None, traced),
    )
    assert recorded.search is not None
    assert alone.search is not None
    assert recorded.search.trace == alone.search.trace
    assert one.search is other.search is None
    assert second.search is not None
    assert second.token_logprobs == one.token_logprobs
