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
from service.engine.jobs import FloatArray, ScoringRequest, ScoringResult, SentenceJob, WeightSelection
from service.engine.scheduling.interface import SentenceWorker, run_scoring, within
from service.engine.text.sentence import QualityOptions, Sentence, Translated
from service.engine.text.token_text import TokenWriter
from service.engine.text.tokenizer import Tokenizers
from service.engine.types import StreamedEnd, StreamedSentence, StreamedToken, StreamEvent


class _Chosen(NamedTuple):
    """A token that the search chose, and its row of the aligning head if the step returned it."""

    token: int
    logprob: float
    weights: FloatArray | None  # [S]


@dataclass(slots=True)
class _Sentence:
    """The state of the sentence that is being written."""

    job: SentenceJob
    number: int
    writer: TokenWriter
    ids: list[int] = field(default_factory=list)
    text: str = ""  # sent so far
    copied: str = ""  # its source text, if its translation is empty
    logprobs: tuple[float, ...] = ()  # of the search, once it is complete


@dataclass(frozen=True, slots=True)
class Stream:
    """A text to stream: its sentences, their jobs, and how those are translated that are sent complete."""

    text: str
    sentences: Sequence[Sentence]
    jobs: Sequence[SentenceJob]
    settle: Callable[[Sentence], Awaitable[Sequence[Translated]]]  # returns the scored sentences that one becomes
    worker: SentenceWorker
    tokenizers: Tokenizers
    wanted: WeightSelection  # has no view
    quality: QualityOptions = field(default_factory=QualityOptions)  # how the quality of a sentence is computed

    async def events(self) -> AsyncIterator[StreamEvent]:
        """Yield the events of the text, sentence by sentence.

        A sentence with values, or a short string, is sent when it is complete, because it may be written otherwise.
        One whose translation is empty is copied, with the last of its tokens.
        """
        texts: list[str] = []
        spans: list[Span] = []
        qualities: list[float | None] = []
        length = 0  # of the translation so far
        for whole, job in zip(self.sentences, self.jobs, strict=True):
            parts: Sequence[Translated | None] = await self.settle(whole) if whole.is_checked else [None]
            for settled in parts:
                own = whole if settled is None else settled.sentence
                gap = self.text[spans[-1][1] if spans else 0 : own.start]
                yield StreamedSentence(len(spans), own.text, own.source_tokens(self.tokenizers.source), gap)
                length += len(gap)
                own_job = job if settled is None else replace(job, source_ids=own.ids)
                sentence = _Sentence(own_job, len(spans), self.tokenizers.target.writer(length))
                if settled is None:
                    async for token in self._as_chosen(sentence, own):
                        yield token
                    sentence.text = self.tokenizers.target.decode(sentence.ids)
                else:
                    for token in await self._complete(settled, sentence, length):
                        yield token
                judged = self.quality.judge(own.text, sentence.text, len(own.ids), sentence.logprobs)
                qualities.append(judged.quality)
                texts.append(sentence.text + sentence.copied)
                spans.append((own.start, own.end))
                length += len(texts[-1])
        yield StreamedEnd(join(self.text, spans, texts).text, tuple(qualities))

    async def _complete(self, settled: Translated, sentence: _Sentence, start: int) -> list[StreamedToken]:
        """Return the events of a sentence that is translated already."""
        sentence.logprobs = settled.logprobs
        scores = settled.scores or await self._score(sentence.job, settled.ids)  # a term that was copied has none
        decoded = settled.sentence.locate(settled.ids, self.tokenizers.target, start)
        events = []
        sent = 0
        for at, token in enumerate(decoded.tokens):
            end = max(sent, token.end - start) if at < len(decoded.tokens) - 1 else len(decoded.text)
            weights, logprob = scores.cross_attention[0, 0, at], float(scores.logprobs[at])
            events.append(StreamedToken(sentence.number, token, decoded.text[sent:end], logprob, weights))
            sent = end
        sentence.text = decoded.text
        return events

    async def _as_chosen(self, sentence: _Sentence, own: Sentence) -> AsyncIterator[StreamedToken]:
        """Yield the tokens of a sentence as the search chooses them."""
        news: asyncio.Queue[_Chosen | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def listener(token: int, logprob: float, weights: FloatArray | None) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(news.put_nowait, _Chosen(token, logprob, weights))

        [future] = self.worker.submit_all([replace(sentence.job, listener=listener, step_weights=True)])
        result = asyncio.ensure_future(asyncio.wrap_future(future))
        result.add_done_callback(lambda _: news.put_nowait(None))
        try:
            while not result.done():
                chosen = await within(sentence.job.deadline, _next(news))  # the worker may hang
                if chosen and not result.done():
                    for event in await self._events(chosen, sentence):
                        yield event
            # The queue lacks the last token, and tokens that came after the last read are still in it.
            found = await result
            best, rows = found.hypotheses[0], found.step_weights
            sentence.logprobs = best.logprobs
            rest = [
                _Chosen(best.ids[at], best.logprobs[at], None if rows is None else rows[at])
                for at in range(len(sentence.ids), len(best.ids))
            ]
            events = await self._events(rest, sentence)
            if events and not self.tokenizers.target.writes_something(sentence.ids):
                sentence.copied = own.text
                events[-1] = replace(events[-1], text=events[-1].text + own.text)
            for event in events:
                yield event
        finally:
            result.cancel()

    async def _events(self, chosen: Sequence[_Chosen], sentence: _Sentence) -> list[StreamedToken]:
        """Return the events of these tokens, with their attention."""
        known = len(sentence.ids)
        sentence.ids += [each.token for each in chosen]
        scored: FloatArray | None = None  # [T or T + 1, S]
        if any(each.weights is None for each in chosen):
            scored = (await self._score(sentence.job, sentence.ids)).cross_attention[0, 0]
        events = []
        for at, each in enumerate(chosen, start=known):
            token, text = sentence.writer.add(each.token)
            added, sentence.text = text[len(sentence.text) :], text
            weights = each.weights if scored is None else scored[at]
            assert weights is not None
            events.append(StreamedToken(sentence.number, token, added, each.logprob, weights))
        return events

    async def _score(self, job: SentenceJob, ids: Sequence[int]) -> ScoringResult:
        """Score the tokens so far, closed by </s>."""
        eos = self.tokenizers.target.eos
        target = tuple(ids) if ids[-1] == eos else (*ids, eos)
        asked = ScoringRequest(job.source_ids, target, job.deadline, self.wanted)
        [scores] = await within(job.deadline, run_scoring(self.worker, [asked]))
        return scores


async def _next(news: asyncio.Queue[_Chosen | None]) -> list[_Chosen]:
    """Wait for chosen tokens and return all of them."""
    found = [await news.get()]
    while not news.empty():
        found.append(news.get_nowait())
    return [item for item in found if item is not None]
