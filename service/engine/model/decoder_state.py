"""Memory and state of running sentences in host memory, bound to the decoder graph.

Buffers have room for more sentences, tokens and source positions than are in use. They are bound by address, so a step
passes no arrays: it writes the new tokens into their buffer and runs. A cache is both input and output: the graph adds
one entry per row in place. Data moves in three cases only: a row changes its parent, a sentence fills a hole, or a
capacity is exceeded and everything moves.
"""

from collections.abc import Sequence

import numpy as np

from service.bundle.limits import SOURCE_STEP
from service.bundle.manifest import GraphSet
from service.engine.jobs import IntArray
from service.engine.model.batching import EncodedSentences
from service.engine.model.binding import Binding, StepSessions
from service.engine.model.buffers import Array, StateBuffer, capacity_for, grow, round_up
from service.engine.model.interface import Advance, Candidates, Encoded, HostCandidates, Rows
from service.engine.model.shortlist import LIST_STEP

LEAST_TOKENS = 32  # capacity of caches to begin with, and the least by which it grows
SINGLE_TOKENS = 144  # longer sentences get no memory plan: they are rare, and every length would have its own
MOST_TOKENS = 2**31 - 1  # the capacity of a state without caches
KEPT_BYTES = 3 * 2**24  # of buffers that an empty state keeps at most
WIDE_STEPS = 3  # memory that is too wide is cut after so many steps: to cut it costs as much as they do
MOST_BINDINGS = 64  # numbers of sentences whose bindings are kept
STEPS = {"S": SOURCE_STEP, "O": LIST_STEP}  # each variable axis of memory is padded to a multiple of this


class CpuDecoderState:
    """Decoder state in numpy arrays; satisfies interface.DecoderState."""

    def __init__(
        self,
        sessions: StepSessions,
        graphs: GraphSet,
        beam_size: int,
        candidates: int,
    ) -> None:
        self._beam_size = beam_size
        self._sessions = sessions
        self._one = None if sessions.one is None else Binding(sessions.one)
        self._many: dict[int, Binding] = {}  # by the number of sentences
        self._binding = Binding(sessions.many)
        self._taken = {entry.name for entry in sessions.many.get_inputs()}
        self._bound = False  # whether `_binding` is the one for the present sentences and arrays
        self._version = 0  # of the arrays: it changes when one is replaced
        self._size = 0
        self._longest = 0  # tokens of the longest row
        self._settled = True  # whether `_longest` is known and memory is no longer than it must be
        self._wide_steps = 0  # steps since memory has been too wide
        self._graphs = graphs
        self._allocate()
        self._extents: dict[str, list[int]] = {axis: [] for axis in STEPS}  # of each sentence, of S and of O
        self._source_lengths: IntArray = np.zeros(0, np.int64)  # [B]
        self._lengths: Array = np.zeros(0, np.int32)  # [N]
        self._tokens: IntArray = np.zeros((0, beam_size), np.int64)
        self._total = np.zeros(1, np.int32)
        self._candidates = np.zeros(1, np.int64)
        self._top: tuple[Array, Array]
        self._present: tuple[IntArray, Array, Candidates]  # tokens, lengths and candidates of the present sentences
        self.set_candidates(candidates)

    def join(self, encoded: Encoded, sentences: Sequence[int], places: Sequence[int] | None = None) -> None:
        """Put these of the encoded sentences into the places of sentences that have left, or after the last one."""
        assert isinstance(encoded, EncodedSentences)
        if not sentences:
            return
        before = self._size
        places = range(before, before + len(sentences)) if places is None else places
        self._size = max(before, max(places) + 1)
        if self._size > self._room:
            self._make_room(before)
        self._settled, self._bound = False, self._bound and self._size == before > 1
        for place, sentence in zip(places, sentences, strict=True):
            self._source_lengths[place] = encoded.lengths[sentence]
            for axis, lengths in (("S", encoded.lengths), ("O", encoded.listed)):
                self._extents[axis][place : place + 1] = [lengths[sentence]]
        self._widen_memory(before)
        for place, sentence in zip(places, sentences, strict=True):
            rows = slice(place * self._beam_size, (place + 1) * self._beam_size)
            self._lengths[rows] = 0
            arrays, row = encoded.of(sentence)
            for name, buffer in self._memory.items():
                buffer.put(place, arrays[name][row])
            for name, buffer in self._fixed.items():
                buffer.array[rows] = arrays[f"initial_{name}"][row]

    def set_candidates(self, candidates: int) -> None:
        """Set the number of candidates per row."""
        self._candidates[0] = candidates
        capacity = (len(self._tokens), self._beam_size, candidates)
        self._top = (np.zeros(capacity, np.int64), np.zeros(capacity, np.float32))
        self._replaced()

    def step(self, rows: Rows) -> Candidates:
        """Feed every row its token and give what may follow."""
        if not self._settled:
            self._settle()
        self._longest += 1
        if self._longest > self._tokens_held:
            self._lengthen_caches(self._longest)
        if not self._bound:
            self._choose_binding()
            if self._binding.version != self._version:
                self._bind()
            size, found = self._size, HostCandidates(self._top[0][: self._size], self._top[1][: self._size])
            self._present, self._bound = (self._tokens[:size], self._lengths[: size * self._beam_size], found), True
        inputs, lengths, candidates = self._present
        inputs[:] = rows.tokens
        self._total[0] = self._longest
        self._binding.run()
        lengths += 1
        return candidates

    def reorder(self, advance: Advance) -> None:
        """Let every row continue the one of the last step that the search says."""
        rows, parents = self._size * self._beam_size, advance.parents
        for name, buffer in self._fixed.items():
            following = self._following[name].array
            if parents is None:
                buffer.array[:rows] = following[:rows]
            else:
                np.take(following, parents, axis=0, out=buffer.array[:rows], mode="clip")
        if parents is not None and self._caches:
            changed = (parents != np.arange(rows)).nonzero()[0]
            if len(changed):
                sources = parents[changed]
                self._move_caches(changed.tolist(), sources.tolist(), self._lengths[sources].tolist())

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove the places of sentences; the last ones move into the holes."""
        self._size -= len(removed)
        self._settled = self._bound = False
        for hole, mover in zip(holes.tolist(), movers.tolist(), strict=True):
            self._move_sentence(hole, mover)
        if self._size:
            return
        groups = (self._memory, self._caches, self._fixed, self._following)
        if sum(buffer.array.nbytes for group in groups for buffer in group.values()) > KEPT_BYTES:
            self._allocate()

    def _allocate(self) -> None:
        """Create empty buffers."""
        graphs = self._graphs
        fixed = [spec for spec in graphs.state if spec.kind == "fixed"]
        self._memory = {spec.name: StateBuffer(spec, 1) for spec in graphs.memory}
        self._held = dict.fromkeys(STEPS, 1)  # the length of memory along S and O
        self._caches = {spec.name: StateBuffer(spec, LEAST_TOKENS) for spec in graphs.state if spec.kind == "cache"}
        self._tokens_held = LEAST_TOKENS
        self._room = 0  # sentences for which every buffer has room
        self._fixed = {spec.name: StateBuffer(spec, 1) for spec in fixed}
        self._following = {spec.name: StateBuffer(spec, 1) for spec in fixed}

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
        self._replaced()

    def _move_sentence(self, to: int, sentence: int) -> None:
        """Copy everything of a sentence into the place of another; slices, because few sentences leave in a step."""
        size = self._beam_size
        rows, to_rows = slice(sentence * size, (sentence + 1) * size), slice(to * size, (to + 1) * size)
        for buffer in self._memory.values():
            buffer.array[to] = buffer.array[sentence]
        for buffer in self._fixed.values():
            buffer.array[to_rows] = buffer.array[rows]
        lengths = self._lengths[rows].tolist()
        self._move_caches(range(to_rows.start, to_rows.stop), range(rows.start, rows.stop), lengths)
        for extent in self._extents.values():
            extent[to] = extent[sentence]
        self._source_lengths[to] = self._source_lengths[sentence]
        self._lengths[to_rows] = self._lengths[rows]

    def _move_caches(self, to: Sequence[int], rows: Sequence[int], used: Sequence[int]) -> None:
        """Copy the cached entries of `rows`, so many each, to the rows `to`, none of which is read afterwards."""
        for buffer in self._caches.values():
            buffer.move(to, rows, used)

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
        self._source_lengths = grow(self._source_lengths, size)
        self._lengths = grow(self._lengths, rows)
        self._tokens = grow(self._tokens, size)
        self._top = (grow(self._top[0], size), grow(self._top[1], size))
        self._room = self._capacity()
        self._replaced()

    def _capacity(self) -> int:
        """Return the number of sentences that every array has room for."""
        by_row = [buffer.array for group in (self._caches, self._fixed, self._following) for buffer in group.values()]
        by_sentence = [self._source_lengths, self._tokens, *(buffer.array for buffer in self._memory.values())]
        rows = min(map(len, [self._lengths, *by_row]))
        return min(rows // self._beam_size, *map(len, by_sentence))

    def _widen_memory(self, before: int) -> None:
        """Make room for the longest sentence along S and O; exactly that if there was no sentence before."""
        for axis, needed in self._needed().items():
            if self._held[axis] < needed or not before:
                self._fit(axis, needed, before)

    def _settle(self) -> None:
        """Find the longest row, and cut memory that has been a third too wide for some steps."""
        self._longest = max(self._lengths[: self._size * self._beam_size].tolist(), default=0)
        wide = {axis: needed for axis, needed in self._needed().items() if self._held[axis] * 3 // 4 >= needed}
        self._settled = not wide
        self._wide_steps = self._wide_steps + 1 if wide else 0
        if self._wide_steps > WIDE_STEPS:
            for axis, needed in wide.items():
                self._fit(axis, needed, self._size)
            self._settled, self._wide_steps = True, 0

    def _needed(self) -> dict[str, int]:
        """Return the length that memory needs along S and O."""
        return {axis: round_up(max(self._extents[axis][: self._size]), step) for axis, step in STEPS.items()}

    def _fit(self, axis: str, needed: int, sentences: int) -> None:
        if self._held[axis] == needed:
            return
        self._held[axis] = needed
        for buffer in self._memory.values():
            if buffer.letter == axis:
                buffer.fit(needed, sentences)
                self._replaced()

    def _replaced(self) -> None:
        """Record that an array has been replaced, so that bindings are out of date."""
        self._version += 1
        self._bound = False

    def _choose_binding(self) -> None:
        """Choose the binding of the next steps: that of single sentences keeps a memory plan for each shape."""
        short = self._extents["S"][0] <= SINGLE_TOKENS and (not self._caches or self._tokens_held <= SINGLE_TOKENS)
        if self._size == 1 and short and self._one is not None:
            self._binding = self._one
            return
        found = self._many.get(self._size)
        if found is None:
            if len(self._many) >= MOST_BINDINGS:
                self._many.clear()
            found = self._many[self._size] = Binding(self._sessions.many)
        self._binding = found

    def _bind(self) -> None:
        """Set the addresses of all arrays in the binding; this object holds every array named here."""
        size, rows, binding = self._size, self._size * self._beam_size, self._binding
        inputs: list[tuple[str, Array, int]] = [
            ("tokens", self._tokens, size),
            ("lengths", self._lengths, rows),
            ("total_length", self._total, 1),
            ("source_lengths", self._source_lengths, size),
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
        binding.version = self._version
