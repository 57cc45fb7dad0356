"""Beam search over many sentences at once, without side effects, clocks, threads or models.

A hypothesis y of a sentence scores sum(log p(y_t)) / |y| ** length_penalty, where |y| counts </s>; the penalty 0 is the
plain sum, 1 the mean. (CTranslate2 and Sockeye use the same form; Wu et al., arXiv 1609.08144, use ((5 + |y|) / 6).)

A step considers the 2 * K best continuations of the K live hypotheses of a sentence. Those among the best K that end
with </s> are finished and leave. The best K others stay live, so a live hypothesis replaces each finished one. The
search of a sentence ends
- when no live hypothesis could beat the worst of the n best finished even if its next tokens were certain: two by our
  own rule, all up to the maximum length where the bundle says how a search ends (`early_stopping`);
- when K are finished and no live one would beat that one if it ended here, by our own rule (the count alone, which
  others use, stops too early where the model is sure of itself: </s> is then among the K likeliest at every step,
  unlikely as it is); `service.bundle.end_of_search` has the other rules;
- at the maximum length, where the best K are finished as they stand;
- when no token may follow.

A step keeps only back-pointers: token, log-probability and the slot it continues. Sentences are independent.

A live hypothesis stays in the slot of the hypothesis it continues if possible (the best child takes precedence),
so that few rows of the model's state move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from service.bundle.end_of_search import lookahead_tokens, score_to_go_on, score_to_win
from service.bundle.manifest import EarlyStopping
from service.bundle.repetition import LEAST_RUN
from service.engine.model.buffers import grow, swap_remove
from service.engine.search.hypotheses import BeamCandidates, Finished, best_live
from service.engine.search.repetition import RepetitionGuard
from service.engine.search.trace import Recorder
from service.engine.search.value_search import ValueSearch
from service.engine.types import (
    MAX_BEAM_SIZE,
    FinishReason,
    FloatArray,
    Hypothesis,
    IntArray,
    SearchOptions,
    SearchTrace,
)
from service.engine.values.constraints import ValueConstraints

FEW = 4  # sentences that are advanced one by one sooner than by some twenty calls of numpy for all of them
_ENDLESS = np.iinfo(np.int64).max  # the maximum length where there is no sentence
IMPOSSIBLE = -1e8  # log-probabilities below this mean "never" (graphs write large negative numbers for pad and bos)


@dataclass(frozen=True, slots=True, eq=False)
class Advance:
    """The results of a step for the model: its next inputs, the moves of rows, and the finished sentences."""

    tokens: IntArray  # [B, K]
    parents: IntArray | None  # [B * K]: the row each row continues; None: every row continues itself
    done: list[int]  # sentences that are finished, ascending


def candidates_for(beam_size: int) -> int:
    """Return the number of candidates per row that the search needs: enough to replace every finished hypothesis.

    A single hypothesis needs three, because both a repetition and an early end may have to be skipped.
    """
    return max(2 * beam_size, 3)


class Beam:
    """The search state of B sentences with K hypotheses each; a sentence is identified by its index, 0 to B - 1."""

    def __init__(self, beam_size: int, eos: int, bos: int) -> None:
        self.beam_size = beam_size
        self.size = 0
        self._eos, self._bos = eos, bos
        self._finished: list[list[Finished]] = []
        self._n_best: list[int] = []
        self._early_stopping: list[EarlyStopping | None] = []
        self._recorders: list[Recorder | None] = []
        self._recorded = 0  # running sentences with a recorder
        self._guard = RepetitionGuard(beam_size)
        self._values = ValueSearch(beam_size, eos)
        self._deepest = 0  # tokens of the longest running hypothesis: below LEAST_RUN there is no repetition
        self._starting = False  # whether a running sentence has no token yet
        self._least_longest = _ENDLESS  # no running sentence may end for its length sooner
        self._has_shortest = False  # whether any sentence has had a minimum length since the beam was empty
        self._own_rows = np.arange(0)[:, None]  # [capacity, 1]
        self._own_slots = np.zeros((0, beam_size), np.int64)  # [capacity, K]: 0 to K - 1 in each row
        one, per_slot, history = (0,), (0, beam_size), (0, 16, beam_size)
        self._arrays: dict[str, npt.NDArray[Any]] = {
            "steps": np.empty(one, np.int64),  # tokens chosen so far
            "penalty": np.empty(one, np.float64),
            "longest": np.empty(one, np.int64),
            "shortest": np.empty(one, np.int64),
            "closed": np.empty(one, np.int64),  # hypotheses finished so far
            "lookahead": np.empty(one, np.int64),  # tokens that are assumed to be certain
            "to_win": np.empty(one, np.float64),  # score that a live hypothesis must be able to reach; -inf: any
            "to_go_on": np.empty(one, np.float64),  # score that one must exceed if it ended now; -inf: any
            "scores": np.empty(per_slot, np.float64),  # sums of log-probabilities; -inf: no hypothesis in this slot
            "tokens": np.empty(per_slot, np.int64),
            "past": np.empty(history, np.int64),  # [B, T, K]: token * MAX_BEAM_SIZE + slot it continues
            "past_gains": np.empty(history, np.float32),
        }

    @property
    def tokens(self) -> IntArray:
        """Return the inputs of the next step, [B, K]."""
        tokens: IntArray = self._arrays["tokens"][: self.size]
        return tokens

    @property
    def has_values(self) -> bool:
        """Return whether a running sentence has values, so that steps need more candidates."""
        return self._values.active > 0

    @property
    def is_recorded(self) -> bool:
        """Return whether the search of a running sentence is recorded, so that steps need more candidates."""
        return self._recorded > 0

    def add(
        self,
        search: SearchOptions,
        source_ids: Sequence[int],
        values: ValueConstraints | None = None,
        *,
        trace: bool = False,
        at: int | None = None,
    ) -> int:
        """Add a sentence, perhaps with the values that its translation must hold, and return its index.

        It takes the place `at` of a sentence that has left, or one after the last.
        """
        index = self.size if at is None else at
        self.size = max(self.size, index + 1)
        if self.size > len(self._own_rows):
            for name, array in self._arrays.items():
                self._arrays[name] = grow(array, self.size)
            self._own_rows = np.arange(len(self._arrays["steps"]))[:, None]
            self._own_slots = np.tile(np.arange(self.beam_size), (len(self._own_rows), 1))
        arrays = self._arrays
        arrays["steps"][index] = arrays["closed"][index] = 0
        arrays["penalty"][index] = search.length_penalty
        arrays["longest"][index] = search.max_length
        self._least_longest = min(search.max_length, self._least_longest)
        self._starting = True
        arrays["shortest"][index] = search.min_length
        self._has_shortest |= search.min_length > 0
        arrays["lookahead"][index] = lookahead_tokens(search.early_stopping, search.max_length)
        arrays["to_win"][index] = arrays["to_go_on"][index] = -np.inf
        # All slots hold the same empty hypothesis. Only the first counts, otherwise the beam would fill with copies.
        arrays["scores"][index] = -np.inf
        arrays["scores"][index, 0] = 0.0
        arrays["tokens"][index] = self._bos
        self._guard.reset(index, source_ids if search.repetition_guard else None)
        self._values.add(index, values)
        place = slice(index, index + 1)
        self._finished[place] = [[]]
        self._n_best[place] = [min(search.n_best, self.beam_size)]
        self._early_stopping[place] = [search.early_stopping]
        self._recorders[place] = [Recorder(self._bos) if trace else None]
        self._recorded += trace
        return index

    def leave(self, places: Sequence[int]) -> None:
        """Forget the sentences in these places, before others are added there or the places are removed."""
        arrays = self._arrays
        if self._values.active:
            self._values.leave(places)
        for place in places:
            arrays["steps"][place], arrays["longest"][place] = 0, _ENDLESS
            self._recorded -= self._recorders[place] is not None
            self._recorders[place] = None
        self._deepest = int(arrays["steps"][: self.size].max())
        self._least_longest = int(arrays["longest"][: self.size].min())

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove places whose sentences have left; `holes` and `movers` are those of `plan_swap_remove`."""
        self.size -= len(removed)
        if len(holes):
            for array in self._arrays.values():
                array[holes] = array[movers]
            self._guard.move(holes, movers)
            if self._values.active:
                self._values.move(holes, movers)
        self._has_shortest &= self.size > 0
        for records in (self._finished, self._n_best, self._early_stopping, self._recorders):
            swap_remove(records, len(removed), holes, movers)

    def advance(self, ids: IntArray, logprobs: FloatArray) -> Advance:
        """Advance by one step with the model's candidates, [B, K, C] each, best first, C >= 2 * K."""
        if self.beam_size == 1 and not self._recorded:
            advance = self._advance_greedily(ids, logprobs)
            if advance is not None:
                return advance
        size, read = self.size, (ids, logprobs)
        if self._recorded and not self._values.active:  # the search itself sees no more than without a recording
            given = candidates_for(self.beam_size)
            ids, logprobs = ids[:, :, :given], logprobs[:, :, :given]
        best = self._ranked(ids, logprobs)
        ending = best.tokens == self._eos
        possible = best.scores > IMPOSSIBLE
        last = self._last_steps()
        closing = ((ending if last is None else ending | last[:, None]) & possible)[:, : self.beam_size]
        if np.count_nonzero(closing):
            self._finish(best, closing)
        if np.count_nonzero(possible[:, 0]) < size:
            self._close_without_tokens((~possible[:, 0]).nonzero()[0].tolist())
        candidates = self._assign_slots(best_live(best, possible & ~ending, self.beam_size))
        if self._recorded:
            self._record_step(read, best, (possible, closing), candidates)
        self._append_step(candidates)
        done = self._done(last)
        return Advance(candidates.tokens, self._row_parents(candidates.parents, done), done.nonzero()[0].tolist())

    def _last_steps(self) -> npt.NDArray[np.bool_] | None:
        """Return which sentences reach their maximum length with this step, [B]; None if none does."""
        if self._deepest + 1 < self._least_longest:
            return None
        steps, longest = self._arrays["steps"][: self.size], self._arrays["longest"][: self.size]
        last: npt.NDArray[np.bool_] = steps + 1 >= longest
        return last

    def _advance_greedily(self, ids: IntArray, logprobs: FloatArray) -> Advance | None:
        """Advance single hypotheses whose likeliest tokens are all allowed; return None if one is not allowed.

        The result is that of the general method, which considers more; no continuation of </s> can ever beat it.
        """
        size, arrays = self.size, self._arrays
        if self._allowed(ids, logprobs) is not logprobs:
            return None
        tokens, token_logprobs = self._likeliest(ids, logprobs)
        if size <= FEW:
            return self._advance_few(tokens, token_logprobs)
        if np.count_nonzero(token_logprobs <= IMPOSSIBLE):
            return None
        done, last = tokens[:, 0] == self._eos, self._last_steps()
        scores: npt.NDArray[np.float64] = arrays["scores"][:size] + token_logprobs
        leaving: list[int] = (done if last is None else done | last).nonzero()[0].tolist()
        for index in leaving:
            self._finish_single(index, int(tokens[index, 0]), float(token_logprobs[index, 0]), float(scores[index, 0]))
        self._append_step(BeamCandidates(self._own_slots[:size], tokens, token_logprobs, scores))
        return Advance(tokens, None, leaving)

    def _advance_few(self, tokens: IntArray, token_logprobs: FloatArray) -> Advance | None:
        """Advance single hypotheses one by one, with the results of `_advance_greedily`."""
        gains = token_logprobs.ravel().tolist()
        if min(gains) <= IMPOSSIBLE:
            return None
        arrays, leaving = self._arrays, []
        steps, longest, scores, current = (arrays[name] for name in ("steps", "longest", "scores", "tokens"))
        self._make_history()
        past, past_gains = arrays["past"], arrays["past_gains"]
        for index, (token, gain) in enumerate(zip(tokens.ravel().tolist(), gains, strict=True)):
            step, score = int(steps[index]), float(scores[index, 0]) + gain
            if token == self._eos or step + 1 >= longest[index]:
                self._finish_single(index, token, gain, score)
                leaving.append(index)
            past[index, step, 0] = token * MAX_BEAM_SIZE
            past_gains[index, step, 0] = gain
            scores[index, 0], current[index, 0], steps[index] = score, token, step + 1
        self._advance_rules(self._own_slots[: self.size], tokens)
        return Advance(tokens, None, leaving)

    def _finish_single(self, index: int, token: int, gain: float, total: float) -> None:
        """Record the end of a single hypothesis with this token; `total` is the sum of its log-probabilities."""
        step = int(self._arrays["steps"][index])
        score = total / float((step + 1) ** self._arrays["penalty"][index])
        reason: FinishReason = "eos" if token == self._eos else "length"
        whole = not self._values.active or self._values.complete(index, 0)
        self._record(index, Finished(score, step, 0, token, gain, reason, whole))

    def _likeliest(self, ids: IntArray, logprobs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the token that each single hypothesis goes on with, and its log-probability, [B, 1] each."""
        if not self._values.active:
            return ids[:, 0, :1], logprobs[:, 0, :1]
        obvious = self._values.obvious(ids, logprobs)
        if obvious is not None:
            return obvious
        found = self._values.extend(ids, logprobs, candidates_for(1))
        # Added in the order of _ranked, so that ties are broken alike.
        ranks = self._arrays["scores"][: self.size, :, None] + found.logprobs + found.rewards
        at = (self._own_rows[: self.size, 0], 0, ranks[:, 0].argmax(axis=1))
        return found.ids[at][:, None], found.logprobs[at][:, None]

    def latest(self, index: int) -> tuple[int, float]:
        """Return the last token of the best live hypothesis of a sentence, and its log-probability."""
        step = int(self._arrays["steps"][index]) - 1
        return int(self._arrays["tokens"][index, 0]), float(self._arrays["past_gains"][index, step, 0])

    def hypotheses(self, index: int) -> tuple[Hypothesis, ...]:
        """Return the best finished hypotheses of a sentence that is done, best first, as many as were requested."""
        found = sorted(self._finished[index], key=lambda finished: (not finished.whole, -finished.score))
        return tuple(self._walk_back(index, finished) for finished in found[: self._n_best[index]])

    def trace(self, index: int) -> SearchTrace | None:
        """Return the recorded search of a sentence that is done; None if it was not recorded."""
        recorder = self._recorders[index]
        return None if recorder is None else recorder.trace(self.hypotheses(index)[0].ids)

    def _ranked(self, ids: IntArray, logprobs: FloatArray) -> BeamCandidates:
        """Return the best 2 * K continuations of every sentence, best first, [B, 2 * K]."""
        size, token_logprobs, rewards = self.size, self._allowed(ids, logprobs), None
        if self._values.active:
            ids, token_logprobs, rewards = self._values.extend(ids, token_logprobs, candidates_for(self.beam_size))
        width = ids.shape[2]
        scores: npt.NDArray[np.float64] = self._arrays["scores"][:size, :, None]
        totals = (scores + token_logprobs).reshape(size, -1)
        # Stable, so that ties are broken by slot and candidate, independent of other sentences.
        ranks = totals if rewards is None else totals + rewards.reshape(size, -1)
        order = (-ranks).argsort(axis=1, kind="stable")[:, : 2 * self.beam_size]
        at = order + self._own_rows[:size] * totals.shape[1]  # flat: a third of the cost of two indices
        return BeamCandidates(order // width, ids.take(at), token_logprobs.take(at), totals.take(at))

    def _allowed(self, ids: IntArray, logprobs: FloatArray) -> FloatArray:
        """Return the log-probabilities with -inf for tokens that must not be chosen, [B, K, C]."""
        forbidden = self._guard.forbidden(ids) if self._deepest + 1 >= LEAST_RUN else None
        if self._has_shortest:
            early = self._arrays["steps"][: self.size] < self._arrays["shortest"][: self.size]
            ends = early[:, None, None] & (ids == self._eos)
            if np.count_nonzero(ends):
                forbidden = ends if forbidden is None else forbidden | ends
        if forbidden is None:
            return logprobs
        token_logprobs: FloatArray = np.where(forbidden, np.float32(-np.inf), logprobs)
        return token_logprobs

    def _record_step(
        self,
        read: tuple[IntArray, FloatArray],
        ranked: BeamCandidates,
        marks: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]],
        live: BeamCandidates,
    ) -> None:
        """Record a step of the sentences that ask for it; `marks` are which of `ranked` are possible, and which end."""
        possible, closing = marks
        for index, recorder in enumerate(self._recorders):
            if recorder is None:
                continue
            recorder.read(read[0][index], read[1][index])
            recorder.consider(ranked.of(index), possible[index], closing[index])
            recorder.keep(live.of(index), first=int(self._arrays["steps"][index]) == 0)

    def _finish(self, best: BeamCandidates, closing: npt.NDArray[np.bool_]) -> None:
        """Record the hypotheses that end here: those marked among the best K, [B, K]."""
        steps, penalty = self._arrays["steps"], self._arrays["penalty"]
        for index, rank in np.argwhere(closing).tolist():
            step, token = int(steps[index]), int(best.tokens[index, rank])
            score = float(best.scores[index, rank]) / float((step + 1) ** penalty[index])
            reason: FinishReason = "eos" if token == self._eos else "length"
            parent, gain = int(best.parents[index, rank]), float(best.token_logprobs[index, rank])
            whole = not self._values.active or self._values.complete(index, parent)
            self._record(index, Finished(score, step, parent, token, gain, reason, whole))

    def _close_without_tokens(self, stranded: list[int]) -> None:
        """Close sentences without allowed tokens: if no hypothesis is finished, with the best live one as it is."""
        for index in stranded:
            if not self._finished[index]:
                closed = self._close_live(index, int(self._arrays["scores"][index].argmax()))
                self._record(index, closed)
                if (recorder := self._recorders[index]) is not None:
                    recorder.close(self._walk_back(index, closed).ids)

    def _record(self, index: int, finished: Finished) -> None:
        found = self._finished[index]
        found.append(finished)
        self._arrays["closed"][index] = len(found)
        scores, n_best = [each.score for each in found], self._n_best[index]
        self._arrays["to_win"][index] = score_to_win(scores, n_best)
        self._arrays["to_go_on"][index] = score_to_go_on(scores, n_best, self.beam_size, self._early_stopping[index])

    def _close_live(self, index: int, slot: int) -> Finished:
        """Close the live hypothesis of a slot with the tokens it has, possibly none."""
        arrays = self._arrays
        step = int(arrays["steps"][index]) - 1
        if step < 0:
            return Finished(0.0, -1, 0, self._eos, 0.0, "length")
        score = float(arrays["scores"][index, slot]) / float((step + 1) ** arrays["penalty"][index])
        token, parent = divmod(int(arrays["past"][index, step, slot]), MAX_BEAM_SIZE)
        return Finished(score, step, parent, token, float(arrays["past_gains"][index, step, slot]), "length")

    def _assign_slots(self, candidates: BeamCandidates) -> BeamCandidates:
        """Assign slots to the live hypotheses, best first: the best child gets its parent's, the others free ones."""
        size, beam_size = candidates.tokens.shape
        if beam_size == 1:
            return candidates
        own, rows = self._own_slots[:size], self._own_rows[:size]
        # Worst first, so that the best child keeps a slot that several claim.
        occupant = np.full((size, beam_size), -1)
        occupant[rows, candidates.parents[:, ::-1]] = own[:, ::-1]
        placed = occupant[rows, candidates.parents] == own
        if np.count_nonzero(placed) < placed.size:
            # A sentence has as many free slots as live hypotheses without a slot; both are in order.
            occupant[occupant < 0] = own[~placed]
        candidates = candidates.taken(occupant + rows * beam_size)
        # Before the first token all slots are the same, and an empty slot has no parent: neither needs to move.
        still = candidates.scores == -np.inf
        if self._starting:
            still |= self._arrays["steps"][:size, None] == 0
        if np.count_nonzero(still):
            np.copyto(candidates.parents, own, where=still)
        return candidates

    def _append_step(self, candidates: BeamCandidates) -> None:
        """Write the step into the history and make it the current one."""
        size, arrays = self.size, self._arrays
        steps = arrays["steps"][:size]
        self._make_history()
        at = (self._own_rows[:size, 0], steps)
        arrays["past"][at] = candidates.tokens * MAX_BEAM_SIZE + candidates.parents
        arrays["past_gains"][at] = candidates.token_logprobs
        arrays["scores"][:size] = candidates.scores
        arrays["tokens"][:size] = candidates.tokens
        steps += 1
        self._advance_rules(candidates.parents, candidates.tokens)

    def _make_history(self) -> None:
        """Make room for one more token in the history."""
        arrays = self._arrays
        self._deepest += 1
        self._starting = False
        if self._deepest > arrays["past"].shape[1]:
            arrays["past"] = grow(arrays["past"], self._deepest, axis=1)
            arrays["past_gains"] = grow(arrays["past_gains"], self._deepest, axis=1)

    def _advance_rules(self, parents: IntArray, tokens: IntArray) -> None:
        """Tell the rules about repetition and values the tokens of a step."""
        self._guard.advance(parents, tokens)
        if self._values.active:
            self._values.advance(parents, tokens)

    def _done(self, last: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
        """Return which sentences are finished, [B]."""
        size, arrays = self.size, self._arrays
        if last is None:
            last = np.zeros(size, bool)
        if not np.count_nonzero(arrays["closed"][:size]):
            return last
        best: npt.NDArray[np.float64] = arrays["scores"][:size].max(axis=1)
        to_win, to_go_on = arrays["to_win"][:size], arrays["to_go_on"][:size]
        steps, penalty = arrays["steps"][:size], arrays["penalty"][:size]
        # A sum of log-probabilities never rises, so this is the most that a live hypothesis can reach so soon.
        hopeless = to_win >= best / np.minimum(steps + arrays["lookahead"][:size], arrays["longest"][:size]) ** penalty
        enough = to_go_on >= best / steps**penalty
        done: npt.NDArray[np.bool_] = last | hopeless | enough
        return done

    def _row_parents(self, parents: IntArray, done: npt.NDArray[np.bool_]) -> IntArray | None:
        """Convert slots within sentences to rows of the batch; sentences that leave need no moves."""
        if self.beam_size == 1:
            return None
        if np.count_nonzero(done):
            parents = np.where(done[:, None], self._own_slots[: self.size], parents)
        rows: IntArray = (self._own_rows[: self.size] * self.beam_size + parents).ravel()
        return rows

    def _walk_back(self, index: int, finished: Finished) -> Hypothesis:
        """Follow the back-pointers of a finished hypothesis to its first token."""
        if finished.step < 0:
            return Hypothesis((), (), 0.0, finished.reason)
        ids, token_logprobs, slot = [finished.token], [finished.logprob], finished.parent
        past = self._arrays["past"][index, : finished.step].tolist()
        past_gains = self._arrays["past_gains"][index, : finished.step].tolist()
        for tokens, gains in zip(reversed(past), reversed(past_gains), strict=True):
            token_logprobs.append(gains[slot])
            token, slot = divmod(tokens[slot], MAX_BEAM_SIZE)
            ids.append(token)
        return Hypothesis(tuple(reversed(ids)), tuple(reversed(token_logprobs)), finished.score, finished.reason)
