"""Turns the attention of scored sentences into the requested view of it, without side effects."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from service.bundle.alignment import alignment_weights, merge
from service.bundle.manifest import AlignmentHead, Step
from service.engine.attention import alignment
from service.engine.attention.words import Axis, axis_of, links_of
from service.engine.jobs import AttentionScores, FloatArray, ScoringResult
from service.engine.model_info import ModelInfo
from service.engine.types import AttentionMap, AttentionOptions, SentenceDetail, Token, TokenOrWord

AXES = {
    "cross": ("target", "source"),
    "encoder": ("source", "source"),
    "decoder": ("target", "target_input"),  # <s> and the target tokens before the row's own, as the decoder read
}


def build_map(
    texts: tuple[str, str],
    pair: SentenceDetail,
    options: AttentionOptions,
    begin: Token,
    align: AlignmentHead,
    info: ModelInfo,
) -> AttentionMap:
    """Return the requested attention of one sentence of a text and its translation.

    `pair.scores` holds the weights that selection.select_weights names, and `align` is the alignment head as
    selection.alignment_head_in_result returns it. `begin` is <s>, which the decoder reads first. A word's
    log-probability is the sum over its subwords, and its rank is that of its worst subword.
    """
    assert pair.scores is not None, "a worker answers with the requested scores"
    options = _resolved(options)
    source = axis_of(pair.source_text, pair.source_tokens, options.tokens, pair.source_start)
    target = axis_of(pair.target_text, pair.target_tokens, options.tokens, pair.target_start)
    read = axis_of(pair.target_text, (begin, *pair.target_tokens[:-1]), options.tokens, pair.target_start)
    rows, columns = {"cross": (target, source), "encoder": (source, source), "decoder": (target, read)}[options.kind]
    weights = _weights(pair.scores, options, align, rows, columns)
    aligning = alignment_weights(pair.scores.cross_attention, align)
    linked = (source, target) if options.specials == "keep" else (source.plain, target.plain)
    named = [name for name, chosen in (("layer", options.layer), ("head", options.head)) if chosen == "all"]
    logprobs, ranks = _token_scores(pair, target, options)
    return AttentionMap(
        kind=options.kind,
        layer=options.layer,
        head=options.head,
        axes=(*named, *AXES[options.kind]),
        weights=alignment.limit_specials(weights, rows.shown, columns.shown, options.specials),
        source_text=texts[0],
        target_text=texts[1],
        source_tokens=_kept(source.shown, options),
        target_tokens=_kept(target.shown, options),
        score=pair.score,
        token_logprobs=logprobs,
        token_ranks=ranks,
        alignment=links_of(aligning, *linked, align.threshold),
        digest=info.digest,
        model=info.name,
        column_tokens=_kept(columns.shown, options),
        step=_step(options, align),
        scores=_scores(pair.scores, _step(options, align), rows, columns),
        quality=pair.quality,
    )


def join_maps(maps: Sequence[AttentionMap], score: float, quality: float | None) -> AttentionMap:
    """Return the map of a text from those of its sentences: the model sees no sentence from another.

    Weights between two sentences are 0, and scores are -inf, as where a position is masked.
    """
    if len(maps) == 1:
        return maps[0]
    links: list[tuple[int, int]] = []
    sources = targets = 0
    for each in maps:
        links += [(source + sources, target + targets) for source, target in each.alignment]
        sources, targets = sources + len(each.source_tokens), targets + len(each.target_tokens)
    return replace(
        maps[0],
        weights=_diagonal([each.weights for each in maps], 0.0),
        source_tokens=tuple(token for each in maps for token in each.source_tokens),
        target_tokens=tuple(token for each in maps for token in each.target_tokens),
        score=score,
        token_logprobs=tuple(value for each in maps for value in each.token_logprobs),
        token_ranks=tuple(rank for each in maps for rank in each.token_ranks),
        alignment=tuple(links),
        column_tokens=tuple(token for each in maps for token in each.column_tokens),
        scores=_joined_scores([each.scores for each in maps if each.scores is not None]),
        quality=quality,
    )


def _diagonal(blocks: Sequence[FloatArray], between: float) -> FloatArray:
    """Return arrays [..., R, C] along the diagonal of one."""
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (-2, -1))
    whole = np.full((*blocks[0].shape[:-2], rows, columns), between, np.float32)
    row = column = 0
    for block in blocks:
        height, width = block.shape[-2:]
        whole[..., row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return whole


def _joined_scores(found: Sequence[AttentionScores]) -> AttentionScores | None:
    if not found:
        return None
    queries = [each.queries for each in found if each.queries is not None]
    keys = [each.keys for each in found if each.keys is not None]
    return replace(
        found[0],
        scores=_diagonal([each.scores for each in found], -np.inf),
        queries=np.concatenate(queries) if queries else None,
        keys=np.concatenate(keys) if keys else None,
    )


def _scores(result: ScoringResult, step: Step | None, rows: Axis, columns: Axis) -> AttentionScores | None:
    """Return the scores behind the weights of the axes' tokens, if there are any."""
    found = result.scores
    if found is None:
        return None
    scores, queries = found.scores, found.queries
    if step == "consume":  # as service.bundle.alignment.alignment_weights reads weights
        last = np.full_like(scores[-1:], np.nan)
        scores = np.concatenate([scores[1:], last])
        queries = None if queries is None else np.concatenate([queries[1:], queries[-1:]])
    return replace(
        found,
        scores=scores[..., : rows.size, : columns.size],
        queries=None if queries is None else queries[: rows.size],
        keys=None if found.keys is None else found.keys[: columns.size],
    )


def _resolved(options: AttentionOptions) -> AttentionOptions:
    """Return the options with "align" as the mean where no head aligns: outside of cross-attention."""
    if options.kind == "cross":
        return options
    if options.kind == "occlusion":
        return replace(options, kind="cross", layer="align", head="align")
    layer, head = ("mean" if chosen == "align" else chosen for chosen in (options.layer, options.head))
    return replace(options, layer=layer, head=head)


def _step(options: AttentionOptions, align: AlignmentHead) -> Step | None:
    """Return the decoder step of a row; only the alignment head is read at the step that aligns."""
    if options.kind == "encoder":
        return None
    return align.step if options.kind == "cross" and options.layer == options.head == "align" else "produce"


def _without_unread(weights: FloatArray, rows: Axis, last: int) -> FloatArray:
    """Return weights [T, S] with NaN in the row of the model's last token, which no step reads."""
    unread = [row for row, group in enumerate(rows.groups) if last in group]
    known = weights.copy()
    known[unread] = np.nan
    return known


def _weights(
    scores: ScoringResult, options: AttentionOptions, align: AlignmentHead, rows: Axis, columns: Axis
) -> FloatArray:
    """Return the requested weights of the tokens that the two axes show."""
    if options.kind == "cross" and options.layer == options.head == "align":
        # At the step that aligns, as everywhere else for "align".
        weights = alignment_weights(scores.cross_attention, align)
    else:
        assert scores.selected is not None
        weights = scores.selected
    weights = weights[..., : rows.size, : columns.size]
    if options.tokens == "word":
        weights = merge(weights, rows.attending, columns.groups)
    if _step(options, align) == "consume":
        weights = _without_unread(weights, rows, len(scores.logprobs) - 1)
    return weights


def _token_scores(
    pair: SentenceDetail, target: Axis, options: AttentionOptions
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the log-probability and the rank of each target token that is shown."""
    shown = [
        group
        for token, group in zip(target.shown, target.groups, strict=True)
        if options.specials == "keep" or not token.special
    ]
    logprobs = tuple(sum(pair.token_logprobs[i] for i in group) for group in shown)
    assert pair.scores is not None
    ranks = pair.scores.ranks
    return logprobs, tuple(max(int(ranks[i]) for i in group) for group in shown)


def _kept(tokens: tuple[TokenOrWord, ...], options: AttentionOptions) -> tuple[TokenOrWord, ...]:
    return tokens if options.specials == "keep" else tuple(token for token in tokens if not token.special)
