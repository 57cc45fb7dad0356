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
- when no token may follow;
- when K is 1 and the hypothesis is finished: greedy search.

A live hypothesis stays in the slot of the hypothesis it continues if possible (the best child takes precedence),
so that few rows of the model's state move.
"""

import numpy as np
import numpy.typing as npt

from service.bundle.limits import IMPOSSIBLE
from service.engine.jobs import FinishReason, FloatArray, IntArray
from service.engine.model.interface import Advance, Candidates, Choice
from service.engine.search.beam_state import BeamState, FinishedHypothesis, candidates_for
from service.engine.search.trace import BeamCandidates


class Beam(BeamState):
    """The search of B sentences with K hypotheses each."""

    def advance(self, candidates: Candidates) -> Advance:
        """Advance by one step with the model's candidates, [B, K, C] each, best first, C >= 2 * K."""
        last, choice = self._last_steps(), candidates.choice
        is_plain = last is None and not self._recorded and not self._has_prefixes
        if choice is not None and is_plain and self._guard.is_idle(self.size):
            live, ranks = self._assign_slots(self._accept(choice))
        else:
            live, ranks = self._choose(candidates, last), None
        self._append_step(live)
        done = self._done(last)
        scores = self._arrays["scores"][: self.size] if ranks is None else None
        return Advance(self._row_parents(live.parents, done), done.nonzero()[0].tolist(), ranks, scores)

    def _choose(self, candidates: Candidates, last: npt.NDArray[np.bool_] | None) -> BeamCandidates:
        """Finish the hypotheses that end with this step; return those that live, by slot."""
        ids, logprobs = read = candidates.ids, candidates.logprobs
        if self._recorded:  # the search itself sees no more than without a recording
            given = candidates_for(self.beam_size)
            ids, logprobs = ids[:, :, :given], logprobs[:, :, :given]
        best = self._ranked(ids, logprobs)
        ending = best.tokens == self._eos
        possible = best.scores > IMPOSSIBLE
        closing = ((ending if last is None else ending | last[:, None]) & possible)[:, : self.beam_size]
        if np.count_nonzero(closing):
            self._finish(best, closing)
        if np.count_nonzero(possible[:, 0]) < self.size:
            self._close_without_tokens((~possible[:, 0]).nonzero()[0].tolist())
        live, _ = self._assign_slots(_best_live(best, possible & ~ending, self.beam_size))
        if self._recorded:
            self._record_step(read, best, (possible, closing), live)
        return live

    def _accept(self, choice: Choice) -> BeamCandidates:
        """Finish the hypotheses that end with this step, as the model has chosen; return those that live, in order."""
        own, ending = self._own_slots[: self.size], choice.ends > -np.inf
        before: npt.NDArray[np.float64] = self._arrays["scores"][: self.size]
        totals = before.take(choice.slots + self._own_rows[: self.size] * self.beam_size) + choice.gains
        live = BeamCandidates(choice.slots, choice.tokens, choice.gains, totals)
        if np.count_nonzero(ending):
            ends = np.full(ending.shape, self._eos)
            self._finish(BeamCandidates(own, ends, choice.ends, before + choice.ends), ending)
        stranded = (totals[:, 0] <= IMPOSSIBLE) & ~ending.any(axis=1)
        if np.count_nonzero(stranded):
            self._close_without_tokens(stranded.nonzero()[0].tolist())
        return live

    def _in_prefix(self, ids: IntArray, logprobs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the candidates; in its prefix, a sentence has the next token of that alone, which is certain."""
        inside = [
            (index, prefix[step])
            for index, prefix in enumerate(self._prefixes)
            if (step := self._steps(index)) < len(prefix)
        ]
        if inside:
            ids, logprobs = ids.copy(), logprobs.copy()
        for index, token in inside:
            logprobs[index] = -np.inf
            ids[index, :, 0], logprobs[index, :, 0] = token, 0.0
        return ids, logprobs

    def _last_steps(self) -> npt.NDArray[np.bool_] | None:
        """Return which sentences reach their maximum length with this step, [B]; None if none does."""
        if self._now + 1 < self._first_end:
            return None
        start, longest = self._arrays["start"][: self.size], self._arrays["longest"][: self.size]
        last: npt.NDArray[np.bool_] = start + longest <= self._now + 1
        return last

    def _ranked(self, ids: IntArray, logprobs: FloatArray) -> BeamCandidates:
        """Return the best 2 * K continuations of every sentence, best first, [B, 2 * K]."""
        size, token_logprobs = self.size, self._allowed(ids, logprobs)
        if self._has_prefixes:
            ids, token_logprobs = self._in_prefix(ids, token_logprobs)
        width = ids.shape[2]
        scores: npt.NDArray[np.float64] = self._arrays["scores"][:size, :, None]
        totals = (scores + token_logprobs).reshape(size, -1)
        # Stable, so that ties are broken by slot and candidate, independent of other sentences.
        order = (-totals).argsort(axis=1, kind="stable")[:, : 2 * self.beam_size]
        at = order + self._own_rows[:size] * totals.shape[1]  # flat: a third of the cost of two indices
        return BeamCandidates(order // width, ids.take(at), token_logprobs.take(at), totals.take(at))

    def _allowed(self, ids: IntArray, logprobs: FloatArray) -> FloatArray:
        """Return the log-probabilities with -inf for tokens that must not be chosen, [B, K, C]."""
        forbidden = self._guard.forbidden(ids)
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
            recorder.keep(live.of(index), first=self._steps(index) == 0)

    def _finish(self, best: BeamCandidates, closing: npt.NDArray[np.bool_]) -> None:
        """Record the hypotheses that end here: those marked among the best K, [B, K]."""
        penalty = self._arrays["penalty"]
        for index, rank in np.argwhere(closing).tolist():
            step, token = self._steps(index), int(best.tokens[index, rank])
            score = float(best.scores[index, rank]) / float((step + 1) ** penalty[index])
            reason: FinishReason = "eos" if token == self._eos else "length"
            parent, gain = int(best.parents[index, rank]), float(best.token_logprobs[index, rank])
            self._record(index, FinishedHypothesis(score, step, parent, token, gain, reason))

    def _close_without_tokens(self, stranded: list[int]) -> None:
        """Close sentences without allowed tokens: if no hypothesis is finished, with the best live one as it is."""
        for index in stranded:
            if not self._finished[index]:
                closed = self._close_live(index, int(self._arrays["scores"][index].argmax()))
                self._record(index, closed)
                if (recorder := self._recorders[index]) is not None:
                    recorder.close(self._walk_back(index, closed).ids)

    def _assign_slots(self, candidates: BeamCandidates) -> tuple[BeamCandidates, IntArray]:
        """Assign slots to the live hypotheses, best first: the best child gets its parent's, the others free ones.

        Return them by slot, and for each slot the place of its hypothesis in the order.
        """
        size, beam_size = candidates.tokens.shape
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
            still |= self._arrays["start"][:size, None] == self._now
        if np.count_nonzero(still):
            np.copyto(candidates.parents, own, where=still)
        return candidates, occupant

    def _done(self, last: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
        """Return which sentences are finished, [B]."""
        size, arrays = self.size, self._arrays
        if last is None:
            last = np.zeros(size, bool)
        closed = arrays["closed"][:size] > 0
        if self.beam_size == 1 or not np.count_nonzero(closed):
            found: npt.NDArray[np.bool_] = last | closed
            return found
        best: npt.NDArray[np.float64] = arrays["scores"][:size].max(axis=1)
        to_win, to_go_on = arrays["to_win"][:size], arrays["to_go_on"][:size]
        steps, penalty = self._now - arrays["start"][:size], arrays["penalty"][:size]
        # A sum of log-probabilities never rises, so this is the most that a live hypothesis can reach so soon.
        hopeless = to_win >= best / np.minimum(steps + arrays["lookahead"][:size], arrays["longest"][:size]) ** penalty
        enough = to_go_on >= best / steps**penalty
        done: npt.NDArray[np.bool_] = last | hopeless | enough
        return done

    def _row_parents(self, parents: IntArray, done: npt.NDArray[np.bool_]) -> IntArray:
        """Convert slots within sentences to rows of the batch; sentences that leave need no moves."""
        if np.count_nonzero(done):
            parents = np.where(done[:, None], self._own_slots[: self.size], parents)
        rows: IntArray = (self._own_rows[: self.size] * self.beam_size + parents).ravel()
        return rows


def _best_live(best: BeamCandidates, living: npt.NDArray[np.bool_], beam_size: int) -> BeamCandidates:
    """Return the best K live ones, in order; if there are fewer, the others score -inf."""
    first = living[:, :beam_size]
    if np.count_nonzero(first) == first.size:
        slots = np.s_[:, :beam_size]
        return BeamCandidates(best.parents[slots], best.tokens[slots], best.token_logprobs[slots], best.scores[slots])
    rows = np.arange(len(living))[:, None]
    chosen = (~living).argsort(axis=1, kind="stable")[:, :beam_size]
    candidates = best.taken(chosen + rows * living.shape[1])
    return candidates._replace(scores=np.where(living[rows, chosen], candidates.scores, -np.inf))
