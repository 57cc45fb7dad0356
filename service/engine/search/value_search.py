"""Follows the values of every hypothesis of a batch: what each may write next, and what it has written.

The rules of the automaton are in `service.engine.values.constraints`; here they are applied to all rows at once, and to
the rows of sentences with values only. Three things guide the choice:

- Where the model would write a digit, the values that are left may begin, at about the log-probability of that digit.
- Where the model would end the translation, a value that is left may begin at a penalty, instead of the end.
- A hypothesis ranks higher by REWARD for each value that it has begun. All finished hypotheses have all values, so the
  reward has no part in their scores; it keeps in the beam what Post and Vilar (2018) keep in banks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from service.engine.model.buffers import grow
from service.engine.types import FloatArray, IntArray
from service.engine.values.constraints import ROOT, ValueConstraints, compile_values, unpacked

REWARD = 1.0  # the ranks of hypotheses: for each value begun
INSTEAD = 2.0  # a value for the digit that the model would write
LATE = 4.0  # a value for the end that the model would write
IN_ORDER = 0.1  # for each value of the source before the one that begins in place of something else
LEAST_INSIDE = -1.0  # a token that must follow costs no more than this
CANDIDATES = 24  # of a row; more than a search without values needs, so that a value's own token is among them
_NOTHING = -np.inf
Flags = npt.NDArray[np.bool_]


class Extended(NamedTuple):
    """The candidates of all rows with those of values after the model's own, [B, K, C + E] each."""

    ids: IntArray
    logprobs: FloatArray
    rewards: npt.NDArray[np.float64]  # added for the rank alone


class ValueSearch:
    """The values of B sentences with K hypotheses each; sentences without values take no part."""

    def __init__(self, beam_size: int, eos: int) -> None:
        self._beam_size, self._eos = beam_size, eos
        self._given = 0  # candidates of a row that a sentence without values may use
        self.active = 0  # sentences with values
        rows, one = (0, beam_size), (0,)
        edges, nodes = (0, 8), (0, 8)
        self._arrays: dict[str, npt.NDArray[Any]] = {
            "valued": np.zeros(one, bool),
            "every": np.zeros(one, np.int64),
            "whole": np.zeros(one, np.int64),  # bits of the values that no letter may follow
            "reserved": np.zeros(one, bool),  # whether digits stand in values only
            "met": np.zeros(rows, np.int64),
            "node": np.zeros(rows, np.int64),
            "opened": np.zeros(rows, bool),  # the last token lets a value follow without a space
            "closed": np.zeros(rows, bool),  # the last token ends a value that no letter may follow
            "start": np.full(edges, -1, np.int64),
            "token": np.full(edges, -1, np.int64),
            "end": np.zeros(edges, np.int64),
            "values": np.zeros(edges, np.int64),
            "inside": np.zeros(edges, bool),
            "ends": np.zeros(nodes, np.int64),
        }
        self._digits = self._openers = self._continuing = np.zeros(0, bool)

    def add(self, index: int, constraints: ValueConstraints | None) -> None:
        """Add sentence `index` with its values; None: it has none."""
        arrays = self._arrays
        if index >= len(arrays["valued"]):
            for name, array in arrays.items():
                arrays[name] = grow(array, index + 1)
        arrays["valued"][index] = constraints is not None
        if constraints is None:
            return
        self.active += 1
        classes = constraints.classes
        self._digits = unpacked(classes.digits, classes.size)
        self._openers = unpacked(classes.openers, classes.size)
        self._continuing = unpacked(classes.continuing, classes.size)
        automaton = compile_values(constraints)
        count, nodes = len(automaton.edges), len(automaton.ends)
        self._make_room(count, nodes)
        arrays["every"][index], arrays["whole"][index] = automaton.every, automaton.whole_words
        arrays["reserved"][index] = constraints.digits_reserved
        arrays["met"][index] = arrays["node"][index] = 0
        arrays["opened"][index], arrays["closed"][index] = True, False
        arrays["start"][index] = -1
        columns = np.array(automaton.edges, np.int64).T
        for name, column in zip(("start", "token", "end", "values", "inside"), columns, strict=True):
            arrays[name][index, :count] = column
        arrays["ends"][index, :nodes] = automaton.ends

    def remove(self, removed: list[int] | Any, holes: IntArray, movers: IntArray) -> None:
        """Remove the sentences `removed`; `holes` and `movers` are those of `plan_swap_remove`."""
        if self.active:
            self.active -= int(np.count_nonzero(self._arrays["valued"][np.asarray(removed, np.int64)]))
        for array in self._arrays.values():
            array[holes] = array[movers]

    def complete(self, index: int, slot: int) -> bool:
        """Return whether a hypothesis has written all values of its sentence, if it ends here."""
        arrays = self._arrays
        if not arrays["valued"][index]:
            return True
        met = int(arrays["met"][index, slot])
        final = int(arrays["ends"][index, arrays["node"][index, slot]]) & ~met
        return met | (final & -final) == int(arrays["every"][index])

    def extend(self, ids: IntArray, logprobs: FloatArray, given: int) -> Extended:
        """Return the candidates that may follow, and those that begin or continue values.

        `ids` and `logprobs` are [B, K, C]; a sentence without values uses the first `given` of C.
        """
        size, width = len(ids), ids.shape[2]
        at = self._arrays["valued"][:size].nonzero()[0]
        edges = self._arrays["token"].shape[1]
        shape = (size, self._beam_size, width + edges)
        all_ids, all_logprobs = np.zeros(shape, np.int64), np.full(shape, _NOTHING, np.float32)
        rewards = np.zeros(shape, np.float64)
        all_ids[:, :, :width] = ids
        all_logprobs[:, :, :given] = logprobs[:, :, :given]
        own_logprobs, edge_logprobs, own_rewards = self._guided(at, ids[at], logprobs[at])
        all_ids[at, :, width:] = self._arrays["token"][at][:, None]
        all_logprobs[at, :, :width] = own_logprobs
        all_logprobs[at, :, width:] = edge_logprobs
        rewards[at] = own_rewards
        return Extended(all_ids, all_logprobs, rewards)

    def advance(self, parents: IntArray, tokens: IntArray) -> None:
        """Append its token to every row [B, K], which continues the row in slot `parents` of its sentence."""
        arrays = self._arrays
        at = arrays["valued"][: len(tokens)].nonzero()[0]
        tokens, parents = tokens[at], parents[at]
        met, node, opened = (np.take_along_axis(arrays[name][at], parents, 1) for name in ("met", "node", "opened"))
        same = arrays["token"][at][:, None] == tokens[:, :, None]  # [n, K, E]
        start, values, inside = (
            arrays["start"][at][:, None],
            arrays["values"][at][:, None],
            arrays["inside"][at][:, None],
        )
        ends = arrays["ends"][at]
        left = (values & ~met[:, :, None]) != 0
        on = same & left & (start == node[:, :, None]) & (~inside | opened[:, :, None])
        # A value ends where no edge goes on, and the token may begin another.
        leaves = (node != ROOT) & ~on.any(axis=2)
        met = np.where(leaves, met | _lowest(np.take_along_axis(ends, node, 1) & ~met), met)
        begins = same & leaves[:, :, None] & (start == ROOT) & ~inside & ((values & ~met[:, :, None]) != 0)
        on |= begins
        followed = on.any(axis=2)
        node = np.where(followed, np.take_along_axis(arrays["end"][at], on.argmax(axis=2), 1), ROOT)
        final = np.take_along_axis(ends, node, 1) & ~met
        goes_on = ((start == node[:, :, None]) & ((values & ~met[:, :, None]) != 0)).any(axis=2)
        written = followed & (final != 0) & ~goes_on
        bit = np.where(written, _lowest(final), 0)
        arrays["met"][at] = met | bit
        arrays["node"][at] = np.where(written, ROOT, node)
        arrays["opened"][at] = self._openers.take(tokens, mode="clip")
        arrays["closed"][at] = (bit & arrays["whole"][at][:, None]) != 0

    def _make_room(self, edges: int, nodes: int) -> None:
        for names, count in ((("start", "token", "end", "values", "inside"), edges), (("ends",), nodes)):
            for name in names:
                before = self._arrays[name]
                if count > before.shape[1]:
                    self._arrays[name] = np.pad(
                        before,
                        ((0, 0), (0, -(-count // 8) * 8 - before.shape[1])),
                        constant_values=-1 if name in ("start", "token") else 0,
                    )

    def _guided(
        self, at: IntArray, ids: IntArray, logprobs: FloatArray
    ) -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
        """Return the log-probabilities of the model's candidates and of the edges, and the rewards of both.

        Arrays are those of the sentences with values alone: ids and logprobs [n, K, C], edges [n, K, E].
        """
        arrays = self._arrays
        met, node = arrays["met"][at], arrays["node"][at]  # [n, K]
        start, inside, token = arrays["start"][at][:, None], arrays["inside"][at][:, None], arrays["token"][at]
        values = arrays["values"][at][:, None]
        at_root = node == ROOT
        final = np.take_along_axis(arrays["ends"][at], node, 1) & ~met
        ended = _lowest(final)
        free = at_root | (final != 0)
        after = met | ended  # the values written if the value here ends
        inner = (start == node[:, :, None]) & ~at_root[:, :, None] & ((values & ~met[:, :, None]) != 0)
        outer = (start == ROOT) & free[:, :, None] & ((values & ~after[:, :, None]) != 0)
        outer &= ~inside | (at_root & arrays["opened"][at])[:, :, None]
        allowed = inner | outer  # [n, K, E]

        same = ids[:, :, :, None] == token[:, None, None, :]  # [n, K, C, E]
        model = np.where(same, logprobs[:, :, :, None], np.float32(_NOTHING)).max(axis=2)  # [n, K, E]
        with_digit = self._digits.take(ids, mode="clip")  # [n, K, C]
        is_end = ids == self._eos
        # A digit that would continue the word before it asks for a longer number, not for another one.
        continues = self._continuing.take(ids, mode="clip")
        asks = with_digit & at_root[:, :, None] & (~continues | arrays["opened"][at][:, :, None])
        digit = np.where(asks, logprobs, _NOTHING).max(axis=2)[:, :, None] - INSTEAD
        end = np.where(is_end, logprobs, _NOTHING).max(axis=2)[:, :, None] - LATE
        order = IN_ORDER * np.log2(_lowest(values).clip(1))
        digit_edge = self._digits.take(token, mode="clip")[:, None]
        instead = np.maximum(np.where(digit_edge, digit, _NOTHING), end) - order
        forced = np.where(model > _NOTHING, np.maximum(model, LEAST_INSIDE), 2 * LEAST_INSIDE)
        begun = np.maximum(model, instead)
        edge_logprobs = np.where(outer, begun, np.where(free[:, :, None], model, forced))
        edge_logprobs = np.where(allowed, np.minimum(edge_logprobs, 0.0), _NOTHING).astype(np.float32)

        # The first token of a stand-in may not be used for anything else; that of a negative number is a dash.
        first = (start == ROOT) & ~self._openers.take(token, mode="clip")[:, None]
        reserved = (first & ((values & arrays["whole"][at][:, None, None]) != 0))[:, :, None, :]
        forbidden = ~free[:, :, None] | (same & (allowed[:, :, None, :] | reserved)).any(axis=3)
        forbidden |= with_digit & arrays["reserved"][at][:, None, None]
        forbidden |= is_end & (after != arrays["every"][at][:, None])[:, :, None]
        closed = arrays["closed"][at] | ((ended & arrays["whole"][at][:, None]) != 0)
        forbidden |= closed[:, :, None] & continues
        own = np.where(forbidden, np.float32(_NOTHING), logprobs)

        rewards = np.empty((*ids.shape[:2], ids.shape[2] + token.shape[1]))
        rewards[:] = REWARD * (np.bitwise_count(met) + ~at_root)[:, :, None]
        rewards[:, :, ids.shape[2] :] += REWARD * outer
        return own, edge_logprobs, rewards


def _lowest(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the lowest bit that is set."""
    lowest: npt.NDArray[np.int64] = bits & -bits
    return lowest
