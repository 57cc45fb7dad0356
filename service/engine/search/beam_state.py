"""The state of a beam search over many sentences: live hypotheses, their history, and those that are finished.

A step keeps only back-pointers: token, log-probability and the slot it continues. Sentences are independent.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from service.bundle.end_of_search import lookahead_tokens, score_to_go_on, score_to_win
from service.bundle.manifest import EarlyStopping
from service.engine.jobs import MAX_BEAM_SIZE, FinishReason, Hypothesis, IntArray, SearchOptions
from service.engine.model.buffers import grow, swap_remove
from service.engine.search.repetition import RepetitionGuard
from service.engine.search.trace import BeamCandidates, Recorder

_ENDLESS = 2**62  # the maximum length where there is no sentence


def candidates_for(beam_size: int) -> int:
    """Return the number of candidates per row that the search needs: enough to replace every finished hypothesis.

    A single hypothesis needs three, because both a repetition and an early end may have to be skipped.
    """
    return max(2 * beam_size, 3)


class FinishedHypothesis(NamedTuple):
    """A finished hypothesis: its last token was chosen at `step`, after the hypothesis in slot `parent`."""

    score: float
    step: int
    parent: int
    token: int
    logprob: float
    reason: FinishReason


class Search:
    """What greedy search and beam search share."""

    def __init__(self, eos: int, bos: int) -> None:
        self._eos, self._bos = eos, bos
        self._recorded = 0  # running sentences with a recorder
        self._has_prefixes = False  # whether any sentence has had a prefix since there was none

    @property
    def is_recorded(self) -> bool:
        """Return whether the search of a running sentence is recorded, so that steps need more candidates."""
        return self._recorded > 0


class BeamState(Search):
    """The hypotheses of B sentences, K each; a sentence is identified by its index, 0 to B - 1."""

    def __init__(self, beam_size: int, eos: int, bos: int) -> None:
        super().__init__(eos, bos)
        self.beam_size = beam_size
        self.size = 0
        self._finished: list[list[FinishedHypothesis]] = []
        self._n_best: list[int] = []
        self._early_stopping: list[EarlyStopping | None] = []
        self._prefixes: list[tuple[int, ...]] = []
        self._recorders: list[Recorder | None] = []
        self._guard = RepetitionGuard(beam_size)
        self._now = 0  # steps so far: the place of the next one in the history
        self._oldest = 0  # no running sentence started sooner
        self._starting = False  # whether a running sentence has no token yet
        self._first_end = _ENDLESS  # no running sentence reaches its maximum length sooner
        self._own_rows = np.arange(0)[:, None]  # [capacity, 1]
        self._own_slots = np.zeros((0, beam_size), np.int64)  # [capacity, K]: 0 to K - 1 in each row
        one, per_slot = (0,), (0, beam_size)
        self._arrays: dict[str, npt.NDArray[Any]] = {
            "start": np.empty(one, np.int64),  # the step that chooses the first token
            "penalty": np.empty(one, np.float64),
            "longest": np.empty(one, np.int64),
            "closed": np.empty(one, np.int64),  # hypotheses finished so far
            "lookahead": np.empty(one, np.int64),  # tokens that are assumed to be certain
            "to_win": np.empty(one, np.float64),  # score that a live hypothesis must be able to reach; -inf: any
            "to_go_on": np.empty(one, np.float64),  # score that one must exceed if it ended now; -inf: any
            "scores": np.empty(per_slot, np.float64),  # sums of log-probabilities; -inf: no hypothesis in this slot
            "tokens": np.empty(per_slot, np.int64),
        }
        # The history, [T, B, K], one entry a step: token * MAX_BEAM_SIZE + slot it continues, and its log-probability.
        self._past = np.empty((16, 0, beam_size), np.int64)
        self._past_gains = np.empty((16, 0, beam_size), np.float32)

    @property
    def tokens(self) -> IntArray:
        """Return the inputs of the next step, [B, K]."""
        tokens: IntArray = self._arrays["tokens"][: self.size]
        return tokens

    def add(
        self,
        search: SearchOptions,
        source_ids: Sequence[int],
        *,
        trace: bool = False,
        at: int | None = None,
    ) -> int:
        """Add a sentence and return its index.

        It takes the place `at` of a sentence that has left, or one after the last.
        """
        index = self.size if at is None else at
        self.size = max(self.size, index + 1)
        if self.size > len(self._own_rows):
            for name, array in self._arrays.items():
                self._arrays[name] = grow(array, self.size)
            self._past, self._past_gains = (grow(past, self.size, axis=1) for past in (self._past, self._past_gains))
            self._own_rows = np.arange(len(self._arrays["start"]))[:, None]
            self._own_slots = np.tile(np.arange(self.beam_size), (len(self._own_rows), 1))
        arrays = self._arrays
        arrays["start"][index], arrays["closed"][index] = self._now, 0
        arrays["penalty"][index] = search.length_penalty
        arrays["longest"][index] = search.max_length
        self._first_end = min(self._now + search.max_length, self._first_end)
        self._starting = True
        self._has_prefixes |= bool(search.prefix)
        arrays["lookahead"][index] = lookahead_tokens(search.early_stopping, search.max_length)
        arrays["to_win"][index] = arrays["to_go_on"][index] = -np.inf
        # All slots hold the same empty hypothesis. Only the first counts, otherwise the beam would fill with copies.
        arrays["scores"][index] = -np.inf
        arrays["scores"][index, 0] = 0.0
        arrays["tokens"][index] = self._bos
        self._guard.reset(index, source_ids if search.repetition_guard else None)
        place = slice(index, index + 1)
        self._finished[place] = [[]]
        self._n_best[place] = [min(search.n_best, self.beam_size)]
        self._early_stopping[place] = [search.early_stopping]
        self._prefixes[place] = [search.prefix]
        self._recorders[place] = [Recorder(self._bos) if trace else None]
        self._recorded += trace
        return index

    def leave(self, places: Sequence[int]) -> None:
        """Forget the sentences in these places, before others are added there or the places are removed."""
        arrays = self._arrays
        for place in places:
            arrays["start"][place], arrays["longest"][place] = self._now, _ENDLESS
            self._recorded -= self._recorders[place] is not None
            self._recorders[place] = None
        start = arrays["start"][: self.size]
        self._oldest = int(start.min())
        self._first_end = int((start + arrays["longest"][: self.size]).min())

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove places whose sentences have left; `holes` and `movers` are those of `plan_swap_remove`."""
        self.size -= len(removed)
        if len(holes):
            for array in self._arrays.values():
                array[holes] = array[movers]
            for past in (self._past, self._past_gains):
                past[:, holes] = past[:, movers]
            self._guard.move(holes, movers)
        self._has_prefixes &= self.size > 0
        for records in (self._finished, self._n_best, self._early_stopping, self._prefixes, self._recorders):
            swap_remove(records, len(removed), holes, movers)

    def hypotheses(self, index: int, most: int) -> tuple[Hypothesis, ...]:
        """Return the finished hypotheses of a sentence that is done, best first, at most so many."""
        finished_ones = sorted(self._finished[index], key=lambda finished: -finished.score)
        return tuple(self._walk_back(index, finished) for finished in finished_ones[:most])

    def recorder(self, index: int) -> Recorder | None:
        """Return the recorder of a sentence; None if its search is not recorded."""
        return self._recorders[index]

    def _record(self, index: int, finished: FinishedHypothesis) -> None:
        finished_ones = self._finished[index]
        finished_ones.append(finished)
        self._arrays["closed"][index] = len(finished_ones)
        scores, n_best = [finished.score for finished in finished_ones], self._n_best[index]
        self._arrays["to_win"][index] = score_to_win(scores, n_best)
        self._arrays["to_go_on"][index] = score_to_go_on(scores, n_best, self.beam_size, self._early_stopping[index])

    def _close_live(self, index: int, slot: int) -> FinishedHypothesis:
        """Close the live hypothesis of a slot with the tokens it has, possibly none."""
        arrays = self._arrays
        step = self._steps(index) - 1
        if step < 0:
            return FinishedHypothesis(0.0, -1, 0, self._eos, 0.0, "length")
        score = float(arrays["scores"][index, slot]) / float((step + 1) ** arrays["penalty"][index])
        last = self._now - 1, index, slot
        token, parent = divmod(int(self._past[last]), MAX_BEAM_SIZE)
        return FinishedHypothesis(score, step, parent, token, float(self._past_gains[last]), "length")

    def _steps(self, index: int) -> int:
        """Return the number of tokens that a sentence has so far."""
        return self._now - int(self._arrays["start"][index])

    def _append_step(self, candidates: BeamCandidates) -> None:
        """Write the step into the history and make it the current one."""
        size, arrays = self.size, self._arrays
        if self._now == len(self._past):
            self._make_history()
        self._past[self._now, :size] = candidates.tokens * MAX_BEAM_SIZE + candidates.parents
        self._past_gains[self._now, :size] = candidates.token_logprobs
        arrays["scores"][:size] = candidates.scores
        arrays["tokens"][:size] = candidates.tokens
        self._now += 1
        self._starting = False
        self._guard.advance(candidates.parents, candidates.tokens)

    def _make_history(self) -> None:
        """Make room in the history: forget the steps before all running sentences, or more of it."""
        forgotten, kept = self._oldest, self._now - self._oldest
        if forgotten < kept:
            self._past, self._past_gains = (grow(past, self._now + 1) for past in (self._past, self._past_gains))
            return
        for past in (self._past, self._past_gains):
            past[:kept] = past[forgotten : self._now]
        self._arrays["start"] -= forgotten
        self._now, self._oldest, self._first_end = kept, 0, self._first_end - forgotten

    def _walk_back(self, index: int, finished: FinishedHypothesis) -> Hypothesis:
        """Follow the back-pointers of a finished hypothesis to its first token."""
        if finished.step < 0:
            return Hypothesis((), (), 0.0, finished.reason)
        ids, token_logprobs, slot = [finished.token], [finished.logprob], finished.parent
        start = int(self._arrays["start"][index])
        past, past_gains = (
            array[start : start + finished.step, index].tolist() for array in (self._past, self._past_gains)
        )
        for tokens, gains in zip(reversed(past), reversed(past_gains), strict=True):
            token_logprobs.append(gains[slot])
            token, slot = divmod(tokens[slot], MAX_BEAM_SIZE)
            ids.append(token)
        return Hypothesis(tuple(reversed(ids)), tuple(reversed(token_logprobs)), finished.score, finished.reason)
