"""Occlusion: what each target token loses in log-probability if a part of the source is removed.

Zeiler and Fergus (1311.2901) cover a part of the input and watch the output. It asks the whole network, while attention
shows one step of the computation; where they differ, attention is no explanation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from service.bundle.alignment import Groups
from service.engine.attention.attention_map import axis_of
from service.engine.errors import TooManyWeights
from service.engine.jobs import FloatArray
from service.engine.types import AttentionMap, AttentionOptions, SentenceDetail, Token

MOST_OCCLUDED = 64  # parts of one sentence; each is one scoring run more


def occluded_parts(text: str, tokens: Sequence[Token], options: AttentionOptions) -> tuple[tuple[Token, ...], Groups]:
    """Return the tokens or words of a source that are removed, and the subwords of each; raise TooManyWeights."""
    axis = axis_of(text, tokens, options.tokens)
    kept = [(token, group) for token, group in zip(axis.shown, axis.groups, strict=True) if not token.special]
    if len(kept) > MOST_OCCLUDED:
        raise TooManyWeights(
            f"The text has {len(kept)} {options.tokens}s, and occlusion removes each once; at most {MOST_OCCLUDED} "
            "are removed. Send a shorter text, or tokens=word."
        )
    return tuple(token for token, _ in kept), [group for _, group in kept]


def with_occlusion(
    found: AttentionMap,
    pair: SentenceDetail,
    parts: tuple[Token, ...],
    without: Sequence[FloatArray],
    options: AttentionOptions,
) -> AttentionMap:
    """Return a cross-attention map with occlusion in place of its weights: rows are target tokens, columns parts.

    `without` are the log-probabilities [T] of the translation without each part. A word's loss is the sum over its
    subwords. A positive number: the token is less likely without the part.
    """
    assert pair.scores is not None
    lost = np.stack([pair.scores.logprobs - logprobs for logprobs in without], axis=1)  # [T, C]
    axis, keep = axis_of(found.target_text, pair.target_tokens, options.tokens), options.specials == "keep"
    rows = [group for token, group in zip(axis.shown, axis.groups, strict=True) if keep or not token.special]
    weights = np.stack([lost[group].sum(axis=0) for group in rows]).astype(np.float32)
    return replace(
        found, kind="occlusion", weights=weights, column_tokens=parts, layer="all", head="all", step="produce"
    )
