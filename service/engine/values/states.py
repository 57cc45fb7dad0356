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
        self._digits_reserved = constraints.digits_reserved
        general = general_classes(constraints.classes)
        tokens = dict.fromkeys(edge.token for edge in self.edges)
        self.class_of = {token: FIRST_OWN + number for number, token in enumerate(tokens)}
        bits = [*range(END), *(int(general[token]) for token in (eos, *tokens))]
        self._digit, self._continuing, self._opener = (
            [bool(each & bit) for each in bits] for bit in (DIGIT, CONTINUING, OPENER)
        )
        self.classes = len(bits)
        # The first token of a negative number is a dash, which has other uses.
        self._reserved = {
            self.class_of[edge.token]
            for edge in self.edges
            if edge.start == ROOT and edge.values & self._automaton.whole_words and not self.is_opener(edge.token)
        }

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Return the edges of the automaton."""
        return self._automaton.edges

    def is_digit(self, token: int) -> bool:
        """Return whether a token of a value has a digit."""
        return self._digit[self.class_of[token]]

    def is_opener(self, token: int) -> bool:
        """Return whether a value may follow a token of a value without a space."""
        return self._opener[self.class_of[token]]

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
        automaton, (met, node, opened, _) = self._automaton, state
        opens = self._opener[number]
        same = [edge for edge in self.edges if self.class_of[edge.token] == number and edge.values & ~met]
        on = [edge for edge in same if edge.start == node and (opened or not edge.inside)]
        if node != ROOT and not on:
            # A value ends where no edge goes on, and the token may begin another.
            ended = _lowest(automaton.ends[node] & ~met)
            if not (self._continuing[number] and ended & automaton.soft):
                met |= ended
            on = [edge for edge in same if edge.start == ROOT and not edge.inside and edge.values & ~met]
        if not on:
            return State(met, ROOT, opens)
        node = on[0].end
        bit = _lowest(automaton.ends[node] & ~met)
        goes_on = any(edge.start == node and edge.values & ~met for edge in self.edges)
        if bit & ~automaton.soft and not goes_on:
            return State(met | bit, ROOT, opens, bit & automaton.whole_words != 0)
        # A soft value ends with its word, which the next token decides.
        return State(met, node, opens)


def _lowest(bits: int) -> int:
    """Return the lowest bit that is set."""
    return bits & -bits
