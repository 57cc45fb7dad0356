"""Selects the weights of a scored translation to return: one head and one view, instead of all of them."""

from dataclasses import replace

import numpy as np

from service.bundle.manifest import AlignmentHead, AttentionSize, AttentionSpec
from service.engine.errors import InvalidOption, TooManyWeights
from service.engine.jobs import FloatArray, ScoringResult, Selector, WeightLimit, WeightSelection
from service.engine.types import AttentionOptions


def alignment_head_in_result(align: AlignmentHead) -> AlignmentHead:
    """Return the alignment head with its position in the results of a WeightSelection, which hold no other head."""
    return replace(align, layer=0, head=0)


def select_weights(options: AttentionOptions, spec: AttentionSpec, model: str) -> WeightSelection:
    """Return the weights that a view needs; raise InvalidOption for a kind, layer or head that the model lacks."""
    align = (spec.align.layer, spec.align.head)
    size = _size(options, spec, model)
    if options.stage == "scores":
        _check_scores(options)
    if options.kind == "occlusion":
        return WeightSelection(align)
    if options.kind == "cross":
        if options.layer == options.head == "align" and options.stage == "weights":
            return WeightSelection(align)
        numbers: tuple[Selector, Selector] = align
    else:
        numbers = ("mean", "mean")  # only cross-attention has a layer and a head that align
    layer = numbers[0] if options.layer == "align" else options.layer
    head = numbers[1] if options.head == "align" else options.head
    for name, chosen, count in (("layer", layer, size.layers), ("head", head, size.heads)):
        if isinstance(chosen, int) and not 0 <= chosen < count:
            raise InvalidOption(f"There is no {name} {chosen}: the model has {count}, numbered from 0 to {count - 1}.")
    return WeightSelection(align, (options.kind, layer, head), stage=options.stage)


def with_explicit_head(options: AttentionOptions, spec: AttentionSpec) -> AttentionOptions:
    """Return options with the aligning head under its numbers, so that each row is that of the step itself."""
    layer, head = options.layer, options.head
    return replace(
        options,
        layer=spec.align.layer if layer == "align" else layer,
        head=spec.align.head if head == "align" else head,
    )


def _check_scores(options: AttentionOptions) -> None:
    """Raise InvalidOption for a view that has weights but no scores."""
    if options.kind == "occlusion":
        raise InvalidOption("Occlusion runs the whole network and has no scores; stage must be weights.")
    if "mean" in (options.layer, options.head):
        raise InvalidOption(
            "A mean over layers or heads has no scores, because the softmax of a mean is not the mean of softmaxes; "
            "with stage=scores, layer and head must be numbers, align or all."
        )
    if options.tokens != "subword" or options.specials != "keep":
        raise InvalidOption("Scores are those of subwords; with stage=scores, tokens must be subword, specials keep.")


def limit_for(options: AttentionOptions, spec: AttentionSpec, most: int | None, model: str) -> WeightLimit | None:
    """Return the limit of a view to `most` weights; None: there is no limit."""
    if most is None:
        return None
    size = _size(options, spec, model)
    maps = (size.layers if options.layer == "all" else 1) * (size.heads if options.head == "all" else 1)
    return WeightLimit("cross" if options.kind == "occlusion" else options.kind, maps, most)


def check_size(limit: WeightLimit | None, source: int, target: int) -> None:
    """Raise TooManyWeights if a view of so many tokens has more weights than its limit allows."""
    if limit is None:
        return
    rows, columns = {"cross": (target, source), "encoder": (source, source), "decoder": (target, target)}[limit.kind]
    count = limit.maps * rows * columns
    if count > limit.most:
        raise TooManyWeights(
            f"That is {count} attention weights ({limit.maps} times {rows} by {columns}); at most {limit.most} are "
            "given in one answer. Choose one layer and one head, or send a shorter text."
        )


def selected_scores(result: ScoringResult, wanted: WeightSelection | None) -> ScoringResult:
    """Return the wanted scores of a translation, in arrays of their own; raise InvalidOption."""
    if wanted is None:
        return result
    result = result.of_member(wanted.member)
    layer, head = wanted.align
    selected = None
    if wanted.view is not None:
        kind, chosen_layer, chosen_head = wanted.view
        weights = {
            "cross": result.cross_attention,
            "encoder": result.encoder_attention,
            "decoder": result.decoder_attention,
        }[kind]
        if weights is None:
            raise InvalidOption(f"There is no {kind} self-attention in this model.")
        selected = np.array(_chosen(_chosen(weights, 1, chosen_head), 0, chosen_layer), np.float32)
    return replace(
        result,
        cross_attention=result.cross_attention[layer : layer + 1, head : head + 1].copy(),
        encoder_attention=None,
        decoder_attention=None,
        selected=selected,
    )


def _chosen(weights: FloatArray, axis: int, selector: Selector) -> FloatArray:
    """Return weights without the axis of a chosen or averaged layer or head; "all" keeps it."""
    if selector == "all":
        return weights
    return np.asarray(weights.take(selector, axis) if isinstance(selector, int) else weights.mean(axis), np.float32)


def _size(options: AttentionOptions, spec: AttentionSpec, model: str) -> AttentionSize:
    sizes = {"cross": spec.cross, "encoder": spec.encoder, "decoder": spec.decoder, "occlusion": spec.cross}
    size = sizes[options.kind]
    if size is None:
        known = "cross" if spec.encoder is None else "cross or encoder"
        raise InvalidOption(f"{model} has no {options.kind} self-attention; kind must be {known}.")
    return size
