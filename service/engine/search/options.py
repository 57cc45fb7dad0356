"""Checks the options of a call, settles what they leave open for a sentence, and checks the lengths of jobs."""

import math
from collections.abc import Sequence
from dataclasses import replace

from service.bundle.limits import length_limit
from service.bundle.manifest import DecodingDefaults
from service.engine.errors import EmptyInput, InputTooLong, InvalidOption
from service.engine.fields import limits_of_fields
from service.engine.jobs import Hypothesis, ScoringRequest, ScoringResult, SearchOptions, SentenceJob
from service.engine.types import TranslationOptions

LIMITS = limits_of_fields(TranslationOptions)


def complete(options: TranslationOptions, defaults: DecodingDefaults) -> TranslationOptions:
    """Return the options with the model's settings for what they leave open; raise InvalidOption."""
    beam_size = defaults.beam_size if options.beam_size is None else options.beam_size
    length_penalty = defaults.length_penalty if options.length_penalty is None else options.length_penalty
    check_limits(options)
    ending = defaults.early_stopping if options.early_stopping is None else options.early_stopping
    guard = defaults.repetition_guard if options.repetition_guard is None else options.repetition_guard
    guard = True if guard is None else guard
    return replace(
        options,
        beam_size=beam_size,
        length_penalty=length_penalty,
        early_stopping=ending,
        repetition_guard=guard,
    )


def check_limits(options: TranslationOptions) -> None:
    """Raise InvalidOption for a number outside the limits of its field."""
    for name, lowest, highest in LIMITS:
        value = getattr(options, name)
        if value is not None and not lowest <= value <= (math.inf if highest is None else highest):
            limits = f"at least {lowest:g}" if highest is None else f"from {lowest:g} to {highest:g}"
            raise InvalidOption(f"{name} is {value}; it must be {limits}.")


def check_quality(options: TranslationOptions, available: bool, model: str) -> None:
    """Raise InvalidOption if min_quality is not possible: alone, with a prefix, or if the model gives no quality."""
    if options.target_prefix is not None and options.formality != "default":
        raise InvalidOption("formality is not possible with target_prefix, whose words are not the model's own.")
    if options.target_prefix is not None and options.min_quality is not None:
        raise InvalidOption("min_quality is not possible with target_prefix, whose words are not the model's own.")
    if options.min_quality is None:
        if options.keeps_source:
            raise InvalidOption("below_min_quality is keep_source, but there is no min_quality; send one from 0 to 1.")
        return
    if not available:
        raise InvalidOption(
            f"min_quality needs a model that gives a quality, and {model} gives none; leave it out, or add the "
            "coefficients with `python -m training confidence`."
        )


def penalty_of(options: TranslationOptions) -> float:
    """Return the length penalty of completed options."""
    assert options.length_penalty is not None, "complete() fills it in"
    return options.length_penalty


def search_options(
    options: TranslationOptions, source_tokens: int, target_limit: int, prefix: tuple[int, ...] = ()
) -> SearchOptions:
    """Settle how to search for so many source tokens; counts include </s>, and the options are complete.

    Raise InvalidOption if there is no room for a token after the prefix.
    """
    assert options.beam_size is not None, "complete() fills it in"
    assert options.repetition_guard is not None, "complete() fills it in"
    n_best = options.alternatives + 1
    longest = length_limit(source_tokens, target_limit, options.max_length)
    if len(prefix) >= longest:
        raise InvalidOption(
            f"target_prefix has {len(prefix)} tokens, with that of the language if the model writes one; a translation "
            f"of this text has at most {longest} with its end."
        )
    return SearchOptions(
        beam_size=max(options.beam_size, n_best),
        length_penalty=penalty_of(options),
        max_length=longest,
        n_best=n_best,
        early_stopping=options.early_stopping,
        repetition_guard=options.repetition_guard,
        prefix=prefix,
    )


def normalised_score(logprobs: Sequence[float], length_penalty: float) -> float:
    """Return the score of a translation: the sum of its log-probabilities over its length to the penalty."""
    return float(sum(logprobs) / len(logprobs) ** length_penalty)


def over_vocabulary(hypothesis: Hypothesis, scores: ScoringResult, length_penalty: float, certain: int) -> Hypothesis:
    """Return a hypothesis with its scored log-probabilities: those of the search may be over a shortlist only.

    `certain`: how many tokens name the language of the translation, which has log-probability 0, as in the search.
    """
    scored = scores.logprobs[certain : len(hypothesis.ids)].tolist()
    logprobs = *[0.0] * min(certain, len(hypothesis.ids)), *scored
    return replace(hypothesis, logprobs=logprobs, score=normalised_score(logprobs, length_penalty) if logprobs else 0.0)


def check_job(job: SentenceJob, source_limit: int, target_limit: int) -> SentenceJob:
    """Return the job with its maximum length cut to the model's limit.

    A translation that is cut off gets an </s> before it is scored, and needs a position for it.
    Raise EmptyInput or InputTooLong.
    """
    _check_length("source", job.source_ids, source_limit)
    if job.score is not None:
        target_limit -= 1
    if job.search.max_length <= target_limit:
        return job
    return replace(job, search=replace(job.search, max_length=target_limit))


def check_scoring(job: ScoringRequest, source_limit: int, target_limit: int) -> None:
    """Raise EmptyInput or InputTooLong if one side does not fit the model."""
    _check_length("source", job.source_ids, source_limit)
    _check_length("target", job.target_ids, target_limit)


def _check_length(side: str, ids: Sequence[int], limit: int) -> None:
    """Raise EmptyInput or InputTooLong; `side` names the sequence in the message."""
    if not ids:
        raise EmptyInput(f"The {side} has no tokens.")
    if len(ids) > limit:
        raise InputTooLong(f"The {side} has {len(ids)} tokens; the model takes {limit}.")
