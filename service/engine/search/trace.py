"""The history of one beam search, recorded while it runs: what was considered, kept, finished and pruned.

Only sentences that ask for it are recorded. Recording reads what a step has computed and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.engine.jobs import FloatArray, IntArray, SearchTrace, TracedHypothesis

FOLLOWING = 5  # likeliest next tokens that are recorded for each hypothesis in the beam


class BeamCandidates(NamedTuple):
    """The K live hypotheses of each sentence, [B, K] each, best first or by slot."""

    parents: IntArray
    tokens: IntArray
    token_logprobs: FloatArray
    scores: npt.NDArray[np.float64]

    def of(self, index: int) -> BeamCandidates:
        """Return those of one sentence, [K] each."""
        return BeamCandidates(self.parents[index], self.tokens[index], self.token_logprobs[index], self.scores[index])

    def taken(self, at: IntArray) -> BeamCandidates:
        """Return copies of the entries at these positions of the flattened arrays."""
        return BeamCandidates(
            self.parents.take(at), self.tokens.take(at), self.token_logprobs.take(at), self.scores.take(at)
        )


class Recorder:
    """Records the search of one sentence; index 0 is the empty hypothesis, before the first token."""

    def __init__(self, bos: int) -> None:
        self._nodes = [TracedHypothesis(-1, bos, 0.0, 0.0, "live")]
        self._in_slot = {0: 0}  # the hypothesis in each slot of the beam
        self._considered: dict[tuple[int, int], int] = {}  # by (parent, token), of this step; not those that end

    def read(self, ids: IntArray, logprobs: FloatArray) -> None:
        """Record the model's likeliest next tokens of the hypotheses in the beam, [K, C] each, best first."""
        for slot, node in self._in_slot.items():
            likeliest = zip(ids[slot, :FOLLOWING].tolist(), logprobs[slot, :FOLLOWING].tolist(), strict=True)
            self._nodes[node] = self._nodes[node]._replace(following=tuple(likeliest))

    def consider(self, ranked: BeamCandidates, possible: npt.NDArray[np.bool_], closing: npt.NDArray[np.bool_]) -> None:
        """Record the continuations that a step considers, [2 * K], best first; `closing` [K] are those that end."""
        self._considered = {}
        rows = zip(*(part.tolist() for part in ranked), possible.tolist(), strict=True)
        for rank, (slot, token, logprob, total, allowed) in enumerate(rows):
            if not allowed:
                continue
            parent = self._in_slot[slot]
            if rank < len(closing) and closing[rank]:
                self._nodes.append(TracedHypothesis(parent, token, logprob, total, "finished"))
            else:
                self._considered[parent, token] = len(self._nodes)
                self._nodes.append(TracedHypothesis(parent, token, logprob, total, "pruned"))

    def keep(self, live: BeamCandidates, *, first: bool) -> None:
        """Record the hypotheses that stay in the beam, [K], by slot; `first`: the step chose the first tokens."""
        in_slot: dict[int, int] = {}
        for slot, (parent, token, _, total) in enumerate(zip(*(part.tolist() for part in live), strict=True)):
            if total == -np.inf:
                continue
            node = self._considered.get((0 if first else self._in_slot[parent], token))
            if node is not None:  # None: it was closed by the length limit
                self._nodes[node] = self._nodes[node]._replace(outcome="live")
                in_slot[slot] = node
        self._in_slot = in_slot

    def close(self, ids: Sequence[int]) -> None:
        """Record that a hypothesis is finished without a further token, because no token may follow."""
        node = self.path_of(ids)[-1]
        self._nodes[node] = self._nodes[node]._replace(outcome="finished")

    def path_of(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the hypotheses on the way to one, the empty one first."""
        children = {(node.parent, node.token): at for at, node in enumerate(self._nodes)}
        path = [0]
        for token in ids:
            path.append(children[path[-1], token])
        return tuple(path)

    def trace(self, ids: Sequence[int]) -> SearchTrace:
        """Return the whole search with the path of the best hypothesis."""
        return SearchTrace(tuple(self._nodes), self.path_of(ids))
