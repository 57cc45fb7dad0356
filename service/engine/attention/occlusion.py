"""Occlusion: what each target token loses in log-probability if a part of the source is removed.

Zeiler and Fergus (1311.2901) cover a part of the input and watch the output. It asks the whole network, while attention
shows one step of the computation; where they differ, attention is no explanation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from service.engine.attention.words import Axis, axis_of
from service.engine.errors import TooManyWeights
from service.engine.jobs import FloatArray
from service.engine.types import AttentionMap, AttentionOptions, SentenceDetail

MOST_OCCLUDED = 64  # parts of one sentence; each is one scoring run more


def occluded_parts(pair: SentenceDetail, options: AttentionOptions) -> Axis:
    """Return the tokens or words of a source that are removed; raise TooManyWeights."""
    axis = axis_of(pair.source_text, pair.source_tokens, options.tokens, pair.source_start).plain
    if len(axis.shown) > MOST_OCCLUDED:
        raise TooManyWeights(
            f"The text has {len(axis.shown)} {options.tokens}s, and occlusion removes each once; at most "
            f"{MOST_OCCLUDED} are removed. Send a shorter text, or tokens=word."
        )
    return axis


def with_occlusion(
    found: AttentionMap,
    pair: SentenceDetail,
    parts: Axis,
    without: Sequence[FloatArray],
    options: AttentionOptions,
) -> AttentionMap:
    """Return a cross-attention map with occlusion in place of its weights: rows are target tokens, columns parts.

    `without` are the log-probabilities [T] of the translation without each part. A word's loss is the sum over its
    subwords. A positive number: the token is less likely without the part.
    """
    assert pair.scores is not None
    lost = np.stack([pair.scores.logprobs - logprobs for logprobs in without], axis=1)  # [T, C]
    axis = axis_of(pair.target_text, pair.target_tokens, options.tokens, pair.target_start)
    rows = axis if options.specials == "keep" else axis.plain
    weights = np.stack([lost[group].sum(axis=0) for group in rows.groups]).astype(np.float32)
    return replace(
        found, kind="occlusion", weights=weights, column_tokens=parts.shown, layer="all", head="all", step="produce"
    )
