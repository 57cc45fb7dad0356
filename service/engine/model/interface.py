"""What the engine asks of a model, whatever it is made of: encode sentences, then step them.

A decoder state holds the running sentences of one beam width K. Its rows are sentence-major: row b * K + k is
hypothesis k of sentence b. Sentences join at the end; when some leave, the last ones move into the holes. Search and
scheduler see no more of a model than this, so they cannot depend on its architecture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from service.engine.types import FloatArray, IntArray, ScoringResult


class Candidates(NamedTuple):
    """The likeliest next tokens of every row, best first; valid until the next step."""

    ids: IntArray  # [B, K, C]
    logprobs: FloatArray  # [B, K, C]


class Encoded(Protocol):
    """The encoder output of some sentences, which the decoder states they join take over."""

    def __len__(self) -> int:
        """Return the number of sentences."""
        ...


class DecoderState(Protocol):
    """Memory and state of B running sentences with K rows each."""

    def join(self, encoded: Encoded, sentences: Sequence[int]) -> None:
        """Append these of the encoded sentences, in this order, with nothing decoded yet."""
        ...

    def step(self, tokens: IntArray) -> Candidates:
        """Feed every row its token, [B, K], and give what may follow."""
        ...

    def reorder(self, parents: IntArray | None) -> None:
        """Make every row, [B * K], continue row `parents` of the step just taken; None: each continues itself."""
        ...

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Forget sentences; `holes` and `movers` are those of closing_moves."""
        ...


class Model(Protocol):
    """A translation model.

    `encode`, `score_batch` and each decoder state may run at the same time, each in one thread.
    """

    @property
    def bos(self) -> int:
        """Return the token every hypothesis begins with."""
        ...

    @property
    def eos(self) -> int:
        """Return the token every finished hypothesis and every source ends with."""
        ...

    @property
    def source_limit(self) -> int:
        """Return the longest source the graphs take, in tokens, </s> counted."""
        ...

    @property
    def target_limit(self) -> int:
        """Return the longest target the graphs take, in tokens, </s> counted."""
        ...

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Run the encoder over sentences, each ending with </s>."""
        ...

    def decoder_state(self, beam_size: int, candidates: int) -> DecoderState:
        """Return an empty decoder state whose steps give so many candidates a row."""
        ...

    def score_batch(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[ScoringResult]:
        """Score given translations: (source, target) ids, both ending with </s>."""
        ...
