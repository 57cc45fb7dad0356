"""A checked request for attention: the texts, the pair or its leg, and the options."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.api.checks import named_pair
from service.api.errors import ApiError, invalid
from service.api.schemas.attention import SEVERAL_MAPS, AttentionRequest
from service.engine import AttentionOptions, Languages, Pair, Selector, TranslationOptions


@dataclass(frozen=True, slots=True)
class AttentionJob:
    """A checked request."""

    text: str
    target_text: str | None
    pair: Pair
    options: AttentionOptions
    before: Pair | None = None  # the first leg, if the second one is shown, which is then `pair`


def job_of(fields: AttentionRequest, languages: Languages) -> AttentionJob:
    """Return the checked request, with every layer and head for `bertviz`; raise ApiError."""
    check_together(fields)
    source, target = named_pair(fields.source, fields.target, languages, fields.model)
    if source == target:
        raise ApiError(
            "A text is not translated into its own language, so there is no attention to show; give another target.",
            code="unsupported_pair",
        )
    before, pair = chosen_leg(languages.legs(source, target), fields.leg)
    default: Selector = "align" if fields.kind == "cross" else "mean"
    if default == "mean" and fields.stage == "scores":
        default = 0  # a mean has no scores
    given, every = fields.model_fields_set, fields.format == "bertviz"
    options = AttentionOptions(
        kind=fields.kind,
        layer="all" if every else fields.layer if "layer" in given else default,
        head="all" if every else fields.head if "head" in given else default,
        tokens=fields.tokens,
        specials=fields.specials,
        stage=fields.stage,
        trace=fields.view == "steps",
        target_ids=_ids(fields.target_ids),
        source_ids=_ids(fields.source_ids),
        member=fields.member,
        translation=TranslationOptions.of(fields),
    )
    return AttentionJob(fields.text, fields.target_text, pair, options, before)


def check_together(fields: AttentionRequest) -> None:
    """Raise ApiError if the fields contradict each other."""
    form = fields.format
    if form in ("bertviz", "pharaoh") and fields.view in SEVERAL_MAPS:
        raise invalid(f"format {form} holds one map; view must be heatmap or lines")
    if fields.view in SEVERAL_MAPS and (fields.stage == "scores" or fields.kind == "occlusion"):
        raise invalid(f"view={fields.view} compares attention weights; use stage=weights and a kind of attention")
    if form in ("bertviz", "pharaoh") and fields.kind == "occlusion":
        raise invalid(f"format {form} holds attention, and kind=occlusion is none; use json, csv or npz")
    if fields.view == "steps":
        check_steps(fields)
    if fields.source_ids and not fields.target_ids:
        raise invalid("source_ids belong to target_ids; send both, or neither", param="source_ids")
    if fields.target_ids and fields.view in SEVERAL_MAPS:
        raise invalid("target_ids are tokens of one model; use view=heatmap or lines", param="target_ids")
    if fields.cell is not None and (fields.stage != "scores" or form != "json"):
        raise invalid("cell explains one weight in JSON; use stage=scores and format=json", param="cell")


def check_steps(fields: AttentionRequest) -> None:
    """Raise ApiError if the steps of a search cannot be shown as requested."""
    if fields.format != "json":
        raise invalid("view=steps is the search as data; use format=json", param="format")
    if fields.kind != "cross":
        raise invalid("view=steps shows what each step of the search looks at; use kind=cross", param="kind")
    if fields.tokens != "subword" or fields.specials != "keep":
        raise invalid("view=steps has a row for each step of the search; use tokens=subword and specials=keep")
    if fields.target_text is not None or fields.target_ids:
        name = "target_ids" if fields.target_ids else "target_text"
        raise invalid(f"a given translation has no search; leave out {name}", param=name)


def _ids(given: str | None) -> tuple[int, ...]:
    return tuple(map(int, given.split(","))) if given else ()


def chosen_leg(legs: Sequence[Pair], leg: int | None) -> tuple[Pair | None, Pair]:
    """Return the leg that is shown, and the leg before it, if there is one; raise ApiError if `leg` does not fit."""
    if len(legs) == 1:
        if leg is not None:
            raise invalid("one model translates this pair, so there are no legs; leave out leg", param="leg")
        return None, legs[0]
    if leg is None:
        first, second = (f"leg={number} is {source} to {target}" for number, (source, target) in enumerate(legs, 1))
        raise invalid(
            f"two models translate this pair, and each has its own attention: {first}, {second}; choose one",
            "leg_required",
            "leg",
        )
    return (None, legs[0]) if leg == 1 else (legs[0], legs[1])
