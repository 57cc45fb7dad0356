"""A checked request for attention: the texts, the pair or its leg, and the options."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.api.checks import named_pair, search_options
from service.api.errors import ApiError, invalid
from service.api.schemas.attention import (
    AttentionRequest,
)
from service.engine import (
    AttentionOptions,
    Languages,
    Pair,
    Selector,
)
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class Job:
    """A checked request."""

    text: str
    target_text: str | None
    source: str
    target: str
    model: str | None
    options: AttentionOptions
    before: Pair | None = None  # the first leg, if the second one is shown: source and target are then those of its own


def job_of(fields: AttentionRequest, known: Languages, settings: Settings, *, all_heads: bool) -> Job:
    """Return the checked request, with every layer and head if all are requested; raise ApiError."""
    source, target = named_pair(fields.source, fields.target, known, fields.model)
    if source == target:
        raise ApiError(
            "A text is not translated into its own language, so there is no attention to show; give another target.",
            code="unsupported_pair",
        )
    before, (source, target) = chosen_leg(known.legs(source, target), fields.leg)
    default: Selector = "align" if fields.kind == "cross" else "mean"
    if default == "mean" and fields.stage == "scores":
        default = 0  # a mean has no scores
    options = AttentionOptions(
        kind=fields.kind,
        layer="all" if all_heads else fields.layer if "layer" in fields.model_fields_set else default,
        head="all" if all_heads else fields.head if "head" in fields.model_fields_set else default,
        tokens=fields.tokens,
        specials=fields.specials,
        stage=fields.stage,
        trace=fields.view == "steps",
        target_ids=_ids(fields.target_ids),
        source_ids=_ids(fields.source_ids),
        translation=search_options(fields, settings),
    )
    return Job(fields.text, fields.target_text, source, target, fields.model, options, before)


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
