"""Greedy search over many sentences at once: the beam search of one hypothesis, without a beam.

Every sentence has plain lists. While the model's step runs, the processor's caches lose most of what Python and NumPy
need, so a step of the search costs by the kinds of operations in it: a loop over lists takes less time than the dozen
array operations of a beam, also for 32 sentences. On a GPU there are more in a step, and a beam of one does the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from service.bundle.limits import IMPOSSIBLE
from service.engine.jobs import FinishReason, FloatArray, Hypothesis, IntArray, SearchOptions
from service.engine.model.buffers import swap_remove
from service.engine.model.interface import Advance, Candidates
from service.engine.search.beam_state import Search, candidates_for
from service.engine.search.repetition import last_runs, too_long
from service.engine.search.trace import BeamCandidates, Recorder

Forbidden = list[tuple[int, list[int]]]  # sentences, and the tokens that would prolong their cycles too far


@dataclass(slots=True)
class _GreedySentence:
    """A sentence and its hypothesis."""

    search: SearchOptions
    latest: int  # the input of the next step
    last: list[int]  # see `last_runs`; empty: it may repeat itself without end
    recorder: Recorder | None
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    total: float = 0.0
    unchecked: int = 0  # no cycle can be too long before it has so many tokens

    def hypothesis(self, eos: int) -> Hypothesis:
        """Return the finished hypothesis."""
        if not self.ids:
            return Hypothesis((), (), 0.0, "length")
        reason: FinishReason = "eos" if self.ids[-1] == eos else "length"
        score = self.total / float(len(self.ids) ** self.search.length_penalty)
        return Hypothesis(tuple(self.ids), tuple(self.logprobs), score, reason)


class Greedy(Search):
    """The search of B sentences with one hypothesis each; the methods are those of `Beam`."""

    def __init__(self, eos: int, bos: int) -> None:
        super().__init__(eos, bos)
        self._sentences: list[_GreedySentence] = []

    @property
    def tokens(self) -> IntArray:
        """Return the inputs of the next step, [B, 1]."""
        return np.array([[sentence.latest] for sentence in self._sentences], np.int64)

    def add(
        self,
        search: SearchOptions,
        source_ids: Sequence[int],
        *,
        trace: bool = False,
        at: int,
    ) -> None:
        """Add a sentence in the place `at` of one that has left, or after the last."""
        last = last_runs(source_ids) if search.repetition_guard else []
        sentence = _GreedySentence(search, self._bos, last, Recorder(self._bos) if trace else None)
        sentence.unchecked = last[0] if last else search.max_length
        self._sentences[at : at + 1] = [sentence]
        self._has_prefixes |= bool(search.prefix)
        self._recorded += trace

    def leave(self, places: Sequence[int]) -> None:
        """Forget the sentences in these places, before others are added there or the places are removed."""
        if self._recorded:
            self._recorded -= sum(self._sentences[place].recorder is not None for place in places)

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove places whose sentences have left; `holes` and `movers` are those of `plan_swap_remove`."""
        swap_remove(self._sentences, len(removed), holes, movers)
        self._has_prefixes &= bool(self._sentences)

    def hypotheses(self, index: int, most: int) -> tuple[Hypothesis, ...]:
        """Return the hypothesis of a sentence that is done, which is at most one."""
        return (self._sentences[index].hypothesis(self._eos),)[:most]

    def recorder(self, index: int) -> Recorder | None:
        """Return the recorder of a sentence; None if its search is not recorded."""
        return self._sentences[index].recorder

    def advance(self, candidates: Candidates) -> Advance:
        """Advance by one step with the model's candidates, [B, 1, C] each, best first, C >= 3."""
        ids, logprobs, forbidden = candidates.ids, candidates.logprobs, self._forbidden()
        if forbidden or self._has_prefixes or self._recorded:
            tokens, gains = self._choose(ids, logprobs, forbidden)
        else:
            tokens, gains = ids[:, 0, 0].tolist(), logprobs[:, 0, 0].tolist()
        done: list[int] = []
        for at, (sentence, token, gain) in enumerate(zip(self._sentences, tokens, gains, strict=True)):
            total = sentence.total + gain
            if total <= IMPOSSIBLE:  # no token may follow
                done.append(at)
                continue
            sentence.latest, sentence.total = token, total
            sentence.ids.append(token)
            sentence.logprobs.append(gain)
            if token == self._eos or len(sentence.ids) >= sentence.search.max_length:
                done.append(at)
        return Advance(None, done)

    def _forbidden(self) -> Forbidden:
        """Return the tokens that would prolong a cycle too far."""
        found: Forbidden = []
        for at, sentence in enumerate(self._sentences):
            if len(sentence.ids) >= sentence.unchecked and sentence.last:
                tokens, slack = too_long(sentence.ids, sentence.last)
                sentence.unchecked = len(sentence.ids) + max(slack, 1)
                if tokens:
                    found.append((at, tokens))
        return found

    def _choose(self, ids: IntArray, logprobs: FloatArray, forbidden: Forbidden) -> tuple[list[int], list[float]]:
        """Return the best token of each sentence and its log-probability where the model's best may not be the one."""
        read = ids, logprobs
        if forbidden:
            logprobs = logprobs.copy()
        for at, tokens in forbidden:
            logprobs[at, np.isin(ids[at], tokens)] = -np.inf
        # The search sees no more than without a recording.
        ids, logprobs = ids[:, :, : candidates_for(1)], logprobs[:, :, : candidates_for(1)]
        if self._has_prefixes:
            ids, logprobs = self._in_prefix(ids, logprobs)
        before: npt.NDArray[np.float64] = np.array([[sentence.total] for sentence in self._sentences])
        totals = before + logprobs[:, 0]
        if self._recorded:
            self._record_step(read, ids, logprobs, totals)
        best = np.arange(len(ids)), 0, totals.argmax(axis=1)  # the first of equal ones
        return ids[best].tolist(), logprobs[best].tolist()

    def _in_prefix(self, ids: IntArray, logprobs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the candidates; in its prefix, a sentence has the next token of that alone, which is certain."""
        ids, logprobs = ids.copy(), logprobs.copy()
        for at, sentence in enumerate(self._sentences):
            step, prefix = len(sentence.ids), sentence.search.prefix
            if step < len(prefix):
                logprobs[at] = -np.inf
                ids[at, 0, 0], logprobs[at, 0, 0] = prefix[step], 0.0
        return ids, logprobs

    def _record_step(
        self,
        read: tuple[IntArray, FloatArray],
        ids: IntArray,
        logprobs: FloatArray,
        totals: npt.NDArray[np.float64],
    ) -> None:
        """Record a step of the sentences that ask for it, as a beam of one would: with its two best continuations."""
        for at, sentence in enumerate(self._sentences):
            recorder, step = sentence.recorder, len(sentence.ids)
            if recorder is None:
                continue
            order = (-totals[at]).argsort(kind="stable")[:2]
            ranked = BeamCandidates(np.zeros(2, np.int64), ids[at, 0, order], logprobs[at, 0, order], totals[at, order])
            possible, ending = ranked.scores > IMPOSSIBLE, ranked.tokens == self._eos
            closing = possible[:1] & (ending[:1] | (step + 1 >= sentence.search.max_length))
            recorder.read(read[0][at], read[1][at])
            if not possible[0]:
                recorder.close(sentence.ids)
            recorder.consider(ranked, possible, closing)
            living = (possible & ~ending).nonzero()[0][:1]
            recorder.keep(ranked.taken(living), first=step == 0)
