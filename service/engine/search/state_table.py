"""The states of all running hypotheses with values, as arrays: what each allows, and where each token leads.

A state is computed when a hypothesis first reaches it. Its place is free again when its sentence leaves.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from service.engine.jobs import IntArray
from service.engine.model.buffers import grow
from service.engine.values.states import FIRST_OWN, State, StateMachine

KEPT_STATES = 4096  # of an empty table
Flags = npt.NDArray[np.bool_]


class StateTable:
    """P states of the sentences in a batch; C is the most classes that one of them has, E the most edges."""

    def __init__(self) -> None:
        self._machines: dict[int, tuple[StateMachine, dict[State, int]]] = {}  # with the places of its states
        self._last = 0
        self._owners: list[tuple[int, State]] = []  # of each place: the machine's number, and the state
        self._free: list[int] = []
        self.classes = FIRST_OWN + 7
        self._allocate()

    def _allocate(self) -> None:
        self._owners, self._free = [], []
        by_class, by_edge = (0, self.classes), (0, 8)
        self.forbidden: Flags = np.zeros(by_class, bool)
        self.asks: Flags = np.zeros(by_class, bool)
        self._next: IntArray = np.zeros(by_class, np.int64)  # places; -1: not computed yet
        self.begins: Flags = np.zeros(by_edge, bool)
        self.allowed: Flags = np.zeros(by_edge, bool)
        self.forced: Flags = np.zeros(0, bool)
        self.only: IntArray = np.zeros(0, np.int64)  # the edge that must follow; -1: there is a choice
        self.complete: Flags = np.zeros(0, bool)
        self.begun: npt.NDArray[np.float64] = np.zeros(0)

    def add(self, machine: StateMachine) -> tuple[int, int]:
        """Add the states of a sentence; return a number for it, and the place of the first state."""
        self.classes = max(self.classes, machine.classes)
        if self.classes > self._next.shape[1]:
            self.classes = -(-self.classes // 8) * 8
            self.forbidden, self.asks, self._next = (
                _widened(array, self.classes) for array in (self.forbidden, self.asks, self._next)
            )
        if len(machine.edges) > self.begins.shape[1]:
            edges = -(-len(machine.edges) // 8) * 8
            self.begins, self.allowed = (_widened(array, edges) for array in (self.begins, self.allowed))
        self._last += 1
        self._machines[self._last] = machine, {}
        return self._last, self._place(self._last, State())

    def remove(self, number: int) -> None:
        """Remove the states of a sentence."""
        self._free += self._machines.pop(number)[1].values()
        if not self._machines and len(self._owners) > KEPT_STATES:
            self._allocate()

    def places(self, states: IntArray) -> IntArray:
        """Return where the flags of states begin in the flat arrays by class."""
        return states * self.classes

    def following(self, states: IntArray, classes: npt.NDArray[Any]) -> IntArray:
        """Return the states after tokens of these classes; all arrays have the same shape."""
        at = self.places(states) + classes
        following: IntArray = self._next.take(at)
        if following.size and following.min() < 0:
            for place, number in zip(states[following < 0].tolist(), classes[following < 0].tolist(), strict=True):
                self.after(place, number)
            following = self._next.take(at)
        return following

    def after(self, place: int, number: int) -> int:
        """Return the state after a token of a class."""
        following = int(self._next[place, number])
        if following < 0:
            owner, state = self._owners[place]
            following = self._place(owner, self._machines[owner][0].following(state, number))
            self._next[place, number] = following
        return following

    def _place(self, owner: int, state: State) -> int:
        """Return the place of a state of a sentence."""
        machine, places = self._machines[owner]
        place = places.get(state)
        if place is not None:
            return place
        place = self._free.pop() if self._free else self._new_place()
        places[state] = place
        self._owners[place] = owner, state
        rules = machine.rules(state)
        classes, edges = len(rules.forbidden), len(rules.allowed)
        self._next[place] = -1
        self.forbidden[place, :classes], self.asks[place, :classes] = rules.forbidden, rules.asks
        self.begins[place], self.allowed[place] = False, False
        self.begins[place, :edges], self.allowed[place, :edges] = rules.begins, rules.allowed
        self.forced[place], self.complete[place], self.begun[place] = rules.forced, rules.complete, rules.begun
        self.only[place] = rules.only
        return place

    def _new_place(self) -> int:
        place = len(self._owners)
        self._owners.append((0, State()))
        if place >= len(self._next):
            for name in ("forbidden", "asks", "_next", "begins", "allowed", "forced", "only", "complete", "begun"):
                setattr(self, name, grow(getattr(self, name), place + 1))
        return place


def _widened(array: npt.NDArray[Any], columns: int) -> npt.NDArray[Any]:
    return np.pad(array, ((0, 0), (0, columns - array.shape[1])))
