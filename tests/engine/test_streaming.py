"""Streams give what greedy search finds, token by token, with the attention of the whole forced pass."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from service.bundle.wrapping import Joined, Span, join
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob, WeightSelection
from service.engine.model_info import WorkerState
from service.engine.scheduling.worker import Worker
from service.engine.text.segmentation import SegmentationOptions, segment_text
from service.engine.text.sentence import Sentence, Translated
from service.engine.text.tokenizer import Tokenizers
from service.engine.translation import streaming
from service.engine.translation.streaming import StreamSource, stream_sentences
from service.engine.types import StreamedEnd, StreamedSentence, StreamedToken, StreamEvent
from tests.support.fake_model import EOS, ScriptedModel, copying_rule
from tests.support.fake_worker import MirrorWorker
from tests.support.vocabulary import small_tokenizer

VOCABULARY = 400
WANTED = WeightSelection((1, 0))
TEXT = "The dog runs.\n\nThe cat 🙂 sleeps!  "


def events_of(text: str, worker: Worker | MirrorWorker, wanted: WeightSelection = WANTED) -> AsyncIterator[StreamEvent]:
    tokenizer = small_tokenizer()
    sentences = segment_text(text, tokenizer, SegmentationOptions("en", 64, 64))
    jobs = [SentenceJob(sentence.ids, SearchOptions(max_length=64)) for sentence in sentences]

    async def settle(_sentence: Sentence) -> list[Translated]:
        raise AssertionError("the text has no values")

    source = StreamSource(text, sentences, jobs, settle)
    return stream_sentences(source, worker, Tokenizers(tokenizer, tokenizer), wanted)


async def test_a_stream_adds_up_to_the_translation() -> None:
    worker = MirrorWorker(state=WorkerState.RUNNING)
    events = [event async for event in events_of(TEXT, worker)]
    end = events[-1]
    assert isinstance(end, StreamedEnd)
    assert end.text == TEXT  # the mirror's translation
    written = "".join(
        event.gap if isinstance(event, StreamedSentence) else event.text
        for event in events
        if not isinstance(event, StreamedEnd)
    )
    assert end.text.startswith(written)
    assert end.text[len(written) :].isspace()
    for event in events:
        if isinstance(event, StreamedToken):
            assert end.text[event.token.start : event.token.end] == event.token.text
            assert event.attention.sum() == pytest.approx(1, abs=1e-3)
        elif isinstance(event, StreamedSentence):
            token = event.source_tokens[0]
            assert TEXT[token.start : token.end] == token.text
    assert [event.number for event in events if isinstance(event, StreamedSentence)] == [0, 1]


async def test_a_running_worker_tells_tokens_before_the_sentence_is_done() -> None:
    worker = Worker("scripted", ScriptedModel(copying_rule(12)))
    heard: list[tuple[int, float]] = []
    worker.start()
    try:
        job = SentenceJob((5, 6, 7, EOS), SearchOptions(max_length=9), listener=lambda *news: heard.append(news[:2]))
        result = worker.submit(job).result(10)
    finally:
        worker.stop()
    best = result.hypotheses[0]
    assert tuple(token for token, _ in heard) == best.ids[:-1]
    np.testing.assert_allclose([logprob for _, logprob in heard], best.logprobs[:-1], rtol=1e-6)


async def test_leaving_a_stream_gives_the_sentence_up() -> None:
    worker = MirrorWorker(state=WorkerState.RUNNING, held=True)
    stream = events_of("The dog runs.", worker)
    assert isinstance(await anext(stream), StreamedSentence)
    task = asyncio.ensure_future(anext(stream))
    while not worker.futures:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert worker.futures[0].cancelled()
    assert not any(isinstance(job, ScoringRequest) for job in worker.forced)


async def test_a_long_stream_is_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []

    def counting(text: str, spans: Sequence[Span], translations: Sequence[str]) -> Joined:
        joined.append(len(spans))
        return join(text, spans, translations)

    monkeypatch.setattr(streaming, "join", counting)
    text = "Go. He's calm.\n" * 60
    events = [event async for event in events_of(text, MirrorWorker(state=WorkerState.RUNNING))]
    assert isinstance(events[-1], StreamedEnd)
    assert events[-1].text == text
    assert joined == [120]


@pytest.mark.parametrize(("weighted", "scorings"), [(True, 0), (False, None)])
async def test_tokens_cost_their_steps_and_nothing_else(weighted: bool, scorings: int | None) -> None:
    """A model whose steps return weights scores nothing; one without is scored, with the same events."""
    model = ScriptedModel(copying_rule(VOCABULARY), weighted=weighted)
    worker = Worker("scripted", model)
    worker.start()
    try:
        events = [event async for event in events_of("The dog runs.", worker, WeightSelection((0, 0)))]
    finally:
        worker.stop()
    tokens = [event for event in events if isinstance(event, StreamedToken)]
    assert sum(call == "step" for call, _ in model.calls) == len(tokens)
    forced = sum(call == "force" for call, _ in model.calls)
    assert forced == scorings if scorings is not None else forced > 0
    for token in tokens:
        assert token.attention.shape == tokens[0].attention.shape
        assert token.attention.sum() == pytest.approx(1, abs=1e-5)


async def test_a_stream_has_the_numbers_of_the_search() -> None:
    worker = Worker("scripted", ScriptedModel(copying_rule(VOCABULARY)))
    worker.start()
    try:
        events = [event async for event in events_of("The dog runs.", worker)]
        job = SentenceJob(small_tokenizer().encode("The dog runs."), SearchOptions(max_length=64))
        best = worker.submit(job).result(10).hypotheses[0]
    finally:
        worker.stop()
    tokens = [event for event in events if isinstance(event, StreamedToken)]
    assert tuple(event.token.id for event in tokens) == best.ids
    assert tuple(event.logprob for event in tokens) == best.logprobs
