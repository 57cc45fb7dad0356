"""Texts come back whole: sentences translated, everything else as it was, all of it located; callers may leave."""

import asyncio
import time

import pytest

from service.engine.cache import CachedWorker, ResultCache
from service.engine.errors import DeadlineExceeded, InvalidOption, InvalidText, Overloaded
from service.engine.events import ignore_event
from service.engine.jobs import Hypothesis, SentenceJob
from service.engine.model_info import WorkerState
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, TranslationOptions
from tests.support import fake_worker
from tests.support.fake_worker import MirrorWorker, mirrored, translator_of
from tests.support.vocabulary import small_tokenizer

TEXT = "\n  I lost.   He's calm! 😀\r\n\r\n- Ete\u0301, 中.\t12:30 \u00a0"


async def test_sentences_are_translated_in_order_and_all_else_is_kept(
    translator: Translator, worker: MirrorWorker
) -> None:
    texts = [TEXT, "", "😀 \n", "He's calm. Go.", "12:30"]
    translations = await translator.translate(texts)
    assert [each.text for each in translations] == [TEXT.replace("e\u0301", "é"), *texts[1:]]
    assert len(worker.jobs) == 5
    assert translations[0].sentences == ()
    await translator.translate(["I lost. He's calm."], split=False)
    assert len(worker.jobs) == 6


async def test_details_point_into_both_texts(translator: Translator) -> None:
    [translation] = await translator.translate([TEXT], TranslationOptions(details=True))
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
    assert translation.sentences[2].source_words == ("Ete\u0301", ",", "中", ".")
    assert translation.sentences[2].word_alignment == ((0, 0), (1, 1), (2, 2), (3, 3))


async def test_a_sentence_over_several_lines_is_one_and_keeps_its_line_breaks(translator: Translator) -> None:
    text = "I never\r\nlost, he's\ncalm. Go."
    [translation] = await translator.translate([text], TranslationOptions(details=True))
    assert translation.text == text
    assert [sentence.source_text for sentence in translation.sentences] == ["I never\r\nlost, he's\ncalm.", "Go."]
    for sentence in translation.sentences:
        end = sentence.target_start + len(sentence.target_text)
        assert translation.text[sentence.target_start : end] == sentence.target_text
        assert all(translation.text[t.start : t.end] == t.text for t in sentence.target_tokens)


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
    worker.jobs.clear()
    text = "the cat and the dog and the cat and the dog and the cat and the dog"
    assert (await translator_of(worker, wrap_tokens=16).translate([text]))[0].text == text
    assert len(worker.jobs) > 1


async def test_what_no_model_takes_stays_as_it_is(worker: MirrorWorker) -> None:
    text = f"The key is {'x' * 20_000}, and it works. {'y' * 300}"
    assert (await translator_of(worker, limit=24).translate([text]))[0].text == text
    assert len(worker.jobs) == 2
    assert (await translator_of(worker, limit=4).translate(["中文 I"]))[0].text == "中文 I"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("beam_size", 0), ("beam_size", 9), ("alternatives", 8), ("max_length", 0), ("target_prefix", "I " * 20)),
        *(("length_penalty", -1), ("length_penalty", 5.1), ("length_penalty", float("nan"))),
    ],
)
async def test_options_out_of_range_are_refused(translator: Translator, option: str, value: object) -> None:
    with pytest.raises(InvalidOption, match=option):
        await translator.translate(["I lost."], TranslationOptions(**{option: value}))  # type: ignore[arg-type]


async def test_a_beginning_longer_than_any_translation_is_not_read(translator: Translator) -> None:
    with pytest.raises(InvalidOption, match="20000 characters"):
        await translator.translate(["I lost."], TranslationOptions(target_prefix="I " * 10_000))


async def test_lengths_stay_within_the_model(worker: MirrorWorker) -> None:
    translator = translator_of(worker, limit=24)
    await translator.translate(["Go."], TranslationOptions(max_length=10_000))
    await translator.translate(["Go."])
    assert worker.jobs[0].search.max_length <= 24
    assert worker.jobs[1].search.max_length <= 3 * len(worker.jobs[1].source_ids) + 10


@pytest.mark.parametrize("text", ["a \ud800 b", "\ud800"])
async def test_text_that_is_no_text_is_refused(translator: Translator, text: str) -> None:
    with pytest.raises(InvalidText):
        await translator.translate([text])


async def test_a_full_queue_refuses_all_but_what_the_cache_knows(worker: MirrorWorker) -> None:
    translator = translator_of(CachedWorker(worker, ResultCache(1 << 20), "scope", "model", ignore_event))
    await translator.model.start()
    first = await translator.translate(["I lost. He's calm."])
    worker.error = Overloaded("full", 3.0)
    assert await translator.translate(["I lost. He's calm."]) == first
    with pytest.raises(Overloaded):
        await translator.translate(["I lost. Go."])


async def test_a_full_server_refuses_before_it_works_on_the_text(translator: Translator, worker: MirrorWorker) -> None:
    worker.error = Overloaded("full", 3.0)
    begun = time.process_time()
    for _ in range(50):
        with pytest.raises(Overloaded):
            await translator.translate(["The cat sat on the mat. " * 4000])
        with pytest.raises(Overloaded):
            await translator.attention("The cat sat. " * 4000, None, AttentionOptions())
    assert time.process_time() - begun < 1.0  # cutting one of these texts alone takes a tenth of that


@pytest.mark.parametrize("failed", [False, True])
async def test_leaving_or_one_failed_sentence_gives_all_sentences_up(
    translator: Translator, worker: MirrorWorker, failed: bool
) -> None:
    worker.held = True
    task = asyncio.create_task(translator.translate(["I lost. He's calm.", "Go."]))
    while len(worker.futures) < 3:
        await asyncio.sleep(0)
    first, second, third = worker.futures
    if failed:
        second.set_exception(DeadlineExceeded("late"))
    else:
        task.cancel()
    with pytest.raises(DeadlineExceeded if failed else asyncio.CancelledError):
        await task
    assert first.cancelled()
    assert third.cancelled()
    assert second.cancelled() is not failed


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
    assert not translator.model.ready
    await translator.model.start()
    assert (translator.model.ready, translator.model.dead) == (True, False)
    assert {job.search.beam_size for job in worker.jobs} == {1, 4}
    assert not worker.forced  # its graph takes memory that a server that only translates saves
    worker.heartbeat -= 3600
    assert (translator.model.ready, translator.model.dead) == (False, False)
    worker.heartbeat += 3600
    worker.state = WorkerState.DEAD
    assert (translator.model.ready, translator.model.dead) == (False, True)
    await translator.model.stop(1.5)
    assert worker.stopped_with == 1.5


@pytest.mark.parametrize("text", ["I lost. He's calm.", "He's calm.", "Calm", "I lost at 12:30, he's calm. Go."])
async def test_a_sentence_whose_translation_would_be_empty_is_copied(
    text: str, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = small_tokenizer()
    half, end = tokenizer.word("中")[-1], tokenizer.eos  # a byte that is no character

    def nothing(job: SentenceJob, shorter: int = 0) -> Hypothesis:
        is_lost = len(tokenizer.encode("I lost.")) >= len(job.source_ids) or shorter == 1
        return mirrored(job, shorter) if is_lost else Hypothesis((half, end), (-0.5, -0.5), -0.5, "eos")

    monkeypatch.setattr(fake_worker, "mirrored", nothing)
    options = TranslationOptions(alternatives=2, details=True)
    [found] = await translator.translate([text], options)
    assert found.text == text
    assert all(each.strip(" .") for each in found.alternatives)
    shown = await translator.attention(text, None, AttentionOptions())
    assert shown.target_text == text


async def test_letters_that_the_vocabulary_does_not_know_are_copied(
    translator: Translator, worker: MirrorWorker
) -> None:
    texts = ["你好", "Привет, мир!", "مرحبا"]
    for options in (TranslationOptions(), TranslationOptions(beam_size=1, details=True)):
        assert [each.text for each in await translator.translate(texts, options)] == texts
    assert not worker.jobs
    assert (await translator.translate(["你好, Tom."]))[0].text == "你好, Tom."
    assert len(worker.jobs) == 1
