"""The states of a hypothesis in the automaton of its sentence's values, and what each allows; computed when needed.

A state is the set of written values, the node of the trie, and what the last token was. For the next token only its
class matters: one class for each token of a value, one for the end, and one for each kind of all others. So what a
state allows is one flag for each class and each edge, and a search over many rows only looks flags up.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.engine.values.constraints import ROOT, Edge, TokenClasses, ValueConstraints, compile_values, unpacked

DIGIT, CONTINUING, OPENER = 1, 2, 4  # the bits of the classes of tokens that no value has
END = 8  # the class of </s>
FIRST_OWN = 9  # the class of the first token of a value

ClassArray = npt.NDArray[np.int16]


class State(NamedTuple):
    """The state of a hypothesis."""

    met: int = 0  # bits of the values that are written
    node: int = ROOT
    opened: bool = True  # the last token lets a value follow without a space
    closed: bool = False  # the last token ends a value that no letter may follow


class Rules(NamedTuple):
    """The tokens that a state allows: a flag for each class of tokens, and for each edge."""

    forbidden: Sequence[bool]  # [classes] to a token that does not follow an edge
    asks: Sequence[bool]  # [classes] a digit that asks for a value in its place
    begins: Sequence[bool]  # [edges] this begins a value
    allowed: Sequence[bool]  # [edges]
    forced: bool  # whether nothing but an edge may follow
    only: int  # the number of the edge that must follow; -1: there is a choice
    begun: int  # values that are begun
    complete: bool  # whether all values are written if the translation ends here


class Step(NamedTuple):
    """What a token does to a hypothesis."""

    state: State
    left: int = 0  # bit of the value that ended before the token
    begins: bool = False  # whether the token begins a value
    ended: int = 0  # bit of the value that ends with it


class Place(NamedTuple):
    """A value in a translation: its number, and the range of its tokens."""

    value: int
    first: int
    end: int


@functools.lru_cache(maxsize=64)
def general_classes(classes: TokenClasses) -> ClassArray:
    """Return the class of each token of a vocabulary that no value has."""
    flags = (classes.digits, classes.continuing, classes.openers)
    digits, continuing, openers = (unpacked(each, classes.size) for each in flags)
    found: ClassArray = (digits * DIGIT + continuing * CONTINUING + openers * OPENER).astype(np.int16)
    return found


class StateMachine:
    """The states of one sentence's translations."""

    def __init__(self, constraints: ValueConstraints, eos: int) -> None:
        self._automaton = compile_values(constraints)
        self.edges = self._automaton.edges
        self._digits_reserved = constraints.digits_reserved
        self._eos, self._general = eos, general_classes(constraints.classes)
        tokens = dict.fromkeys(edge.token for edge in self.edges)
        self.class_of = {token: FIRST_OWN + number for number, token in enumerate(tokens)}
        self._leaving: list[dict[int, list[Edge]]] = [{} for _ in self._automaton.ends]  # by node and class
        for edge in self.edges:
            self._leaving[edge.start].setdefault(self.class_of[edge.token], []).append(edge)
        bits = [*range(END), *(int(self._general[token]) for token in (eos, *tokens))]
        self._digit, self._continuing, self._opener = (
            [bool(each & bit) for each in bits] for bit in (DIGIT, CONTINUING, OPENER)
        )
        self.classes = len(bits)
        # The first token of a negative number is a dash, which has other uses.
        self._reserved = {
            self.class_of[edge.token]
            for edge in self.edges
            if edge.start == ROOT
            and edge.values & self._automaton.whole_words
            and not self._opener[self.class_of[edge.token]]
        }

    def class_at(self, token: int) -> int:
        """Return the class of any token; the graph may score a few beyond the vocabulary, which mean nothing."""
        if token == self._eos:
            return END
        own = self.class_of.get(token)
        return int(self._general[min(token, len(self._general) - 1)]) if own is None else own

    def is_digit(self, token: int) -> bool:
        """Return whether a token of a value has a digit."""
        return self._digit[self.class_of[token]]

    def rules(self, state: State) -> Rules:
        """Return what may follow in a state."""
        automaton, (met, node, opened, closed) = self._automaton, state
        at_root = node == ROOT
        final = automaton.ends[node] & ~met
        ended = final & -final
        ending = at_root or final != 0
        free = ending or automaton.soft_nodes[node]
        after = met | ended  # the values written if the value here ends
        closed = closed or ended & automaton.whole_words != 0
        begins = [
            edge.start == ROOT and free and edge.values & ~after != 0 and (not edge.inside or (at_root and opened))
            for edge in self.edges
        ]
        allowed = [
            begin or (not at_root and edge.start == node and edge.values & ~met != 0)
            for begin, edge in zip(begins, self.edges, strict=True)
        ]
        own = {self.class_of[edge.token] for edge, may in zip(self.edges, allowed, strict=True) if may}
        every = after == automaton.every
        forbidden = [
            not free
            or (self._digits_reserved and self._digit[number])
            or (closed and self._continuing[number])
            or (number == END and not every)
            or number in own
            or number in self._reserved
            for number in range(self.classes)
        ]
        asks = [
            at_root and digit and (opened or not continues)
            for digit, continues in zip(self._digit, self._continuing, strict=True)
        ]
        only = allowed.index(True) if not free and sum(allowed) == 1 else -1
        return Rules(forbidden, asks, begins, allowed, not ending, only, met.bit_count() + (not at_root), every)

    def following(self, state: State, number: int) -> State:
        """Return the state after a token of a class."""
        return self.step(state, number).state

    def step(self, state: State, number: int) -> Step:
        """Return what a token of a class does in a state."""
        automaton, (met, node, opened, _) = self._automaton, state
        opens, left = self._opener[number], 0
        on = [e for e in self._leaving[node].get(number, ()) if e.values & ~met and (opened or not e.inside)]
        if node != ROOT and not on:
            # A value ends where no edge goes on, and the token may begin another.
            left = _lowest(automaton.ends[node] & ~met)
            if self._continuing[number] and left & automaton.soft:
                left = 0
            met |= left
            on = [e for e in self._leaving[ROOT].get(number, ()) if e.values & ~met and not e.inside]
        if not on:
            return Step(State(met, ROOT, opens), left)
        node, begins = on[0].end, on[0].start == ROOT
        bit = _lowest(automaton.ends[node] & ~met)
        goes_on = any(edge.values & ~met for edges in self._leaving[node].values() for edge in edges)
        if bit & ~automaton.soft and not goes_on:
            return Step(State(met | bit, ROOT, opens, bit & automaton.whole_words != 0), left, begins, bit)
        # A soft value ends with its word, which the next token decides.
        return Step(State(met, node, opens), left, begins)

    def places(self, ids: Sequence[int]) -> tuple[Place, ...] | None:
        """Return where a translation holds each value, in the order of its tokens; None if one is missing."""
        found: list[tuple[int, int, int]] = []  # bit of the value, range of its tokens
        state, first = State(), 0
        for at, token in enumerate(ids):
            number = self.class_at(token)
            if number < FIRST_OWN and state.node == ROOT:
                state = State(state.met, ROOT, self._opener[number])  # as most tokens: of no value, and outside of all
                continue
            state, left, begins, ended = self.step(state, number)
            if left:
                found.append((left, first, at))
            if begins:
                first = at
            if ended:
                found.append((ended, first, at + 1))
        left = _lowest(self._automaton.ends[state.node] & ~state.met)  # of one that was cut off
        found.append((left, first, len(ids)))
        if state.met | left != self._automaton.every:
            return None
        return tuple(Place(bit.bit_length() - 1, begin, end) for bit, begin, end in found if bit)


def _lowest(bits: int) -> int:
    """Return the lowest bit that is set."""
    return bits & -bits


@functools.lru_cache(maxsize=512)
def machine_of(constraints: ValueConstraints, eos: int) -> StateMachine:
    """Return the states of the translations of a sentence with these values."""
    return StateMachine(constraints, eos)


def places_of(constraints: ValueConstraints, ids: Sequence[int], eos: int) -> tuple[Place, ...] | None:
    """Return where a translation holds each value, as the search that allowed its tokens has followed them."""
    return _places_of(constraints, tuple(ids), eos)


@functools.lru_cache(maxsize=512)  # the check after the search and the text of the translation ask the same
def _places_of(constraints: ValueConstraints, ids: tuple[int, ...], eos: int) -> tuple[Place, ...] | None:
    return machine_of(constraints, eos).places(ids)
