"""The engine's interface of a model: encode sentences, then decode them step by step.

A decoder state holds the running sentences of one beam width K. Its rows are sentence-major: row b * K + k is
hypothesis k of sentence b. A sentence joins in the place of one that has left, or at the end. The last sentences move
into places that are still empty when the next step begins. Search and scheduler use only this interface, so they cannot
depend on a model's architecture.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from service.engine.jobs import FloatArray, IntArray, ScoringResult, WeightSelection

Encoded = Sized  # the encoder output of some sentences, for the decoder states that they join


class Choice(NamedTuple):
    """What a step has chosen among the candidates of each sentence, by the rules of the search."""

    tokens: IntArray  # [B, K]: the last ones of the best K that live, best first
    slots: IntArray  # [B, K]: the slots of the hypotheses that they continue
    gains: FloatArray  # [B, K]: their log-probabilities; -inf: there are fewer
    ends: FloatArray  # [B, K]: for each slot the log-probability of its end, if that is among the best K; else -inf


class Candidates(Protocol):
    """The likeliest next tokens of every row, best first; valid until the next step."""

    @property
    def ids(self) -> IntArray:
        """Return the tokens, [B, K, C]."""

    @property
    def logprobs(self) -> FloatArray:
        """Return their log-probabilities, [B, K, C]."""

    @property
    def choice(self) -> Choice | None:
        """Return what the step has chosen among them; None: the search chooses."""


class HostCandidates(NamedTuple):
    """Candidates of which nothing is chosen."""

    ids: IntArray
    logprobs: FloatArray
    choice: None = None


@dataclass(frozen=True, slots=True, eq=False)
class Advance:
    """The results of a step of the search: the moves of rows, and the finished sentences."""

    parents: IntArray | None  # [B * K]: the row each row continues; None: every row continues itself
    done: list[int]  # sentences that are finished, ascending
    ranks: IntArray | None = None  # [B, K]: for each row its place in the step's choice; None: the search chose
    scores: npt.NDArray[np.float64] | None = None  # [B, K]: sums of log-probabilities, where a beam chose


class Rows(Protocol):
    """The hypotheses of a search."""

    @property
    def tokens(self) -> IntArray:
        """Return the last token of every row, [B, K]."""


class DecoderState(Protocol):
    """Memory and state of B running sentences with K rows each."""

    def join(self, encoded: Encoded, sentences: Sequence[int], places: Sequence[int] | None = None) -> None:
        """Add the encoded sentences with these indices, with nothing decoded yet.

        `places` are, ascending, those of sentences that have left and then new ones at the end; None: all at the end.
        """

    def set_candidates(self, candidates: int) -> None:
        """Set the number of candidates per row that the next steps return."""

    def step(self, rows: Rows) -> Candidates:
        """Give every row its token and return the candidates for the next."""

    def reorder(self, advance: Advance) -> None:
        """Let every row continue the one of the last step that the search says."""

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove the places of sentences; `holes` and `movers` are those of `plan_swap_remove`."""


class Model(Protocol):
    """A translation model.

    `encode`, `score_batch` and each decoder state may run concurrently, each in one thread.
    """

    bos: int  # the first token of every hypothesis
    eos: int  # the last token of every finished hypothesis and every source
    source_limit: int  # the longest source that the graphs accept, in tokens, </s> counted
    target_limit: int  # the longest target, likewise
    step_cost: int | None  # of another step, in source positions of padding; None: padding costs next to nothing

    def encode(self, sources: Sequence[Sequence[int]], needed: Sequence[Sequence[int]] | None = None) -> Encoded:
        """Run the encoder over sentences, each ending with </s>.

        `needed` are target tokens that each translation may need, whatever a shortlist says.
        """

    def decoder_state(self, beam_size: int, candidates: int) -> DecoderState:
        """Return an empty decoder state whose steps return so many candidates per row."""

    def score_batch(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[ScoringResult]:
        """Score given translations: (source, target) ids, both ending with </s>."""

    def explain(self, source: Sequence[int], target: Sequence[int], selection: WeightSelection) -> ScoringResult:
        """Score a given translation, with the scores behind the selected weights; raise InvalidOption without any."""

    def close(self) -> None:
        """Free the memory of the model, which is not used again."""
