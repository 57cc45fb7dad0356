"""Binds arrays to a graph by address, and only those that have changed since the last run."""

import weakref
from typing import NamedTuple, TypeAlias

import onnxruntime

from service.engine.model.buffers import Array

# What is bound under a name: the array, and how many of its entries. The reference is weak, so that an array whose
# place another one has taken is freed at once.
_Bound: TypeAlias = "dict[str, tuple[weakref.ref[Array], int]]"


class StepSessions(NamedTuple):
    """The sessions that run a step: for any number of sentences, and perhaps one that is faster for one of them."""

    many: onnxruntime.InferenceSession
    one: onnxruntime.InferenceSession | None = None


class Binding:
    """The arrays that the runs of a session read and write; the caller keeps them alive.

    To bind an array takes 5 µs, and a step has about 25 of them. Most of them stay the same when a sentence takes the
    place of another one.
    """

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._binding = session.io_binding()
        self._inputs: _Bound = {}
        self._outputs: _Bound = {}
        self.version = -1  # of the caller's arrays, as it says, when they were bound

    def read(self, name: str, array: Array, count: int) -> None:
        """Bind the first `count` entries of an array to an input."""
        if _is_new(self._inputs, name, array, count):
            shape = (count, *array.shape[1:])
            # The class of the type: to bind by its dtype takes twice as long.
            self._binding.bind_input(name, "cpu", 0, array.dtype.type, shape, array.ctypes.data)

    def write(self, name: str, array: Array, count: int) -> None:
        """Bind the first `count` entries of an array to an output."""
        if _is_new(self._outputs, name, array, count):
            shape = (count, *array.shape[1:])
            self._binding.bind_output(name, "cpu", 0, array.dtype.type, shape, array.ctypes.data)

    def run(self) -> None:
        """Run the session."""
        self._session.run_with_iobinding(self._binding)


def _is_new(bound: _Bound, name: str, array: Array, count: int) -> bool:
    """Record an array as bound; return whether it was not."""
    before = bound.get(name)
    if before is not None and before[1] == count and before[0]() is array:
        return False
    bound[name] = weakref.ref(array), count
    return True
