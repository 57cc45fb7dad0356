"""Memory and state of running sentences on a GPU, in arrays of fixed shapes, so that a step is one launch.

A sentence takes a free slot of a `Bucket` and keeps it. A step writes one small array to the device, which hypotheses
of the last step its rows continue, and reads one, what it has chosen. A bucket that is too small, or for some steps too
large, is left for another one, by a run of the same graph that reads the arrays of one and writes those of the other.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from service.bundle.limits import MOST_SLOTS
from service.engine.jobs import FloatArray, IntArray
from service.engine.model.batching import EncodedSentences
from service.engine.model.buckets import BETWEEN, Bucket, SlotGraphs
from service.engine.model.buffers import Array, round_up
from service.engine.model.interface import Advance, Choice, Encoded, Rows

ROWS = (8, 32, 128, 512)  # of buckets; more are a multiple of the last
LEAST_LENGTH = 32  # of a bucket, in tokens; others are twice as long, and so on
SPARSE_STEPS = 8  # a bucket that is too large is left after so many steps


class SlotCandidates:
    """What a step has found for the sentences in these slots; it is copied to the host when it is asked for."""

    def __init__(self, bucket: Bucket, slots: IntArray, candidates: int) -> None:
        self._bucket, self._slots, self._candidates = bucket, slots, candidates

    @property
    def ids(self) -> IntArray:
        """Return the likeliest next tokens of every row, [B, K, C]."""
        ids: IntArray = self._bucket.values["top_ids"].numpy()[self._slots, :, : self._candidates]
        return ids

    @property
    def logprobs(self) -> FloatArray:
        """Return their log-probabilities, [B, K, C]."""
        logprobs: FloatArray = self._bucket.values["top_logprobs"].numpy()[self._slots, :, : self._candidates]
        return logprobs

    @property
    def choice(self) -> Choice:
        """Return what the step has chosen."""
        found, size = self._bucket.values["choice"].numpy()[self._slots], self._bucket.beam_size
        tokens, slots = np.divmod(found[:, :size].astype(np.int64), MOST_SLOTS)
        return Choice(tokens, slots, found[:, size : 2 * size], found[:, 2 * size :])


class SlotDecoderState:
    """Decoder state in slots; satisfies interface.DecoderState."""

    def __init__(self, graphs: SlotGraphs, beam_size: int, candidates: int) -> None:
        self._graphs, self._beam_size, self._candidates = graphs, beam_size, candidates
        self._buckets: dict[tuple[int, int], Bucket] = {}
        self.bucket: Bucket | None = None  # with the memory of all sentences; None: there are none
        self._before: Bucket | None = None  # with what the last step chose
        self._sparse_steps = 0
        self._chose = True  # whether the search goes on with what the last step chose
        # Of each sentence, in the order of the search: its slot, its slot in the last step (-1: it starts), the lengths
        # of its source and of its hypotheses.
        self._slots, self._last_slots, self._sources, self._targets = (np.zeros(0, np.int64) for _ in range(4))
        # Of each of its rows: the place in the step's choice, or else the row in the last step, and the score.
        self._ranks, self._rows = (np.zeros((0, beam_size), np.int64) for _ in range(2))
        self._scores: npt.NDArray[np.float64] = np.zeros((0, beam_size))

    def join(self, encoded: Encoded, sentences: Sequence[int], places: Sequence[int] | None = None) -> None:
        """Put these of the encoded sentences into the places of sentences that have left, or after the last one."""
        assert isinstance(encoded, EncodedSentences)
        if not sentences:
            return
        before = len(self._slots)
        places = range(before, before + len(sentences)) if places is None else places
        for name in _OF_SENTENCES:
            array = getattr(self, name)
            more = max(before, max(places) + 1) - before
            setattr(self, name, np.concatenate([array, np.full((more, *array.shape[1:]), -1, array.dtype)]))
        at = np.array(places)
        self._last_slots[at], self._targets[at] = -1, 0
        self._sources[at] = [encoded.lengths[sentence] for sentence in sentences]
        bucket = self._fit()
        new = self._slots < 0
        free = np.setdiff1d(np.arange(bucket.sentences), self._slots[~new])
        self._slots[new] = free[: np.count_nonzero(new)]
        for arrays, rows, positions in encoded.parts(sentences):
            sources = np.arange(bucket.sentences)
            sources[self._slots[at[positions]]] = bucket.sentences + np.array(rows)
            bucket.take(arrays, sources)
        self._write_lengths(bucket)

    def set_candidates(self, candidates: int) -> None:
        """Set the number of candidates per row."""
        self._candidates = candidates

    def step(self, rows: Rows) -> SlotCandidates:
        """Let every row go on and return the candidates for its next token."""
        bucket = self._fit()
        before = self._before or bucket
        on = self._last_slots >= 0
        if not self._chose:
            self._write_choice(before, on, rows.tokens)
        kept = bucket.starts.copy()
        kept[self._slots[on]] = self._last_slots[on, None] * self._beam_size + self._ranks[on]
        bucket.write("kept", kept)
        bucket.run(before)
        self._before, self._last_slots, self._chose = bucket, self._slots.copy(), True
        self._targets += 1
        return SlotCandidates(bucket, self._last_slots, self._candidates)

    def reorder(self, advance: Advance) -> None:
        """Let every row continue the one of the last step that the search says."""
        self._chose = advance.ranks is not None
        if advance.ranks is not None:
            self._ranks = advance.ranks
            return
        shape = len(self._slots), self._beam_size
        parents = np.arange(shape[0] * shape[1]) if advance.parents is None else advance.parents
        sentences, slots = np.divmod(parents, self._beam_size)
        self._rows = (self._last_slots[sentences] * self._beam_size + slots).reshape(shape)
        self._ranks = np.tile(np.arange(self._beam_size), (shape[0], 1))
        self._scores = np.zeros(shape) if advance.scores is None else advance.scores.copy()

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove the places of sentences; the last ones move into the holes. Slots stay as they are."""
        for name in _OF_SENTENCES:
            array = getattr(self, name).copy()
            if len(holes):
                array[holes] = array[movers]
            setattr(self, name, array[: len(array) - len(removed)])
        if not len(self._slots):
            self.bucket = self._before = None

    def _fit(self) -> Bucket:
        """Return the bucket of the present sentences; they move to another one if it is too small or too large."""
        longest = int(max(self._sources.max(), self._targets.max() + 1))
        sentences, length, present = _slots_for(len(self._slots), self._beam_size), LEAST_LENGTH, self.bucket
        while length < longest:
            length *= 2
        if present is not None:
            length = max(length, present.length)  # the caches cannot be cut
            self._sparse_steps = self._sparse_steps + 1 if sentences < present.sentences else 0
            if self._sparse_steps < SPARSE_STEPS:
                sentences = max(sentences, present.sentences)
            if (sentences, length) == (present.sentences, present.length):
                return present
        if (sentences, length) not in self._buckets:
            self._buckets[sentences, length] = Bucket(self._graphs, sentences, self._beam_size, length)
        self.bucket, self._sparse_steps = self._buckets[sentences, length], 0
        if present is not None:
            self._move(present, self.bucket)
        return self.bucket

    def _move(self, present: Bucket, bucket: Bucket) -> None:
        """Copy the memory of all sentences to another bucket; their state follows in the next step."""
        running = np.flatnonzero(self._slots >= 0)
        sources = np.arange(bucket.sentences)
        sources[: len(running)] = bucket.sentences + self._slots[running]
        bucket.take(present.values, sources)
        self._slots[running] = np.arange(len(running))
        self._write_lengths(bucket)

    def _write_choice(self, bucket: Bucket, on: Array, tokens: IntArray) -> None:
        """Write what the search has chosen in place of what the last step chose."""
        chosen: tuple[Array, ...] = tokens, self._rows, self._scores
        for name, values in zip(BETWEEN, chosen, strict=True):
            array = np.zeros((bucket.sentences, self._beam_size), BETWEEN[name])
            array[self._last_slots[on]] = values[on]
            bucket.write(name, array)

    def _write_lengths(self, bucket: Bucket) -> None:
        lengths, held = np.ones(bucket.sentences, np.int64), self._slots >= 0
        lengths[self._slots[held]] = self._sources[held]
        bucket.write("source_lengths", lengths)


_OF_SENTENCES = ("_slots", "_last_slots", "_sources", "_targets", "_ranks", "_rows", "_scores")


def _slots_for(sentences: int, beam_size: int) -> int:
    """Return the slots of the smallest bucket for so many sentences."""
    rows = next((rows for rows in ROWS if rows // beam_size >= sentences), 0)
    return (rows or round_up(sentences * beam_size, ROWS[-1])) // beam_size
