"""Follows the values of every hypothesis of a batch: what each may write next, and what it has written.

The rules of the automaton are in `service.engine.values.constraints` and `states`; here they are applied to all rows at
once, and to the rows of sentences with values only. Three things guide the choice:

- Where the model would write a digit, the values that are left may begin, at about the log-probability of that digit.
- Where the model would end the translation, a value that is left may begin at a penalty, instead of the end.
- A hypothesis ranks higher by REWARD for each value that it has begun. All finished hypotheses have all values, so the
  reward has no part in their scores; it keeps in the beam what Post and Vilar (2018) keep in banks.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from service.engine.jobs import FloatArray, IntArray
from service.engine.model.buffers import grow
from service.engine.search.state_table import StateTable
from service.engine.values.constraints import ValueConstraints
from service.engine.values.states import DIGIT, END, ClassArray, StateMachine, general_classes, machine_of

REWARD = 1.0  # the ranks of hypotheses: for each value begun
INSTEAD = 2.0  # a value for the digit that the model would write
LATE = 4.0  # a value for the end that the model would write
IN_ORDER = 0.1  # for each value of the source before the one that begins in place of something else
LEAST_INSIDE = -1.0  # a token that must follow costs no more than this
CLEAR = REWARD + 1e-3  # a token so much likelier than all others ranks above every value that may begin
FEW_ROWS = 4  # are advanced one by one, which takes less time than a dozen array operations
CANDIDATES = 24  # of a row; more than a search without values needs, so that a value's own token is among them
_NOTHING = -np.inf
Flags = npt.NDArray[np.bool_]


class Extended(NamedTuple):
    """The candidates of all rows with those of values after the model's own, [B, K, C + E] each."""

    ids: IntArray
    logprobs: FloatArray
    rewards: npt.NDArray[np.float64]  # added for the rank alone


class _View(NamedTuple):
    """The edges of the sentences with values, which change only when a sentence joins or leaves."""

    at: IntArray  # [n], their indices
    token: IntArray  # [n, K, E]
    edge_class: IntArray  # [n, 1, E]
    digit: Flags  # [n, 1, E]: the token has a digit
    order: npt.NDArray[np.float64]  # [n, 1, E]: the penalty for a value that begins in place of something else
    classes: IntArray  # [n, 1]: where the classes of the sentence's tokens begin
    rows: IntArray  # [n, 1]: its first row


class ValueSearch:
    """The values of B sentences with K hypotheses each; sentences without values take no part."""

    def __init__(self, beam_size: int, eos: int) -> None:
        self._beam_size, self._eos = beam_size, eos
        self.active = 0  # sentences with values
        edges = (0, 8)
        self._arrays: dict[str, npt.NDArray[Any]] = {
            "machine": np.zeros((0,), np.int64),  # the number of a sentence's state machine; 0: it has no values
            "state": np.zeros((0, beam_size), np.int64),  # the places of the hypotheses' states in the table
            "token": np.full(edges, -1, np.int64),
            "edge_class": np.zeros(edges, np.int64),
            "digit": np.zeros(edges, bool),
            "order": np.zeros(edges, np.float64),
        }
        self._classes: ClassArray = np.zeros((0, 1), np.int16)  # [B, V], of each token for the sentence
        self._table = StateTable()
        self._view: _View | None = None

    def add(self, index: int, constraints: ValueConstraints | None) -> None:
        """Add sentence `index` with its values; None: it has none."""
        arrays = self._arrays
        if index >= len(arrays["machine"]):
            for name, array in arrays.items():
                arrays[name] = grow(array, index + 1)
        arrays["machine"][index] = 0
        self._view = None
        if constraints is None:
            return
        self.active += 1
        machine = machine_of(constraints, self._eos)
        arrays["machine"][index], arrays["state"][index] = self._table.add(machine)
        self._set_classes(index, machine, constraints)
        count = len(machine.edges)
        self._make_room(count)
        tokens = [edge.token for edge in machine.edges]
        arrays["token"][index] = -1
        arrays["token"][index, :count] = tokens
        arrays["edge_class"][index, :count] = [machine.class_of[token] for token in tokens]
        arrays["digit"][index, :count] = [machine.is_digit(token) for token in tokens]
        lowest = np.array([edge.values & -edge.values for edge in machine.edges], np.int64)
        arrays["order"][index, :count] = IN_ORDER * np.log2(lowest.clip(1))

    def leave(self, places: Sequence[int]) -> None:
        """Forget the sentences in these places."""
        machines = self._arrays["machine"]
        for place in places:
            if machine := int(machines[place]):
                machines[place] = 0
                self.active -= 1
                self._table.remove(machine)
        self._view = None

    def move(self, holes: IntArray, movers: IntArray) -> None:
        """Move the sentences `movers` to the places `holes`."""
        for array in self._arrays.values():
            array[holes] = array[movers]
        if self.active:
            # The classes of sentences without values are never read, and their arrays may be shorter.
            self._classes = grow(self._classes, int(movers.max()) + 1)
            self._classes[holes] = self._classes[movers]
        self._view = None

    def complete(self, index: int, slot: int) -> bool:
        """Return whether a hypothesis has written all values of its sentence, if it ends here."""
        arrays = self._arrays
        return not arrays["machine"][index] or bool(self._table.complete[arrays["state"][index, slot]])

    def extend(self, ids: IntArray, logprobs: FloatArray, given: int) -> Extended:
        """Return the candidates that may follow, and those that begin or continue values.

        `ids` and `logprobs` are [B, K, C]; a sentence without values uses the first `given` of C.
        """
        view = self._edges(len(ids))
        at, width = view.at, ids.shape[2]
        everyone = len(at) == len(ids)
        own_logprobs, edge_logprobs, own_rewards = (
            self._guided(view, ids, logprobs) if everyone else self._guided(view, ids[at], logprobs[at])
        )
        if everyone:
            return Extended(
                np.concatenate((ids, view.token), axis=2),
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

    def obvious(self, ids: IntArray, logprobs: FloatArray) -> tuple[IntArray, FloatArray] | None:
        """Return what `extend` would let single hypotheses go on with, [B, 1], where no comparison is needed for it.

        None: it is needed, or more than one sentence has values, for which arrays are cheaper.
        """
        if self.active != 1:
            return None
        [index] = self._edges(len(ids)).at.tolist()
        place, table = int(self._arrays["state"][index, 0]), self._table
        edge = int(table.only[place])
        if edge >= 0:
            return self._forced(index, int(self._arrays["token"][index, edge]), ids, logprobs)
        number = int(self._classes[index, min(int(ids[index, 0, 0]), self._classes.shape[1] - 1)])
        # An edge is no likelier than the second token, if the first is neither a value's nor a digit nor the end.
        # In the middle of a value that may be left, its next token is lifted (`_guided`) and may come before that one.
        plain = number < END and not number & DIGIT and not table.forbidden[place, number] and not table.forced[place]
        if not plain or float(logprobs[index, 0, 0]) - float(logprobs[index, 0, 1]) <= CLEAR:
            return None
        return ids[:, 0, :1], logprobs[:, 0, :1]

    def _forced(self, index: int, token: int, ids: IntArray, logprobs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the next token of each row where a sentence must go on with a token of a value."""
        found = ids[index, 0].tolist()
        logprob = 2 * LEAST_INSIDE
        if token in found:
            logprob = max(float(logprobs[index, 0, found.index(token)]), LEAST_INSIDE)
        tokens, token_logprobs = ids[:, 0, :1].copy(), logprobs[:, 0, :1].copy()
        tokens[index], token_logprobs[index] = token, min(logprob, 0.0)
        return tokens, token_logprobs

    def advance(self, parents: IntArray, tokens: IntArray) -> None:
        """Append its token to every row [B, K], which continues the row in slot `parents` of its sentence."""
        view = self._edges(len(tokens))
        states = self._arrays["state"]
        if len(view.at) * self._beam_size <= FEW_ROWS:
            known = self._classes.shape[1] - 1
            for index in view.at.tolist():
                before, own = states[index].tolist(), self._classes[index]
                states[index] = [
                    self._table.after(before[parent], int(own[min(token, known)]))
                    for parent, token in zip(parents[index].tolist(), tokens[index].tolist(), strict=True)
                ]
            return
        before = states[view.at] if self._beam_size == 1 else states.take(view.rows + parents[view.at])
        classes = self._classes.take(self._known(tokens[view.at]) + view.classes)
        states[view.at] = self._table.following(before, classes)

    def _edges(self, size: int) -> _View:
        """Return the edges of the running sentences."""
        if self._view is None:
            arrays = self._arrays
            at = arrays["machine"][:size].nonzero()[0]
            token, edge_class, digit, order = (
                arrays[name][at][:, None] for name in ("token", "edge_class", "digit", "order")
            )
            token = token.repeat(self._beam_size, axis=1)
            classes, rows = at[:, None] * self._classes.shape[1], at[:, None] * self._beam_size
            self._view = _View(at, token, edge_class, digit, order, classes, rows)
        return self._view

    def _known(self, ids: IntArray) -> IntArray:
        """Return ids within the vocabulary; a graph may score a few more, which mean nothing."""
        known: IntArray = np.minimum(ids, self._classes.shape[1] - 1)
        return known

    def _set_classes(self, index: int, machine: StateMachine, constraints: ValueConstraints) -> None:
        """Write the class of each token for a sentence."""
        general = general_classes(constraints.classes)
        if len(general) > self._classes.shape[1]:
            more = len(general) - self._classes.shape[1]
            self._classes = np.pad(self._classes, ((0, 0), (0, more)))
        self._classes = grow(self._classes, index + 1)
        own = self._classes[index]
        own[: len(general)] = general
        own[list(machine.class_of)] = list(machine.class_of.values())
        own[self._eos] = END

    def _make_room(self, edges: int) -> None:
        for name in ("token", "edge_class", "digit", "order"):
            before = self._arrays[name]
            if edges > before.shape[1]:
                more = -(-edges // 8) * 8 - before.shape[1]
                self._arrays[name] = np.pad(before, ((0, 0), (0, more)), constant_values=-1 if name == "token" else 0)

    def _guided(
        self, view: _View, ids: IntArray, logprobs: FloatArray
    ) -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
        """Return the log-probabilities of the model's candidates and of the edges, and the rewards of both.

        Arrays are those of the sentences with values alone: ids and logprobs [n, K, C], edges [n, K, E].
        """
        table, width, edges = self._table, ids.shape[2], view.token.shape[2]
        states = self._arrays["state"][view.at]  # [n, K]
        classes = self._classes.take(self._known(ids) + view.classes[:, :, None])  # [n, K, C]
        flags = table.places(states)[:, :, None] + classes
        own = np.where(table.forbidden.take(flags), np.float32(_NOTHING), logprobs)
        allowed, begins = table.allowed[states, :edges], table.begins[states, :edges]  # [n, K, E]
        rewards = np.empty((*states.shape, width + edges))
        rewards[:] = REWARD * table.begun[states][:, :, None]
        rewards[:, :, width:] += REWARD * begins
        if not np.count_nonzero(allowed):
            return own, np.full(allowed.shape, _NOTHING, np.float32), rewards

        # The model's log-probability of each class; those of several tokens are not read.
        every = np.full((*states.shape, table.classes), _NOTHING, np.float32)
        rows = np.arange(0, every.size, table.classes).reshape(*states.shape, 1)
        every.put(rows + classes, logprobs)
        model = every.take(rows + view.edge_class)  # [n, K, E]
        digit = np.where(table.asks.take(flags), logprobs, np.float32(_NOTHING)).max(axis=2)[:, :, None] - INSTEAD
        end = every[:, :, END, None] - LATE
        instead = np.maximum(np.where(view.digit, digit, np.float32(_NOTHING)), end) - view.order
        begun = np.maximum(model, instead)
        inner = allowed > begins
        if np.count_nonzero(inner):
            forced = np.where(model > _NOTHING, np.maximum(model, LEAST_INSIDE), 2 * LEAST_INSIDE)
            begun = np.where(inner, np.where(table.forced[states][:, :, None], forced, model), begun)
        edge_logprobs = np.where(allowed, np.minimum(begun, 0.0), _NOTHING).astype(np.float32)
        return own, edge_logprobs, rewards
