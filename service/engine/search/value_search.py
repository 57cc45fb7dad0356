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


class _View(NamedTuple):
    """The automata of the sentences with values, which change only when a sentence joins or leaves."""

    at: IntArray  # [n], their indices
    start: IntArray  # [n, 1, E], as the others but for `ends`
    token: IntArray
    end: IntArray
    values: IntArray
    outer: Flags  # edges from the root
    inside: Flags
    digit: Flags  # the token has a digit
    reserved: Flags  # the token is the first of a stand-in, and may not be used for anything else
    order: npt.NDArray[np.float64]  # the penalty for a value that begins in place of something else
    ends: IntArray  # [n, M]
    every: IntArray  # [n, 1]
    whole: IntArray  # [n, 1]
    soft: IntArray  # [n, 1]
    soft_nodes: Flags  # [n, M]
    digits_reserved: Flags  # [n, 1, 1]


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
            "soft": np.zeros(one, np.int64),  # bits of the values whose tokens may stand elsewhere
            "soft_nodes": np.zeros(nodes, bool),
        }
        self._digits = self._openers = self._continuing = np.zeros(0, bool)
        self._view: _View | None = None

    def add(self, index: int, constraints: ValueConstraints | None) -> None:
        """Add sentence `index` with its values; None: it has none."""
        arrays = self._arrays
        if index >= len(arrays["valued"]):
            for name, array in arrays.items():
                arrays[name] = grow(array, index + 1)
        arrays["valued"][index] = constraints is not None
        self._view = None
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
        arrays["soft"][index], arrays["soft_nodes"][index, :nodes] = automaton.soft, automaton.soft_nodes

    def remove(self, removed: list[int] | Any, holes: IntArray, movers: IntArray) -> None:
        """Remove the sentences `removed`; `holes` and `movers` are those of `plan_swap_remove`."""
        if self.active:
            self.active -= int(np.count_nonzero(self._arrays["valued"][np.asarray(removed, np.int64)]))
        for array in self._arrays.values():
            array[holes] = array[movers]
        self._view = None

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
        view = self._automata(len(ids))
        at, width = view.at, ids.shape[2]
        everyone = len(at) == len(ids)
        own_logprobs, edge_logprobs, own_rewards = (
            self._guided(view, ids, logprobs) if everyone else self._guided(view, ids[at], logprobs[at])
        )
        if everyone:
            edge_ids = np.broadcast_to(view.token, edge_logprobs.shape)
            return Extended(
                np.concatenate((ids, edge_ids), axis=2),
                np.concatenate((own_logprobs, edge_logprobs), axis=2),
                own_rewards,
            )
        shape = (*ids.shape[:2], width + view.token.shape[2])
        all_ids, all_logprobs = np.zeros(shape, np.int64), np.full(shape, _NOTHING, np.float32)
        rewards = np.zeros(shape, np.float64)
        all_ids[:, :, :width] = ids
        all_logprobs[:, :, :given] = logprobs[:, :, :given]
        all_ids[at, :, width:] = view.token
        all_logprobs[at, :, :width] = own_logprobs
        all_logprobs[at, :, width:] = edge_logprobs
        rewards[at] = own_rewards
        return Extended(all_ids, all_logprobs, rewards)

    def advance(self, parents: IntArray, tokens: IntArray) -> None:
        """Append its token to every row [B, K], which continues the row in slot `parents` of its sentence."""
        arrays, view = self._arrays, self._automata(len(tokens))
        at = view.at
        tokens = tokens[at]
        met, node, opened = arrays["met"][at], arrays["node"][at], arrays["opened"][at]
        if self._beam_size > 1:
            parents = parents[at]
            met, node, opened = (np.take_along_axis(array, parents, 1) for array in (met, node, opened))
        same = (view.token == tokens[:, :, None]) & ((view.values & ~met[:, :, None]) != 0)  # [n, K, E]
        on = same & (view.start == node[:, :, None]) & (~view.inside | opened[:, :, None])
        closed: Flags | bool = False
        if np.count_nonzero(node) or np.count_nonzero(on):
            continues = self._continuing.take(tokens, mode="clip")
            met, node, closed = self._followed(view, (met, node), (same, continues), on)
        arrays["met"][at], arrays["node"][at] = met, node
        arrays["opened"][at] = self._openers.take(tokens, mode="clip")
        arrays["closed"][at] = closed

    @staticmethod
    def _followed(
        view: _View, state: tuple[IntArray, IntArray], chosen: tuple[Flags, Flags], on: Flags
    ) -> tuple[IntArray, IntArray, Flags]:
        """Return the values and nodes after the edges `on`, and whether a value that no letter may follow has ended.

        `chosen` are the edges with the chosen token whose values are left, [n, K, E] as `on`, and whether it continues
        a word, [n, K].
        """
        (met, node), (same, continues) = state, chosen
        # A value ends where no edge goes on, and the token may begin another.
        leaves = (node != ROOT) & ~on.any(axis=2)
        ended = _lowest(np.take_along_axis(view.ends, node, 1) & ~met)
        met = np.where(leaves & ~(continues & ((ended & view.soft) != 0)), met | ended, met)
        left = (view.values & ~met[:, :, None]) != 0
        on = on | (same & leaves[:, :, None] & view.outer & ~view.inside & left)
        followed = on.any(axis=2)
        node = np.where(followed, np.take_along_axis(view.end[:, 0], on.argmax(axis=2), 1), ROOT)
        final = np.take_along_axis(view.ends, node, 1) & ~met
        goes_on = ((view.start == node[:, :, None]) & left).any(axis=2)
        # A soft value ends with its word, which the next token decides.
        written = followed & ((_lowest(final) & ~view.soft) != 0) & ~goes_on
        bit = np.where(written, _lowest(final), 0)
        return met | bit, np.where(written, ROOT, node), (bit & view.whole) != 0

    def _automata(self, size: int) -> _View:
        """Return the automata of the running sentences."""
        if self._view is not None:
            return self._view
        arrays = self._arrays
        at = arrays["valued"][:size].nonzero()[0]
        start, token, end, values, inside = (
            arrays[name][at][:, None] for name in ("start", "token", "end", "values", "inside")
        )
        outer, whole = start == ROOT, arrays["whole"][at][:, None]
        # The first token of a negative number is a dash, which has other uses.
        reserved = outer & ~self._openers.take(token, mode="clip") & ((values & whole[:, :, None]) != 0)
        self._view = _View(
            at=at,
            start=start,
            token=token,
            end=end,
            values=values,
            outer=outer,
            inside=inside,
            digit=self._digits.take(token, mode="clip"),
            reserved=reserved,
            order=IN_ORDER * np.log2(_lowest(values).clip(1)),
            ends=arrays["ends"][at],
            every=arrays["every"][at][:, None],
            soft=arrays["soft"][at][:, None],
            soft_nodes=arrays["soft_nodes"][at],
            whole=whole,
            digits_reserved=arrays["reserved"][at][:, None, None],
        )
        return self._view

    def _make_room(self, edges: int, nodes: int) -> None:
        for names, count in ((("start", "token", "end", "values", "inside"), edges), (("ends", "soft_nodes"), nodes)):
            for name in names:
                before = self._arrays[name]
                if count > before.shape[1]:
                    self._arrays[name] = np.pad(
                        before,
                        ((0, 0), (0, -(-count // 8) * 8 - before.shape[1])),
                        constant_values=-1 if name in ("start", "token") else 0,
                    )

    def _guided(
        self, view: _View, ids: IntArray, logprobs: FloatArray
    ) -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
        """Return the log-probabilities of the model's candidates and of the edges, and the rewards of both.

        Arrays are those of the sentences with values alone: ids and logprobs [n, K, C], edges [n, K, E].
        """
        arrays, at = self._arrays, view.at
        met, node, opened = arrays["met"][at], arrays["node"][at], arrays["opened"][at][:, :, None]  # [n, K]
        closed = arrays["closed"][at]
        outer = view.outer & ((view.values & ~met[:, :, None]) != 0) & (~view.inside | opened)
        free, ending, at_root, after, inner = None, None, None, met, None
        if np.count_nonzero(node):
            at_root = (node == ROOT)[:, :, None]
            final = np.take_along_axis(view.ends, node, 1) & ~met
            ended = _lowest(final)
            ending = at_root | (final != 0)[:, :, None]
            free = ending | np.take_along_axis(view.soft_nodes, node, 1)[:, :, None]
            after = met | ended  # the values written if the value here ends
            closed = closed | ((ended & view.whole) != 0)
            inner = (view.start == node[:, :, None]) & ~at_root & ((view.values & ~met[:, :, None]) != 0)
            begins = view.outer & free & ((view.values & ~after[:, :, None]) != 0)
            outer = np.where(at_root, outer, begins & ~view.inside)
        allowed = outer if inner is None else inner | outer  # [n, K, E]

        with_digit = self._digits.take(ids, mode="clip")  # [n, K, C]
        continues = self._continuing.take(ids, mode="clip")
        is_end = ids == self._eos
        same = ids[:, :, :, None] == view.token[:, :, None, :]  # [n, K, C, E]
        forbidden = (same & (allowed | view.reserved)[:, :, None, :]).any(axis=3)
        forbidden |= with_digit & view.digits_reserved
        forbidden |= is_end & (after != view.every)[:, :, None]
        forbidden |= closed[:, :, None] & continues
        if free is not None:
            forbidden |= ~free
        own = np.where(forbidden, np.float32(_NOTHING), logprobs)

        rewards = _rewards(np.bitwise_count(met) + (node != ROOT), outer, ids.shape[2])
        if not np.count_nonzero(allowed):
            return own, np.full(allowed.shape, _NOTHING, np.float32), rewards

        model = np.where(same, logprobs[:, :, :, None], np.float32(_NOTHING)).max(axis=2)  # [n, K, E]
        # A digit that would continue the word before it asks for a longer number, not for another one.
        asks = with_digit & (~continues | opened)
        if at_root is not None:
            asks &= at_root
        begun = np.maximum(model, _instead(view, logprobs, asks, is_end))
        if inner is not None and ending is not None:
            forced = np.where(model > _NOTHING, np.maximum(model, LEAST_INSIDE), 2 * LEAST_INSIDE)
            begun = np.where(outer, begun, np.where(ending, model, forced))
        edge_logprobs = np.where(allowed, np.minimum(begun, 0.0), _NOTHING).astype(np.float32)
        return own, edge_logprobs, rewards


def _instead(view: _View, logprobs: FloatArray, asks: Flags, is_end: Flags) -> FloatArray:
    """Return the log-probabilities of values in place of a digit that is asked for, or of the end, [n, K, E]."""
    digit = np.where(asks, logprobs, _NOTHING).max(axis=2)[:, :, None] - INSTEAD
    end = np.where(is_end, logprobs, _NOTHING).max(axis=2)[:, :, None] - LATE
    instead: FloatArray = np.maximum(np.where(view.digit, digit, _NOTHING), end) - view.order
    return instead


def _rewards(begun: npt.NDArray[Any], outer: Flags, width: int) -> npt.NDArray[np.float64]:
    """Return the rewards of `width` candidates and of the edges, for the values that each row has begun, [n, K]."""
    rewards = np.zeros((*begun.shape, width + outer.shape[2]))
    rewards += REWARD * begun[:, :, None]
    rewards[:, :, width:] += REWARD * outer
    return rewards


def _lowest(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the lowest bit that is set."""
    lowest: npt.NDArray[np.int64] = bits & -bits
    return lowest
