"""Joins a sentence that refers to the one before it with that one, so that the model reads both together.

*The lamp is new. It is bright.* needs the gender of *lamp* in the second sentence (ADR 34).
"""

from collections.abc import Callable, Sequence

from service.bundle.wrapping import Span
from service.engine.cancellation import while_wanted
from service.languages import language_of


def in_context(text: str, sentences: Sequence[Span], language: str, fits: Callable[[str], bool]) -> list[Span]:
    """Return the sentences of a part of a text, some of them joined; `fits` says whether a model reads a text whole."""
    words = language_of(language).context
    joined: list[Span] = []
    for start, end in while_wanted(sentences):
        if joined and words.pronouns.search(text, start, end):
            begin, before = joined[-1]
            follows = not text[before:start].strip(" ") and words.determiners.search(text, begin, before)
            if follows and fits(text[begin:end]):
                joined[-1] = begin, end
                continue
        joined.append((start, end))
    return joined
