"""Attention of a text: every view of it, and what is refused, over a worker without a model."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.engine.errors import EmptyInput, InputTooLong, InvalidOption, TooManyWeights
from service.engine.jobs import AttentionKind
from service.engine.text.tokenizer import Tokenizer
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, TokenKind, TranslationOptions
from tests.support.fake_worker import MirrorWorker, translator_of


async def test_attention_of_the_models_own_translation(translator: Translator) -> None:
    text = " I lost it."
    found = await translator.attention(text, None, AttentionOptions())
    size = len(found.source_tokens)
    assert found.axes == ("target", "source")
    assert found.weights.shape == (size, size)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-3)
    assert found.alignment == tuple((i, i) for i in range(size - 1))
    assert found.target_text == text
    assert all(text[t.start : t.end] == t.text for t in found.source_tokens)
    assert all(found.target_text[t.start : t.end] == t.text for t in found.target_tokens)
    assert found.source_tokens[-1].special == found.target_tokens[-1].special == "</s>"
    assert found.token_ranks == tuple(range(1, size + 1))
    assert (found.model, found.digest) == ("transformer-en-fr", "sha256:0")
    assert found.score == pytest.approx(-0.5)


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
@pytest.mark.parametrize("tokens", ["subword", "word"])
async def test_attention_of_several_sentences_is_that_of_each(
    translator: Translator, kind: AttentionKind, tokens: TokenKind
) -> None:
    options = AttentionOptions(kind, layer="all", head=0, tokens=tokens)
    first, second = " I lost.", "He's calm."
    one, other = [await translator.attention(text, None, options) for text in (first, second)]
    both = await translator.attention(f"{first} {second}", None, options)
    rows, columns = one.weights.shape[1:]
    np.testing.assert_array_equal(both.weights[:, :rows, :columns], one.weights)
    np.testing.assert_array_equal(both.weights[:, rows:, columns:], other.weights)
    assert not both.weights[:, rows:, :columns].any()
    assert not both.weights[:, :rows, columns:].any()
    assert both.token_logprobs == one.token_logprobs + other.token_logprobs
    assert both.target_text == f"{first} {second}"
    assert all(both.target_text[t.start : t.end] == t.text for t in both.target_tokens)
    assert all(both.source_text[t.start : t.end] == t.text for t in both.source_tokens)
    sources, targets = len(one.source_tokens), len(one.target_tokens)
    assert both.alignment == one.alignment + tuple((i + sources, j + targets) for i, j in other.alignment)


async def test_attention_of_a_given_translation(translator: Translator, worker: MirrorWorker) -> None:
    options, deadline = AttentionOptions(layer="all", head="all"), time.monotonic() + 60
    found = await translator.attention("I lost.", "J'ai  perdu", options, deadline=deadline)
    assert [job.deadline for job in worker.forced] == [deadline]
    assert found.target_text == "J'ai  perdu"
    assert "".join(t.text for t in found.target_tokens) == "J'aiperdu"
    assert found.axes == ("layer", "head", "target", "source")
    assert found.weights.shape == (2, 4, len(found.target_tokens), len(found.source_tokens))
    assert not worker.jobs


async def test_attention_between_words(translator: Translator) -> None:
    found = await translator.attention("I lost.", "J'ai perdu.", AttentionOptions(tokens="word"))
    assert [t.text for t in found.source_tokens] == ["I", "lost", ".", ""]
    assert [t.text for t in found.target_tokens] == ["J'", "ai", "perdu", ".", ""]
    assert found.weights.shape == (5, 4)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-3)
    assert len(found.token_logprobs) == len(found.token_ranks) == 5
    assert sum(found.token_logprobs) / len(found.target_tokens) < found.score


EN_FR = "en", "fr"


@pytest.mark.parametrize("tokens", ["subword", "word"])
async def test_the_row_of_a_token_that_no_step_reads_is_not_known(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, tokens: TokenKind
) -> None:
    """Alignments that are read one step later: the last token has no such step."""
    options = AttentionOptions(tokens=tokens)
    assert (await translator.attention("I lost.", None, options)).step == "produce"
    async with translator.model.use(EN_FR) as pair:
        monkeypatch.setitem(translator.model._pairs, EN_FR, replace(pair, align=replace(pair.align, step="consume")))
    found = await translator.attention("I lost.", None, options)
    assert found.step == "consume"
    assert np.isnan(found.weights[-1]).all()
    np.testing.assert_allclose(found.weights[:-1].sum(axis=-1), 1, atol=1e-3)
    left = await translator.attention("I lost.", None, replace(options, specials="drop"))
    assert not np.isnan(left.weights).any()
    cut = replace(options, translation=TranslationOptions(max_length=2))
    assert not np.isnan((await translator.attention("I lost it.", None, cut)).weights).any()
    views: list[tuple[dict[str, Any], str | None]] = [({"kind": "encoder"}, None), ({"kind": "decoder"}, "produce")]
    for changes, step in [*views, ({"layer": 0}, "produce")]:
        assert (await translator.attention("I lost.", None, replace(options, **changes))).step == step


@pytest.mark.parametrize("tokens", ["subword", "word"])
@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
@pytest.mark.parametrize("specials", ["keep", "drop", "renormalise"])
async def test_every_view_has_as_many_rows_and_columns_as_tokens(
    translator: Translator, kind: str, tokens: str, specials: str
) -> None:
    options = AttentionOptions(kind=kind, layer="all", head="mean", tokens=tokens, specials=specials)  # type: ignore[arg-type]
    found = await translator.attention("I lost it.", None, options)
    rows = found.source_tokens if kind == "encoder" else found.target_tokens
    assert found.weights.shape == (2, len(rows), len(found.column_tokens))
    assert len(found.token_logprobs) == len(found.token_ranks) == len(found.target_tokens)
    has_special = any(t.special for t in (*found.source_tokens, *found.target_tokens, *found.column_tokens))
    assert has_special == (specials == "keep")
    if kind == "decoder" and specials == "keep":
        assert found.column_tokens[0].special == "<s>"
    if specials != "drop" and kind != "decoder":
        np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-3)
    assert found.layer == "all"
    cut = replace(options, specials="keep", translation=TranslationOptions(max_length=2))
    found = await translator.attention("I lost it.", None, cut)
    rows = found.source_tokens if kind == "encoder" else found.target_tokens
    assert found.weights.shape == (2, len(rows), len(found.column_tokens))


async def test_attention_refuses_what_it_cannot_show(worker: MirrorWorker) -> None:
    translator = translator_of(worker, limit=24)
    refused: list[tuple[str, str | None, AttentionOptions, type[Exception], str]] = [
        (" \n", None, AttentionOptions(), EmptyInput, "text is empty"),
        ("I", "", AttentionOptions(), EmptyInput, "target_text is empty"),
        ("x " * 20, None, AttentionOptions(), InputTooLong, r"text has 4\d tokens .* at most 24"),
        ("I", "x " * 20, AttentionOptions(), InputTooLong, "target_text has"),
        ("I", "I", AttentionOptions(layer=9), InvalidOption, "no layer 9"),
    ]
    for text, target, options, error, message in refused:
        with pytest.raises(error, match=message):
            await translator.attention(text, target, options)
    worker.has_self_attention = False
    with pytest.raises(InvalidOption, match="no encoder self-attention"):
        await translator.attention("I", "I", AttentionOptions(kind="encoder", layer="mean", head="mean"))


async def test_a_text_far_too_long_for_attention_is_refused_without_being_tokenised(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputTooLong, match="tokens with its end token"):
        await translator.attention("a " * 300, None, AttentionOptions())
    assert (await translator.attention(" " * 100_000 + "Go.", None, AttentionOptions())).source_tokens
    monkeypatch.setattr(Tokenizer, "encode", None)
    for text in ("e\u0301" * 50_000, "a" * 100_000):
        with pytest.raises(InputTooLong, match="more than 256 tokens"):
            await translator.attention(text, None, AttentionOptions())


async def test_attention_beyond_the_limit_is_refused_before_it_is_computed(
    translator: Translator, worker: MirrorWorker
) -> None:
    every = AttentionOptions(layer="all", head="all")
    found = await translator.attention("I lost.", None, every)
    tokens, weights = len(found.source_tokens), found.weights.size
    await translator.attention("I lost.", None, every, most_weights=weights)
    scored = len(worker.forced)
    for target in (None, "I lost."):
        with pytest.raises(TooManyWeights):
            await translator.attention("I lost.", target, every, most_weights=weights - 1)
    assert len(worker.forced) == scored
    decoded = len(worker.jobs)
    with pytest.raises(TooManyWeights):
        await translator.attention("I lost.", None, replace(every, kind="encoder"), most_weights=tokens)
    assert len(worker.jobs) == decoded
    await translator.attention("I lost.", None, AttentionOptions(), most_weights=tokens * tokens)


async def test_given_pairs_are_scored_with_their_word_alignment(translator: Translator) -> None:
    [score, other] = await translator.score_batch([("I lost .", "J'ai  perdu ."), ("Go.", "Va !")], 0.0)
    assert score.score == pytest.approx(-0.5 * len(score.token_logprobs))
    assert [target for _, target in score.word_alignment] == [0, 1, 2, 3]
    assert [target for _, target in other.word_alignment] == [0, 1]
    assert (score.source_words, score.target_words) == (("I", "lost", "."), ("J'", "ai", "perdu", "."))
