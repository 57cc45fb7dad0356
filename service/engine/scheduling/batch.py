"""The running sentences of one beam width: their records, their hypotheses and their decoder state.

A sentence has the same index in all three: the list of records, the arrays of the beam, the decoder state of the model.
This module neither reads a clock nor waits.

It also decides which batch of its beam width a sentence joins. The memory of all sentences of a batch is padded to the
longest source, so one source of 150 tokens beside 63 of 12 makes a step three times as long. Long sentences therefore
run in a batch of their own if the padding costs more than the second step. A sentence's numbers do not depend on its
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from service.engine.jobs import Hypothesis, SentenceJob, SentenceResult
from service.engine.model.buffers import plan_swap_remove, swap_remove
from service.engine.model.interface import Encoded, Model
from service.engine.search.beam_search import Beam
from service.engine.search.beam_state import candidates_for
from service.engine.search.greedy import Greedy
from service.engine.search.trace import FOLLOWING
from service.engine.values.constraints import places_of

Owner = TypeVar("Owner")

BATCHES = 2  # of one beam width
TO_CHOOSE = 2  # hypotheses that the search of a sentence with values waits for; all four take 3 to 4 % more time


class RunningBatch(Generic[Owner]):
    """Sentences of one beam width that are decoded together; an owner is the caller's own record of a sentence."""

    def __init__(self, model: Model, beam_size: int) -> None:
        self.beam_size = beam_size
        self._model = model
        self._owners: list[Owner | None] = []  # None: the sentence has left
        self._jobs: list[SentenceJob] = []
        self._left: list[int] = []  # their places, ascending: joining sentences take them, or the next step closes them
        # Where a step of many sentences costs little, a beam of one takes less time than a loop over them.
        few = beam_size == 1 and model.step_cost is not None
        self._beam = Greedy(model.eos, model.bos) if few else Beam(beam_size, model.eos, model.bos)
        self._candidates = candidates_for(beam_size)
        self.decoder_state = model.decoder_state(beam_size, self._candidates)

    def __len__(self) -> int:
        return len(self._owners) - len(self._left)

    @property
    def rows(self) -> int:
        """Return the number of rows of a step."""
        return len(self) * self.beam_size

    @property
    def owners(self) -> Sequence[Owner]:
        """Return the owners of the running sentences."""
        return [owner for owner in self._owners if owner is not None]

    def join(self, encoded: Encoded, sentences: Sequence[int], joining: Sequence[tuple[Owner, SentenceJob]]) -> None:
        """Add the encoded sentences with these indices; `joining` holds their owners and jobs.

        They take the places of sentences that have just left, so that no other row moves.
        """
        places = [*self._left[: len(joining)], *range(len(self._owners), len(self._owners) + len(joining))]
        places, self._left = places[: len(joining)], self._left[len(joining) :]
        self.decoder_state.join(encoded, sentences, places)
        for place, (owner, job) in zip(places, joining, strict=True):
            search = job.search if job.values is None else replace(job.search, n_best=max(job.search.n_best, TO_CHOOSE))
            self._beam.add(search, job.source_ids, trace=job.trace, at=place)
            self._owners[place : place + 1] = [owner]
            self._jobs[place : place + 1] = [job]

    def step(self) -> list[tuple[Owner, SentenceResult]]:
        """Decode one token of every row; return the owners of the finished sentences, which leave, and their results.

        The results lack the times, which this module does not know.
        """
        self._close_gaps()
        self._fit_candidates()
        advance = self._beam.advance(self.decoder_state.step(self._beam))
        self.decoder_state.reorder(advance)
        results = [self._result(index) for index in advance.done]
        self._leave(advance.done)
        return results

    def drop(self, unwanted: Callable[[Owner], bool]) -> list[Owner]:
        """Remove sentences before they are finished and return their owners."""
        dropped = [(at, owner) for at, owner in enumerate(self._owners) if owner is not None and unwanted(owner)]
        self._leave([at for at, _ in dropped])
        return [owner for _, owner in dropped]

    def _result(self, index: int) -> tuple[Owner, SentenceResult]:
        """Return the owner of a sentence that is done, and its result."""
        owner = self._owners[index]
        assert owner is not None
        hypotheses, recorder = self._hypotheses(index), self._beam.recorder(index)
        trace = None if recorder is None else recorder.trace(hypotheses[0].ids)
        return owner, SentenceResult(hypotheses, trace=trace)

    def _hypotheses(self, index: int) -> tuple[Hypothesis, ...]:
        """Return the hypotheses of a sentence, best first; those without its values come after those that hold them."""
        job = self._jobs[index]
        most = min(job.search.n_best, self.beam_size)
        if job.values is None:
            return self._beam.hypotheses(index, most)
        values, found = job.values, self._beam.hypotheses(index, self.beam_size)
        return tuple(sorted(found, key=lambda each: places_of(values, each.ids) is None)[:most])

    def _fit_candidates(self) -> None:
        """Ask the steps for as many candidates as the running sentences need."""
        needed = candidates_for(self.beam_size)
        if self._beam.is_recorded:
            needed = max(needed, FOLLOWING)
        if needed != self._candidates:
            self._candidates = needed
            self.decoder_state.set_candidates(needed)

    def _leave(self, places: Sequence[int]) -> None:
        """Forget sentences; their places stay until others join or the next step begins."""
        if not places:
            return
        self._beam.leave(places)
        for place in places:
            self._owners[place] = None
        self._left = sorted([*self._left, *places])
        if not len(self):
            self._close_gaps()

    def _close_gaps(self) -> None:
        """Move the last sentences into the places of those that have left."""
        if not self._left:
            return
        holes, movers = plan_swap_remove(len(self._owners), self._left)
        self._beam.remove(self._left, holes, movers)
        self.decoder_state.remove(self._left, holes, movers)
        for records in (self._owners, self._jobs):
            swap_remove(records, len(self._left), holes, movers)
        self._left = []


class Running(NamedTuple):
    """The sentences of a batch and the longest source among them, in tokens; (0, 0) if it is empty."""

    sentences: int
    longest: int

    def cost(self, step_cost: int) -> int:
        """Return the cost of a step, in source positions."""
        return step_cost + self.sentences * self.longest if self.sentences else 0

    def joined(self, sources: Sequence[int]) -> Running:
        """Return the batch after sentences of these lengths, longest first, have joined."""
        return Running(self.sentences + len(sources), max(self.longest, sources[0])) if sources else self


def choose_batches(sources: Sequence[int], running: tuple[Running, Running], step_cost: int | None) -> list[int]:
    """Return the number of the batch, 0 or 1, for each joining sentence, given the lengths of their sources.

    The long ones join one batch and the short ones the other, cut where the next steps of both cost least.
    `step_cost` is the cost of another step, in padded source positions; None: steps are never split.
    """
    all_in_first = [0] * len(sources)
    if step_cost is None:
        return all_in_first
    longest = max(*sources, running[0].longest)
    if not running[1].sentences and (len(sources) + running[0].sentences) * longest <= step_cost:
        return all_in_first  # a second step costs more than all positions
    order = sorted(range(len(sources)), key=lambda index: -sources[index])
    lengths = [sources[index] for index in order]
    _, cut, wide = min(_choices(lengths, running, step_cost))
    chosen = all_in_first
    for place, index in enumerate(order):
        chosen[index] = wide if place < cut else 1 - wide
    return chosen


def _choices(
    lengths: Sequence[int], running: tuple[Running, Running], step_cost: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (cost, cut, batch of the long ones) for every cut of the lengths, longest first."""
    cuts = [cut for cut in range(1, len(lengths)) if lengths[cut] != lengths[cut - 1]]
    for cut in (0, *cuts, len(lengths)):
        for wide in range(BATCHES):
            after = running[wide].joined(lengths[:cut]), running[1 - wide].joined(lengths[cut:])
            yield sum(batch.cost(step_cost) for batch in after), cut, wide
