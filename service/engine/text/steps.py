"""The steps of a reading: each takes a draft of a sentence and returns one, or none if the draft is not for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from service.engine.text.draft import Draft
from service.engine.text.reading import Reading
from service.engine.text.respelling import respelled
from service.engine.text.short_strings import short_string
from service.engine.text.stand_in_step import with_stand_ins
from service.engine.text.tokenizer import Tokenizers
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.months import find_months
from service.engine.values.people import find_people
from service.engine.values.places import find_places
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.terms import Glossary
from service.engine.values.unknown_words import kept_forms, unknown_words
from service.engine.values.value import Value, merged


@dataclass(frozen=True, slots=True)
class SegmentationOptions:
    """The options of segmentation; token counts include </s>."""

    language: str
    wrap_tokens: int  # longer sentences are wrapped
    max_tokens: int  # the model's limit
    split: bool = True  # False: the whole text is one sentence
    respell: bool = True  # whether short strings and sentences in capitals are read in another spelling
    values: ValueRules | None = None  # how values are found and written; None: they are text as any other
    glossary: Glossary | None = None  # its terms are values too


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads texts for one pair of languages of a model."""

    tokenizers: Tokenizers
    options: SegmentationOptions

    def values_of(self, text: str) -> Sequence[Value]:
        """Return the values of a text, with its unknown words and the terms of the glossary."""
        rules, glossary, knows = self.options.values, self.options.glossary, self.tokenizers.source.knows
        found: list[Sequence[Value]] = []
        if rules is not None:
            found = [find_values(text, rules), unknown_words(text, knows), kept_forms(text, rules.source)]
        return reduce(merged, found if glossary is None else [*found, glossary.find(text, self.options.language)], ())

    def after(self, draft: Draft | None, steps: Sequence["Step"]) -> Draft | None:
        """Return a draft after some steps; None if one of them does not take it."""
        for step in steps:
            if draft is None:
                return None
            draft = step(draft, self)
        return draft

    def reading(self, draft: Draft | None) -> Reading | None:
        """Return a draft after all steps as a reading at the beginning of a text."""
        return None if draft is None else Reading(draft, 0, self.tokenizers.source.encode(draft.read))


Step = Callable[[Draft, Reader], Draft | None]


def string_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a short string in the spelling of a sentence; None for any other text."""
    rules = reader.options.values
    if rules is None or any(value.kind in CUT_KINDS for value in draft.values):
        return None
    return short_string(draft, (rules.source, rules.target), reader.tokenizers.source)


def sentence_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a sentence in its usual spelling."""
    rules = reader.options.values
    if rules is None:
        return draft
    return respelled(draft, (rules.source, rules.target), reader.tokenizers.source) or draft


def with_names(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with its places, people and months, which are read the same whatever stands around."""
    rules, spelled = reader.options.values, draft.spelled
    if rules is None:
        return draft
    kinds = ([*find(spelled, rules.source, rules.target)] for find in (find_places, find_people, find_months))
    names: Sequence[Value] = reduce(merged, kinds)
    return replace(draft, values=merged(draft.values, draft.at_text(names))) if names else draft


def with_values_as_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with the values of its spelled text: `%D` is one in small letters only."""
    if not draft.spelling:
        return draft
    return with_names(replace(draft, values=draft.at_text(reader.values_of(draft.spelled))), reader)


def stood_in(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with stand-ins for its values; None if it has too many."""
    return with_stand_ins(draft, reader.tokenizers.target) if draft.values else draft


AS_IT_IS: tuple[Step, ...] = (with_names, stood_in)
AS_SPELLED: tuple[Step, ...] = (with_values_as_spelled, stood_in)
STEPS: tuple[Step, ...] = (with_names, sentence_spelled, *AS_SPELLED)
OF_STRINGS: tuple[Step, ...] = (with_names, string_spelled)  # and then AS_SPELLED
