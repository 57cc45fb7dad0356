"""The last step of a reading: what the model reads in the places of values, and what a translation must hold."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from service.engine.text.draft import Draft
from service.engine.text.tokenizer import Tokenizer
from service.engine.values.constraints import MOST_FORMS, MOST_VALUES, Form, ValueConstraints
from service.engine.values.stand_ins import is_number_like, stand_ins
from service.engine.values.value import DIGIT_KINDS, Kind, Value

# What the model reads in the place of a term; or, in the places of other values, not what it reads first: short codes
# and emoji themselves, and stand-ins of numbers.
TermReading = Literal["source", "target", "stand-in", "otherwise"]
LATER_READINGS: tuple[TermReading, ...] = ("target", "stand-in", "otherwise")  # of searches after the first
_CHANGED = DIGIT_KINDS | {Kind.CODE}
MOST_OWN_TOKENS = 12  # the model writes no longer value itself
_OPENING = "("  # what follows it has no space before it


def with_stand_ins(draft: Draft, target: Tokenizer, terms: TermReading = "source") -> Draft | None:
    """Return a draft with stand-ins for its values; None if it has too many of them, or of their forms.

    `terms`: whether the model reads the source terms, or in their places the target terms or words that it copies.
    "otherwise": it reads short codes and emoji themselves, and stand-ins of numbers.
    """
    text, values = draft.spelled, draft.at_spelled(draft.values)
    if len(values) > MOST_VALUES or (len(values) > 1 and sum(len(value.forms) for value in values) > MOST_FORMS):
        return None
    words = stand_ins(text, values, [_needs_stand_in(value, target, terms) for value in values])
    if words is None:
        return None
    if terms != "stand-in":  # for a term of several words, the model would also write some of its own
        words = tuple(
            value.written if value.kind is Kind.TERM and (terms == "target" or " " in value.text) else word
            for value, word in zip(values, words, strict=True)
        )
    soft = tuple(value.is_soft and not (value.kind is Kind.TERM and terms == "stand-in") for value in values)
    constraints = ValueConstraints(
        forms=tuple(
            _forms(_term_forms(text, value) if is_soft else (word,) if word else (value.written, value.text), target)
            for value, word, is_soft in zip(values, words, soft, strict=True)
        ),
        whole_words=tuple(not _may_continue(text, value) for value in values),
        digits_reserved=any(map(is_number_like, values)),
        soft=soft,
        classes=target.classes,
    )
    return replace(draft, stand_ins=words, constraints=constraints)


def _needs_stand_in(value: Value, target: Tokenizer, terms: TermReading) -> bool:
    if value.kind is Kind.TERM:
        return terms == "stand-in"
    if terms == "otherwise" and (value.kind is Kind.EMOJI or (value.kind in _CHANGED and _is_short(value, target))):
        return value.kind in DIGIT_KINDS
    # Figures such as 3:16 that are no time look like one: a model that reads them writes "Uhr" behind them.
    like_a_time = value.kind is Kind.NUMBER and ":" in value.text
    return like_a_time or bool(value.stand_in) or value.kind not in DIGIT_KINDS or not _is_short(value, target)


def _may_continue(text: str, value: Value) -> bool:
    """Return whether letters may follow a value: the endings of ordinals and decades, and units without a space.

    The source says so, except that 1 becomes "1er" in French without being asked.
    """
    if not is_number_like(value) or value.written[-1:].isalpha():
        return False
    following = text[value.end : value.end + 2]
    ordinal = following[:1] == "." and following[1:].isspace()  # "5. Mai"
    return value.written == "1" or ordinal or following[:1].isalnum() or following[:1] in ("-", "'", "’")


def _is_short(value: Value, target: Tokenizer) -> bool:
    """Return whether the model can write a value itself: a few whole pieces, the first of them visible."""
    tokens = target.word(value.written)
    return len(tokens) <= MOST_OWN_TOKENS and target.writes_plainly(tokens)


def _term_forms(text: str, value: Value) -> tuple[str, ...]:
    """Return every form of a term, which may begin a sentence."""
    written = dict.fromkeys(value.forms)
    if text[:1].isupper() or value.text[:1].isupper():
        written |= dict.fromkeys(form[:1].upper() + form[1:] for form in written)
    return tuple(written)


def _forms(written: Sequence[str], target: Tokenizer) -> tuple[Form, ...]:
    """Return the tokens of each way to write a value, at the start of a word and after an opening token within one."""
    forms: dict[Form, None] = {}
    for text in written:
        forms[Form(target.word(text), False)] = None
        before, both = target.word(_OPENING), target.word(_OPENING + text)
        if both[: len(before)] == before:
            forms[Form(both[len(before) :], text[:1].isalnum())] = None
    return tuple(forms)
