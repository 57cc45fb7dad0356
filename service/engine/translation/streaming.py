"""Translation token by token: each token as soon as greedy search chooses it, with its attention.

The step that chooses a token returns its row of the aligning head, so T tokens cost T steps and nothing else. Only a
model whose steps return no weights (an architecture with fixed attention, or another exporter's graph) has the tokens
so far scored as a given translation; tokens that are chosen during one scoring run share the next.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from service.bundle.wrapping import Span, join
from service.engine.jobs import FloatArray, ScoringRequest, ScoringResult, SentenceJob, SentenceResult, WeightSelection
from service.engine.scheduling.interface import SentenceWorker, run_scoring, within
from service.engine.text.sentence import Sentence, Translated
from service.engine.text.sentence_quality import QualityOptions
from service.engine.text.token_text import TokenWriter
from service.engine.text.tokenizer import Tokenizer, Tokenizers
from service.engine.types import StreamedEnd, StreamedSentence, StreamedToken, StreamEvent


class _Chosen(NamedTuple):
    """A token that the search chose, and its row of the aligning head if the step returned it."""

    token: int
    logprob: float
    weights: FloatArray | None  # [S]


@dataclass(slots=True)
class _Sentence:
    """The state of the sentence that is being written."""

    number: int
    start: int  # in the whole translation
    ids: list[int] = field(default_factory=list)
    text: str = ""  # sent so far
    logprobs: tuple[float, ...] = ()  # of the search, once it is complete
    writer: TokenWriter | None = None  # of its tokens


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A text to stream: its sentences, their jobs, and how those are translated that are sent complete."""

    text: str
    sentences: Sequence[Sentence]
    jobs: Sequence[SentenceJob]
    settle: Callable[[Sentence], Awaitable[Sequence[Translated]]]  # returns the scored sentences that one becomes
    quality: QualityOptions = field(default_factory=QualityOptions)  # how the quality of a sentence is computed


async def stream_sentences(
    source: StreamSource, worker: SentenceWorker, tokenizers: Tokenizers, wanted: WeightSelection
) -> AsyncIterator[StreamEvent]:
    """Yield the events of a text, sentence by sentence; `wanted` has no view.

    A sentence with values, or a short string, is sent when it is complete, because it may be written otherwise.
    """
    texts: list[str] = []
    spans: list[Span] = []
    qualities: list[float | None] = []
    length = 0  # of the translation so far
    for whole, job in zip(source.sentences, source.jobs, strict=True):
        parts: Sequence[Translated | None] = await source.settle(whole) if whole.is_checked else [None]
        for settled in parts:
            own = whole if settled is None else settled.sentence
            gap = source.text[spans[-1][1] if spans else 0 : own.start]
            yield StreamedSentence(len(spans), own.text, own.source_tokens(tokenizers.source), gap)
            length += len(gap)
            sentence = _Sentence(len(spans), length)
            if settled is None:
                async for token in _stream_sentence(job, sentence, worker, tokenizers.target, wanted):
                    yield token
                sentence.text = tokenizers.target.decode(sentence.ids)
            else:
                own_job = replace(job, source_ids=own.ids)
                for event in await _complete(own_job, settled, sentence, worker, tokenizers, wanted):
                    yield event
            judged = source.quality.judge(own.text, sentence.text, len(own.ids), sentence.logprobs)
            qualities.append(judged.quality)
            texts.append(sentence.text)
            spans.append((own.start, own.end))
            length += len(sentence.text)
    yield StreamedEnd(join(source.text, spans, texts).text, tuple(qualities))


async def _complete(
    job: SentenceJob,
    settled: Translated,
    sentence: _Sentence,
    worker: SentenceWorker,
    tokenizers: Tokenizers,
    wanted: WeightSelection,
) -> list[StreamedToken]:
    """Return the events of a sentence that is translated already."""
    sentence.logprobs = settled.logprobs
    scores = settled.scores  # a term that was copied has none
    if scores is None:
        scores = await _score(job, settled.ids, worker, tokenizers.target, wanted)
    decoded = settled.sentence.locate(settled.ids, tokenizers.target, sentence.start)
    events = []
    sent = 0
    for at, token in enumerate(decoded.tokens):
        end = max(sent, token.end - sentence.start) if at < len(decoded.tokens) - 1 else len(decoded.text)
        weights = scores.cross_attention[0, 0, at]
        added = decoded.text[sent:end]
        events.append(StreamedToken(sentence.number, token, added, float(scores.logprobs[at]), weights))
        sent = end
    sentence.text = decoded.text
    return events


async def _stream_sentence(
    job: SentenceJob, sentence: _Sentence, worker: SentenceWorker, tokenizer: Tokenizer, wanted: WeightSelection
) -> AsyncIterator[StreamedToken]:
    news: asyncio.Queue[_Chosen | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def listener(token: int, logprob: float, weights: FloatArray | None) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(news.put_nowait, _Chosen(token, logprob, weights))

    [future] = worker.submit_all([replace(job, listener=listener, step_weights=True)])
    result = asyncio.ensure_future(asyncio.wrap_future(future))
    result.add_done_callback(lambda _: news.put_nowait(None))
    try:
        while not result.done():
            chosen = await within(job.deadline, _next(news))  # the worker may hang
            if chosen and not result.done():
                for event in await _events(chosen, job, sentence, worker, tokenizer, wanted):
                    yield event
        # The queue lacks the last token, and tokens that came after the last read are still in it.
        found = await result
        sentence.logprobs = found.hypotheses[0].logprobs
        for event in await _events(_rest(found, sentence), job, sentence, worker, tokenizer, wanted):
            yield event
    finally:
        result.cancel()


async def _next(news: asyncio.Queue[_Chosen | None]) -> list[_Chosen]:
    """Wait for chosen tokens and return all of them."""
    found = [await news.get()]
    while not news.empty():
        found.append(news.get_nowait())
    return [item for item in found if item is not None]


def _rest(result: SentenceResult, sentence: _Sentence) -> list[_Chosen]:
    """Return the tokens of the result that have not been sent."""
    best, rows = result.hypotheses[0], result.step_weights
    return [
        _Chosen(best.ids[at], best.logprobs[at], None if rows is None else rows[at])
        for at in range(len(sentence.ids), len(best.ids))
    ]


async def _events(
    chosen: Sequence[_Chosen],
    job: SentenceJob,
    sentence: _Sentence,
    worker: SentenceWorker,
    tokenizer: Tokenizer,
    wanted: WeightSelection,
) -> list[StreamedToken]:
    """Return the events of these tokens, with their attention."""
    known = len(sentence.ids)
    sentence.ids += [each.token for each in chosen]
    scored: FloatArray | None = None  # [T or T + 1, S]
    if any(each.weights is None for each in chosen):
        scored = (await _score(job, sentence.ids, worker, tokenizer, wanted)).cross_attention[0, 0]
    writer = sentence.writer or tokenizer.writer(sentence.start)
    sentence.writer = writer
    events = []
    for at, each in enumerate(chosen, start=known):
        token, text = writer.add(each.token)
        added, sentence.text = text[len(sentence.text) :], text
        weights = each.weights if scored is None else scored[at]
        assert weights is not None
        events.append(StreamedToken(sentence.number, token, added, each.logprob, weights))
    return events


async def _score(
    job: SentenceJob, ids: Sequence[int], worker: SentenceWorker, tokenizer: Tokenizer, wanted: WeightSelection
) -> ScoringResult:
    """Score the tokens so far, closed by </s>."""
    target = tuple(ids) if ids[-1] == tokenizer.eos else (*ids, tokenizer.eos)
    asked = ScoringRequest(job.source_ids, target, job.deadline, wanted)
    [scores] = await within(job.deadline, run_scoring(worker, [asked]))
    return scores
