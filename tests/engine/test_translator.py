"""Texts come back whole: sentences translated, everything else as it was, all of it located; callers may leave."""

import asyncio
import time
from dataclasses import replace

import numpy as np
import pytest

from service.bundle.manifest import LARGE_PARAMETERS
from service.engine.cache.results import ResultCache
from service.engine.cache.worker import CachedWorker
from service.engine.errors import (
    DeadlineExceeded,
    EmptyInput,
    InputTooLong,
    InvalidOption,
    InvalidText,
    Overloaded,
    TooManyWeights,
)
from service.engine.events import ignore_event
from service.engine.jobs import AttentionKind
from service.engine.model_info import WorkerState
from service.engine.text.tokenizer import Tokenizer
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, TokenKind, TranslationOptions
from tests.support.fake_worker import MirrorWorker
from tests.support.translators import translator_of

DETAILS = TranslationOptions(details=True)
TEXT = "\n  I lost.   He's calm! 😀\r\n\r\n- Ete\u0301, 中.\t12:30 \u00a0"


@pytest.fixture
def worker() -> MirrorWorker:
    return MirrorWorker()


@pytest.fixture
def translator(worker: MirrorWorker) -> Translator:
    return translator_of(worker)


async def test_sentences_are_translated_and_all_else_is_kept(translator: Translator, worker: MirrorWorker) -> None:
    [translation] = await translator.translate([TEXT])
    assert translation.text == TEXT.replace("e\u0301", "é")
    assert len(worker.jobs) == 3
    assert translation.sentences == ()


async def test_many_texts_come_back_in_order(translator: Translator, worker: MirrorWorker) -> None:
    texts = ["I lost.", "", "😀 \n", "He's calm. Go.", "12:30"]
    assert [t.text for t in await translator.translate(texts)] == texts
    assert len(worker.jobs) == 3


async def test_a_text_can_be_kept_in_one_piece(translator: Translator, worker: MirrorWorker) -> None:
    await translator.translate(["I lost. He's calm."], split=False)
    assert len(worker.jobs) == 1


async def test_details_point_into_both_texts(translator: Translator) -> None:
    [translation] = await translator.translate([TEXT], DETAILS)
    assert [sentence.source_text for sentence in translation.sentences] == ["I lost.", "He's calm!", "Ete\u0301, 中."]
    for sentence in translation.sentences:
        end = sentence.source_start + len(sentence.source_text)
        assert TEXT[sentence.source_start : end] == sentence.source_text
        end = sentence.target_start + len(sentence.target_text)
        assert translation.text[sentence.target_start : end] == sentence.target_text
        assert all(TEXT[t.start : t.end] == t.text for t in sentence.source_tokens)
        assert all(translation.text[t.start : t.end] == t.text for t in sentence.target_tokens)
        size = len(sentence.target_tokens)
        assert sentence.alignment == tuple((i, i) for i in range(size - 1))
        assert sentence.token_logprobs == (-0.5,) * size
        assert sentence.score == pytest.approx(-0.5)
        assert sentence.finish_reason == "eos"
    assert translation.sentences[2].word_alignment == ((0, 0), (1, 1))


async def test_a_translation_that_was_cut_off_has_details_without_an_end(translator: Translator) -> None:
    [translation] = await translator.translate(["I lost. "], TranslationOptions(max_length=1, details=True))
    [sentence] = translation.sentences
    assert sentence.finish_reason == "length"
    assert len(sentence.target_tokens) == len(sentence.token_logprobs) == 1
    assert sentence.target_tokens[0].special is None
    assert sentence.alignment == ((0, 0),)


async def test_alternatives_are_other_texts_best_first(translator: Translator, worker: MirrorWorker) -> None:
    [translation] = await translator.translate(["I lost. Go."], TranslationOptions(beam_size=2, alternatives=3))
    assert worker.jobs[0].search.beam_size == 4
    assert translation.alternatives[0] == "I lost Go"
    assert translation.text not in translation.alternatives
    assert len(set(translation.alternatives)) == len(translation.alternatives) <= 3


async def test_long_sentences_are_wrapped_and_lose_nothing(worker: MirrorWorker) -> None:
    text = "The cat sat, and the dog ran; " * 40 + "中" * 300 + " done."
    translated = (await translator_of(worker, limit=24).translate([text]))[0].text
    assert translated.replace(" ", "") == text.replace(" ", "")
    assert max(len(job.source_ids) for job in worker.jobs) <= 24


async def test_a_word_that_no_model_takes_stays_as_it_is(worker: MirrorWorker) -> None:
    text = f"The key is {'x' * 20_000}, and it works. {'y' * 300}"
    translator = translator_of(worker, limit=24)
    assert (await translator.translate([text]))[0].text == text
    assert len(worker.jobs) == 2


async def test_characters_that_a_tiny_model_does_not_take_stay_as_they_are(worker: MirrorWorker) -> None:
    assert (await translator_of(worker, limit=4).translate(["中文 I"]))[0].text == "中文 I"


async def test_sentences_are_wrapped_earlier_where_that_is_asked_for(worker: MirrorWorker) -> None:
    text = "the cat and the dog and the cat and the dog and the cat and the dog"
    assert (await translator_of(worker, wrap_tokens=16).translate([text]))[0].text == text
    assert len(worker.jobs) > 1


async def test_twenty_thousand_characters_leave_the_loop_free(translator: Translator) -> None:
    text = "The cat sat on the mat, and it was happy. " * 476
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began)

    watcher = asyncio.create_task(watch())
    [translation] = await translator.translate([text])
    watcher.cancel()
    assert translation.text == text
    assert longest < 0.5


@pytest.mark.parametrize(
    "options",
    [
        TranslationOptions(beam_size=0),
        TranslationOptions(beam_size=9),
        TranslationOptions(length_penalty=-1),
        TranslationOptions(length_penalty=5.1),
        TranslationOptions(length_penalty=float("nan")),
        TranslationOptions(max_length=0),
        TranslationOptions(min_length=-1),
        TranslationOptions(min_length=5, max_length=5),
        TranslationOptions(alternatives=8),
    ],
)
async def test_options_out_of_range_are_refused(translator: Translator, options: TranslationOptions) -> None:
    with pytest.raises(InvalidOption):
        await translator.translate(["I lost."], options)


async def test_lengths_stay_within_the_model(worker: MirrorWorker) -> None:
    translator = translator_of(worker, limit=24)
    await translator.translate(["Go."], TranslationOptions(max_length=10_000, min_length=9_000))
    await translator.translate(["Go."])
    assert worker.jobs[0].search.max_length == 23
    assert worker.jobs[0].search.min_length == 22
    assert worker.jobs[1].search.max_length <= 3 * len(worker.jobs[1].source_ids) + 10


async def test_text_that_is_no_text_is_refused(translator: Translator) -> None:
    with pytest.raises(InvalidText):
        await translator.translate(["a \ud800 b"])
    with pytest.raises(InvalidText):
        await translator.translate(["\ud800"])


async def test_a_full_queue_refuses(translator: Translator, worker: MirrorWorker) -> None:
    worker.error = Overloaded("full", 3.0)
    with pytest.raises(Overloaded):
        await translator.translate(["I lost."])


async def test_a_full_queue_is_no_reason_to_refuse_what_the_cache_knows(worker: MirrorWorker) -> None:
    translator = translator_of(CachedWorker(worker, ResultCache(1 << 20), "scope", "model", ignore_event))
    await translator.start()
    first = await translator.translate(["I lost. He's calm."])
    worker.error = Overloaded("full", 3.0)
    assert await translator.translate(["I lost. He's calm."]) == first
    with pytest.raises(Overloaded):
        await translator.translate(["I lost. Go."])


async def test_leaving_gives_all_sentences_up(translator: Translator, worker: MirrorWorker) -> None:
    worker.held = True
    task = asyncio.create_task(translator.translate(["I lost. He's calm.", "Go."]))
    while len(worker.futures) < 3:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(future.cancelled() for future in worker.futures)


async def test_one_failed_sentence_gives_the_others_up(translator: Translator, worker: MirrorWorker) -> None:
    worker.held = True
    task = asyncio.create_task(translator.translate(["I lost. He's calm. Go."]))
    while len(worker.futures) < 3:
        await asyncio.sleep(0)
    worker.futures[1].set_exception(DeadlineExceeded("late"))
    with pytest.raises(DeadlineExceeded):
        await task
    assert worker.futures[0].cancelled()
    assert worker.futures[2].cancelled()


async def test_a_deadline_ends_the_wait_even_for_a_worker_that_hangs(
    translator: Translator, worker: MirrorWorker
) -> None:
    worker.held = True
    with pytest.raises(DeadlineExceeded):
        await translator.translate(["I lost."], deadline=time.monotonic() + 0.05)
    assert worker.futures[0].cancelled()
    assert worker.jobs[0].deadline is not None


async def test_it_is_ready_once_warm_and_not_when_its_worker_hangs_or_stops(
    translator: Translator, worker: MirrorWorker
) -> None:
    assert not translator.ready
    await translator.start()
    assert (translator.ready, translator.dead) == (True, False)
    assert {job.search.beam_size for job in worker.jobs} == {1, 4}
    assert worker.forced
    worker.heartbeat -= 3600
    assert (translator.ready, translator.dead) == (False, False)
    worker.heartbeat += 3600
    worker.state = WorkerState.DEAD
    assert (translator.ready, translator.dead) == (False, True)
    await translator.stop(1.5)
    assert worker.stopped_with == 1.5


async def test_a_large_model_is_warm_without_a_scoring_run(translator: Translator, worker: MirrorWorker) -> None:
    manifest = translator._pair.manifest
    card = {**manifest.card, "parameters": LARGE_PARAMETERS + 1}
    translator._pair = replace(translator._pair, manifest=replace(manifest, card=card))
    await translator.start()
    assert translator.ready
    assert worker.jobs
    assert not worker.forced


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
    tokens = len((await translator.attention("I lost.", None, every)).source_tokens)
    weights = tokens * tokens * (await translator.attention("I lost.", None, every)).weights.shape[0] * 4
    await translator.attention("I lost.", None, every, most_weights=weights)
    asked = len(worker.forced)
    for target in (None, "I lost."):
        with pytest.raises(TooManyWeights):
            await translator.attention("I lost.", target, every, most_weights=weights - 1)
    assert len(worker.forced) == asked
    decoded = len(worker.jobs)
    with pytest.raises(TooManyWeights):
        await translator.attention("I lost.", None, replace(every, kind="encoder"), most_weights=tokens)
    assert len(worker.jobs) == decoded
    await translator.attention("I lost.", None, AttentionOptions(), most_weights=tokens * tokens)


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
    found = await translator.attention("I lost.", "J'ai  perdu", AttentionOptions(layer="all", head="all"))
    assert found.target_text == "J'ai  perdu"
    assert "".join(t.text for t in found.target_tokens) == "J'aiperdu"
    assert found.axes == ("layer", "head", "target", "source")
    assert found.weights.shape == (2, 4, len(found.target_tokens), len(found.source_tokens))
    assert not worker.jobs


async def test_attention_between_words(translator: Translator) -> None:
    found = await translator.attention("I lost.", "J'ai perdu.", AttentionOptions(tokens="word"))
    assert [t.text for t in found.source_tokens] == ["I", "lost", ".", ""]
    assert [t.text for t in found.target_tokens] == ["J'ai", "perdu", ".", ""]
    assert found.weights.shape == (4, 4)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-3)
    assert len(found.token_logprobs) == len(found.token_ranks) == 4
    assert sum(found.token_logprobs) / len(found.target_tokens) < found.score


@pytest.mark.parametrize("tokens", ["subword", "word"])
async def test_the_row_of_a_token_that_no_step_reads_is_not_known(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, tokens: str
) -> None:
    """Alignments that are read one step later: the last token has no such step."""
    options = AttentionOptions(tokens=tokens)  # type: ignore[arg-type]
    assert (await translator.attention("I lost.", None, options)).step == "produce"
    pair = translator._pair
    monkeypatch.setattr(translator, "_pair", replace(pair, align=replace(pair.align, step="consume")))
    found = await translator.attention("I lost.", None, options)
    assert found.step == "consume"
    assert np.isnan(found.weights[-1]).all()
    np.testing.assert_allclose(found.weights[:-1].sum(axis=-1), 1, atol=1e-3)
    left = await translator.attention("I lost.", None, replace(options, specials="drop"))
    assert not np.isnan(left.weights).any()
    cut = replace(options, translation=TranslationOptions(max_length=2))
    assert not np.isnan((await translator.attention("I lost it.", None, cut)).weights).any()
    for kind, step in (("encoder", None), ("decoder", "produce")):
        assert (await translator.attention("I lost.", None, replace(options, kind=kind))).step == step  # type: ignore[arg-type]
    assert (await translator.attention("I lost.", None, replace(options, layer=0))).step == "produce"


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


async def test_a_cut_off_translation_has_attention_for_its_own_tokens_only(translator: Translator) -> None:
    options = AttentionOptions(translation=TranslationOptions(max_length=2))
    kinds: tuple[AttentionKind, ...] = ("cross", "decoder")
    for kind in kinds:
        found = await translator.attention("I lost it.", None, replace(options, kind=kind))
        assert found.weights.shape == (2, len(found.column_tokens))


async def test_attention_refuses_what_it_cannot_show(worker: MirrorWorker) -> None:
    translator = translator_of(worker, limit=24)
    with pytest.raises(EmptyInput, match="text is empty"):
        await translator.attention(" \n", None, AttentionOptions())
    with pytest.raises(EmptyInput, match="target_text is empty"):
        await translator.attention("I", "", AttentionOptions())
    with pytest.raises(InputTooLong, match=r"text has 4\d tokens .* at most 24"):
        await translator.attention("x " * 20, None, AttentionOptions())
    with pytest.raises(InputTooLong, match="target_text has"):
        await translator.attention("I", "x " * 20, AttentionOptions())
    with pytest.raises(InvalidOption, match="no layer 9"):
        await translator.attention("I", "I", AttentionOptions(layer=9))
    worker.has_self_attention = False
    with pytest.raises(InvalidOption, match="no encoder self-attention"):
        await translator.attention("I", "I", AttentionOptions(kind="encoder", layer="mean", head="mean"))


async def test_given_pairs_are_scored_with_their_word_alignment(translator: Translator) -> None:
    [score, other] = await translator.score_batch([("I lost .", "J'ai  perdu ."), ("Go.", "Va !")], 0.0)
    assert score.score == pytest.approx(-0.5 * len(score.token_logprobs))
    assert [target for _, target in score.word_alignment] == [0, 1, 2]
    assert [target for _, target in other.word_alignment] == [0, 1]


async def test_a_full_server_refuses_before_it_works_on_the_text(translator: Translator, worker: MirrorWorker) -> None:
    worker.error = Overloaded("full", 3.0)
    begun = time.process_time()
    for _ in range(50):
        with pytest.raises(Overloaded):
            await translator.translate(["The cat sat on the mat. " * 4000])
        with pytest.raises(Overloaded):
            await translator.attention("The cat sat. " * 4000, None, AttentionOptions())
        with pytest.raises(Overloaded):
            await anext(translator.stream("The cat sat on the mat. " * 4000))
    assert time.process_time() - begun < 1.0  # cutting one of these texts alone takes a tenth of that
