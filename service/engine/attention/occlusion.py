"""Occlusion: what each target token loses in log-probability if a part of the source is removed.

Zeiler and Fergus (1311.2901) cover a part of the input and watch the output. It asks the whole network, while attention
shows one step of the computation; where they differ, attention is no explanation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from service.bundle.alignment import Groups
from service.engine.attention.attention_map import shown_tokens
from service.engine.errors import TooManyWeights
from service.engine.jobs import FloatArray
from service.engine.types import AttentionMap, AttentionOptions, SentenceDetail, Token

MOST_OCCLUDED = 64  # parts of one sentence; each is one scoring run more


@dataclass(frozen=True, slots=True)
class Occlusion:
    """The parts of a source that are removed, one at a time."""

    parts: tuple[Token, ...]
    groups: Groups  # the source tokens of each part

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token], options: AttentionOptions) -> Occlusion:
        """Return a part for each token or word that is not special; raise TooManyWeights if there are too many."""
        shown, groups = shown_tokens(text, tokens, options.tokens)
        kept = [(token, group) for token, group in zip(shown, groups, strict=True) if not token.special]
        if len(kept) > MOST_OCCLUDED:
            raise TooManyWeights(
                f"The text has {len(kept)} {options.tokens}s, and occlusion removes each once; at most {MOST_OCCLUDED} "
                "are removed. Send a shorter text, or tokens=word."
            )
        return cls(tuple(token for token, _ in kept), [group for _, group in kept])

    def sources(self, ids: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the source without each part."""
        return [tuple(id_ for place, id_ in enumerate(ids) if place not in hidden) for hidden in map(set, self.groups)]


def with_occlusion(
    found: AttentionMap,
    pair: SentenceDetail,
    parts: Occlusion,
    without: Sequence[FloatArray],
    options: AttentionOptions,
) -> AttentionMap:
    """Return a cross-attention map with occlusion in place of its weights: rows are target tokens, columns parts.

    `without` are the log-probabilities [T] of the translation without each part. A word's loss is the sum over its
    subwords. A positive number: the token is less likely without the part.
    """
    assert pair.scores is not None
    lost = np.stack([pair.scores.logprobs - logprobs for logprobs in without], axis=1)  # [T, C]
    shown, groups = shown_tokens(found.target_text, pair.target_tokens, options.tokens)
    rows = [
        group for token, group in zip(shown, groups, strict=True) if options.specials == "keep" or not token.special
    ]
    weights = np.stack([lost[group].sum(axis=0) for group in rows])
    return replace(
        found,
        kind="occlusion",
        weights=np.asarray(weights, np.float32),
        column_tokens=parts.parts,
        layer="all",
        head="all",
        step="produce",
    )
