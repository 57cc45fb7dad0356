"""Streams give what greedy search finds, token by token, with the attention of the whole forced pass."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace

import pytest

from service.bundle.wrapping import Joined, Span, join
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob, WeightSelection
from service.engine.model_info import WorkerState
from service.engine.scheduling.worker import Worker
from service.engine.text.segmentation import SegmentationOptions, segment_text
from service.engine.text.sentence import Sentence, Translated
from service.engine.text.tokenizer import Tokenizers
from service.engine.translation import streaming
from service.engine.translation.streaming import Stream
from service.engine.types import StreamedEnd, StreamedSentence, StreamedToken, StreamEvent
from tests.support.fake_model import ScriptedModel, copying_rule
from tests.support.fake_worker import MirrorWorker
from tests.support.vocabulary import small_tokenizer

VOCABULARY = 400
WANTED = WeightSelection((1, 0))


def events_of(text: str, worker: Worker | MirrorWorker, wanted: WeightSelection = WANTED) -> AsyncIterator[StreamEvent]:
    tokenizer = small_tokenizer()
    sentences = segment_text(text, Tokenizers(tokenizer, tokenizer), SegmentationOptions("en", 64, 64))
    jobs = [SentenceJob(sentence.ids, SearchOptions(max_length=64)) for sentence in sentences]

    async def settle(_sentence: Sentence) -> list[Translated]:
        raise AssertionError("the text has no values")

    return Stream(text, sentences, jobs, settle, worker, Tokenizers(tokenizer, tokenizer), wanted).events()


@contextlib.contextmanager
def running(model: ScriptedModel) -> Iterator[Worker]:
    worker = Worker("scripted", model)
    try:
        yield worker
    finally:
        worker.stop()


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


@pytest.mark.parametrize("weighted", [True, False])
async def test_tokens_cost_their_steps_and_have_the_numbers_of_the_search(weighted: bool) -> None:
    """A model whose steps return weights scores nothing; one without is scored, with the same events."""
    model = ScriptedModel(copying_rule(VOCABULARY), weighted=weighted)
    with running(model) as worker:
        events = [event async for event in events_of("The dog runs.", worker, WeightSelection((0, 0)))]
        calls = [call for call, _ in model.calls]
        heard: list[tuple[int, float]] = []
        job = SentenceJob(small_tokenizer().encode("The dog runs."), SearchOptions(max_length=64))
        own = replace(job, listener=lambda *news: heard.append(news[:2]))
        best = worker.submit(own).result(10).hypotheses[0]
    tokens = [event for event in events if isinstance(event, StreamedToken)]
    assert calls.count("step") == len(tokens)
    assert ("force" in calls) is not weighted
    for token in tokens:
        assert token.attention.shape == tokens[0].attention.shape
        assert token.attention.sum() == pytest.approx(1, abs=1e-5)
    assert [(event.token.id, event.logprob) for event in tokens] == list(zip(best.ids, best.logprobs, strict=True))
    # The worker tells each token but the last before the sentence is done.
    assert [token for token, _ in heard] == list(best.ids[:-1])
    assert [logprob for _, logprob in heard] == pytest.approx(best.logprobs[:-1])
