"""Memory and state of running sentences in host memory, bound to the decoder graph.

Buffers have room for more sentences, tokens and source positions than are in use. They are bound by address, so a step
passes no arrays: it writes the new tokens into their buffer and runs. A cache is both input and output: the graph adds
one entry per row in place. Data moves in three cases only: a row changes its parent, a sentence fills a hole, or a
capacity is exceeded and everything moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnxruntime

from service.bundle.limits import SOURCE_STEP
from service.bundle.manifest import ArraySpec, GraphSet
from service.engine.model.batching import Array, EncodedSentences
from service.engine.model.binding import Binding
from service.engine.model.buffers import capacity_for, grow, resized, round_up
from service.engine.model.interface import Candidates, Encoded
from service.engine.model.shortlist import LIST_STEP
from service.engine.model.step_weights import StepWeights
from service.engine.types import IntArray

LEAST_TOKENS = 32  # capacity of caches to begin with, and the least by which it grows
SINGLE_TOKENS = 144  # longer sentences get no memory plan: they are rare, and every length would have its own
MOST_TOKENS = 2**31 - 1  # the capacity of a state without caches
KEPT_BYTES = 3 * 2**24  # of buffers that an empty state keeps at most
STEPS = {"S": SOURCE_STEP, "O": LIST_STEP}  # each variable axis of memory is padded to a multiple of this


class StepSessions(NamedTuple):
    """The sessions that run a step: for any number of sentences, and perhaps one that is faster for one of them."""

    many: onnxruntime.InferenceSession
    one: onnxruntime.InferenceSession | None = None


class CpuDecoderState:
    """Decoder state in numpy arrays; satisfies interface.DecoderState."""

    def __init__(
        self,
        sessions: StepSessions,
        graphs: GraphSet,
        beam_size: int,
        candidates: int,
        weights: StepWeights | None = None,
    ) -> None:
        self._beam_size = beam_size
        self._weights, self._weights_wanted = weights, False
        self._binding = self._many = Binding(sessions.many)
        self._one = None if sessions.one is None else Binding(sessions.one)
        self._taken = {entry.name for entry in sessions.many.get_inputs()}
        self._bound = False  # whether the addresses and shapes in the binding are still valid
        self._size = 0
        self._longest = 0  # tokens of the longest row
        self._graphs = graphs
        self._allocate()
        self._extents: dict[str, IntArray] = {axis: np.zeros(0, np.int64) for axis in STEPS}  # [B], of S and of O
        self._lengths: Array = np.zeros(0, np.int32)  # [N]
        self._tokens: IntArray = np.zeros((0, beam_size), np.int64)
        self._total = np.zeros(1, np.int32)
        self._candidates = np.array([candidates], np.int64)
        self._top: tuple[Array, Array] = (
            np.zeros((0, beam_size, candidates), np.int64),
            np.zeros((0, beam_size, candidates), np.float32),
        )

    def join(self, encoded: Encoded, sentences: Sequence[int]) -> None:
        """Append these of the encoded sentences."""
        assert isinstance(encoded, EncodedSentences)
        if not sentences:
            return
        first, self._size = self._size, self._size + len(sentences)
        self._bound = False
        if self._size > self._room:
            self._make_room(first)
        for axis, lengths in (("S", encoded.lengths), ("O", encoded.listed)):
            self._extents[axis][first : self._size] = [lengths[sentence] for sentence in sentences]
        self._lengths[first * self._beam_size : self._size * self._beam_size] = 0
        self._fit_memory(empty=first == 0)
        for arrays, rows, at in encoded.parts(sentences):
            places = [first + position for position in at]
            for name, buffer in self._memory.items():
                buffer.put(places, arrays[name], rows)
            for name, buffer in self._fixed.items():
                initial = np.repeat(arrays[f"initial_{name}"][rows], self._beam_size, axis=0)
                buffer.array[self._rows_of(places)] = initial

    def set_candidates(self, candidates: int) -> None:
        """Set the number of candidates per row."""
        self._candidates[0] = candidates
        capacity = (len(self._top[0]), self._beam_size, candidates)
        self._top = (np.zeros(capacity, np.int64), np.zeros(capacity, np.float32))
        self._bound = False

    def set_weights(self, wanted: bool) -> None:
        """Set whether the next steps return the weights of the aligning head."""
        self._weights_wanted = wanted
        self._bound = False

    def step(self, tokens: IntArray) -> Candidates:
        """Feed every row its token, [B, K], and give what may follow."""
        size = self._size
        self._longest += 1
        if self._longest > self._tokens_held:
            self._lengthen_caches(self._longest)
        self._tokens[:size] = tokens
        self._total[0] = self._longest
        if not self._bound:
            self._choose_session()
            self._bind()
        allocated = self._binding.run()
        self._lengths[: size * self._beam_size] += 1
        weights = None if allocated is None or self._weights is None else self._weights.of_head(allocated)
        return Candidates(self._top[0][:size], self._top[1][:size], weights)

    def reorder(self, parents: IntArray | None) -> None:
        """Make every row, [B * K], continue row `parents` of the step just taken."""
        rows = self._size * self._beam_size
        for name, buffer in self._fixed.items():
            following = self._following[name].array
            if parents is None:
                buffer.array[:rows] = following[:rows]
            else:
                np.take(following, parents, axis=0, out=buffer.array[:rows], mode="clip")
        if parents is not None and self._caches:
            changed = np.flatnonzero(parents != np.arange(rows))
            self._move_caches(changed, parents[changed])

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Forget sentences; the last ones move into the holes."""
        self._size -= len(removed)
        self._bound = False
        for hole, mover in zip(holes.tolist(), movers.tolist(), strict=True):
            self._move_sentence(hole, mover)
        self._longest = int(self._lengths[: self._size * self._beam_size].max(initial=0))
        if self._size:
            self._fit_memory()
        elif sum(buffer.array.nbytes for buffer in self._buffers()) > KEPT_BYTES:
            self._allocate()

    def _allocate(self) -> None:
        """Create empty buffers."""
        graphs = self._graphs
        fixed = [spec for spec in graphs.state if spec.kind == "fixed"]
        self._memory = {spec.name: _Buffer(spec, 1) for spec in graphs.memory}
        self._caches = {spec.name: _Buffer(spec, LEAST_TOKENS) for spec in graphs.state if spec.kind == "cache"}
        self._tokens_held = LEAST_TOKENS
        self._room = 0  # sentences for which every buffer has room
        self._fixed = {spec.name: _Buffer(spec, 1) for spec in fixed}
        self._following = {spec.name: _Buffer(spec, 1) for spec in fixed}

    def _lengthen_caches(self, needed: int) -> None:
        """Make room for so many tokens in every cache; without caches, the length has no effect.

        Only the present rows get it: long translations often run on when most others have ended.
        """
        rows, held = self._size * self._beam_size, self._tokens_held
        self._resize_caches(rows, max(needed, held + max(held // 2, LEAST_TOKENS)), rows, needed - 1)

    def _resize_caches(self, capacity: int, tokens: int, rows: int, used: int) -> None:
        """Give every cache room for so many rows and tokens; keep the first `used` tokens of the first `rows`."""
        for buffer in self._caches.values():
            buffer.resize(capacity, tokens, rows, used)
        self._tokens_held = tokens if self._caches else MOST_TOKENS
        self._room = min(self._room, capacity // self._beam_size)
        self._bound = False

    def _buffers(self) -> Iterator[_Buffer]:
        for group in (self._memory, self._caches, self._fixed, self._following):
            yield from group.values()

    def _move_sentence(self, to: int, sentence: int) -> None:
        """Copy everything of a sentence into the place of another; slices, because few sentences leave in a step."""
        size = self._beam_size
        rows, to_rows = slice(sentence * size, (sentence + 1) * size), slice(to * size, (to + 1) * size)
        for buffer in self._memory.values():
            buffer.array[to] = buffer.array[sentence]
        for buffer in self._fixed.values():
            buffer.array[to_rows] = buffer.array[rows]
        used = int(self._lengths[rows].max())
        for buffer in self._caches.values():
            buffer.move(to_rows, rows, used)
        for extent in self._extents.values():
            extent[to] = extent[sentence]
        self._lengths[to_rows] = self._lengths[rows]

    def _move_caches(self, to: IntArray, rows: IntArray) -> None:
        """Copy cached entries between rows; no row of `to` is read after it is written."""
        if len(to):
            used = int(self._lengths[rows].max())
            for buffer in self._caches.values():
                buffer.move(to, rows, used)

    def _rows_of(self, sentences: Sequence[int]) -> IntArray:
        rows: IntArray = (np.array(sentences)[:, None] * self._beam_size + np.arange(self._beam_size)).ravel()
        return rows

    def _make_room(self, before: int) -> None:
        """Make room for the present number of sentences in every buffer; there were `before` of them."""
        size, rows = self._size, self._size * self._beam_size
        for buffer in self._memory.values():
            buffer.array = grow(buffer.array, size)
        for group in (self._fixed, self._following):
            for buffer in group.values():
                buffer.array = grow(buffer.array, rows)
        present = min((len(buffer.array) for buffer in self._caches.values()), default=rows)
        if rows > present:
            used = int(self._lengths[: before * self._beam_size].max(initial=0))
            tokens = min(self._tokens_held, round_up(used + 1, LEAST_TOKENS))
            self._resize_caches(capacity_for(rows, present), tokens, before * self._beam_size, used)
        self._extents = {axis: grow(extent, size) for axis, extent in self._extents.items()}
        self._lengths = grow(self._lengths, rows)
        self._tokens = grow(self._tokens, size)
        self._top = (grow(self._top[0], size), grow(self._top[1], size))
        self._room = self._capacity()

    def _capacity(self) -> int:
        """Return the number of sentences that every array has room for."""
        by_row = [buffer.array for group in (self._caches, self._fixed, self._following) for buffer in group.values()]
        by_sentence = [*self._extents.values(), self._tokens, *(buffer.array for buffer in self._memory.values())]
        rows = min(map(len, [self._lengths, *by_row]))
        return min(rows // self._beam_size, *map(len, by_sentence))

    def _fit_memory(self, empty: bool = False) -> None:
        """Fit memory to the longest sentence along S and O.

        A longer buffer is cut if it has a third more entries than needed, or if it is empty.
        """
        needed = {}
        for axis, step in STEPS.items():
            needed[axis] = round_up(int(self._extents[axis][: self._size].max()), step)
        for buffer in self._memory.values():
            if buffer.axis is not None and buffer.fit(needed[buffer.letter], empty):
                self._bound = False

    def _choose_session(self) -> None:
        """Choose the session of the next step: that of single sentences keeps a memory plan for each shape."""
        short = self._extents["S"][0] <= SINGLE_TOKENS and (not self._caches or self._tokens_held <= SINGLE_TOKENS)
        self._binding = self._one if self._size == 1 and short and self._one is not None else self._many

    def _bind(self) -> None:
        """Set the addresses of all arrays in the binding; this object holds every array named here."""
        size, rows, binding = self._size, self._size * self._beam_size, self._binding
        weights = self._weights if self._weights_wanted else None
        binding.allocate(None if weights is None else weights.output)
        inputs: list[tuple[str, Array, int]] = [
            ("tokens", self._tokens, size),
            ("lengths", self._lengths, rows),
            ("total_length", self._total, 1),
            ("source_lengths", self._extents["S"], size),
            ("candidates", self._candidates, 1),
        ]
        inputs += ((name, buffer.array, size) for name, buffer in self._memory.items())
        for group in (self._caches, self._fixed):
            inputs += ((name, buffer.array, rows) for name, buffer in group.items())
        for name, array, count in inputs:
            if name in self._taken:
                binding.read(name, array, count)
        binding.write("top_ids", self._top[0], size)
        binding.write("top_logprobs", self._top[1], size)
        for group in (self._caches, self._following):
            for name, buffer in group.items():
                binding.write(f"next_{name}", buffer.array, rows)
        self._bound = True


class _Buffer:
    """An array with spare capacity: entries along axis 0, and perhaps an axis of variable length (S, T or O)."""

    def __init__(self, spec: ArraySpec, length: int) -> None:
        varying = [index for index, axis in enumerate(spec.axes) if index and isinstance(axis, str)]
        self.axis = varying[0] if varying else None
        self.letter = str(spec.axes[varying[0]]) if varying else ""
        self._padding = spec.padding
        shape = [0, *(axis if isinstance(axis, int) else length for axis in spec.axes[1:])]
        self.array: Array = np.zeros(shape, spec.dtype)

    @property
    def length(self) -> int:
        """Return the capacity of the variable axis; 0 without one."""
        return 0 if self.axis is None else self.array.shape[self.axis]

    def resize(self, capacity: int, length: int, rows: int, used: int) -> None:
        """Make room for so many entries and so long a variable axis; keep `used` places of the first `rows`.

        Nothing else is copied, so memory that no row uses is not touched.
        """
        assert self.axis is not None
        shape = list(self.array.shape)
        shape[0], shape[self.axis] = capacity, length
        before, part = self.array, (slice(rows), *self._inner(used))
        self.array = np.zeros(shape, before.dtype)  # see `resized`
        self.array[part] = before[part]

    def fit(self, needed: int, empty: bool) -> bool:
        """Fit the variable axis to `needed` entries, cut if `empty` or much longer; return whether it moved."""
        assert self.axis is not None
        before = self.length
        if needed == before or (before * 3 // 4 < needed < before and not empty):
            return False
        self.array = resized(self.array, needed, self.axis)
        if self._padding is not None:
            self.array[(slice(None), *self._inner(needed, before))] = self._padding
        return True

    def put(self, places: Sequence[int], values: Array, rows: Sequence[int]) -> None:
        """Write rows of an array to places, each cut or padded along the variable axis if the lengths differ."""
        if self.axis is None or values.shape[self.axis] == self.length:
            for place, row in zip(places, rows, strict=True):
                self.array[place] = values[row]
            return
        given, inner = values.shape[self.axis], (slice(None),) * (self.axis - 1)
        part, rest = (*inner, slice(min(given, self.length))), (*inner, slice(given, None))
        for place, row in zip(places, rows, strict=True):
            self.array[place][part] = values[row][part]
            if self._padding is not None and given < self.length:
                self.array[place][rest] = self._padding

    def move(self, to: IntArray | slice, rows: IntArray | slice, used: int) -> None:
        """Copy the first `used` entries of the variable axis from `rows` to `to`."""
        part = self._inner(used)
        self.array[(to, *part)] = self.array[(rows, *part)]

    def _inner(self, used: int, begin: int = 0) -> tuple[Any, ...]:
        """Return the index of the axes after the first, up to entries `begin` to `used` of the variable one."""
        assert self.axis is not None
        return (*(slice(None),) * (self.axis - 1), slice(begin, used))
