"""The ends of a translation, which are as those of its sentence: "Open the door." is no exclamation."""

import re

from service.languages import language_of

MARKS = ".!?…"
_BLANK = "[ \u00a0\u202f]?"
_RUN = rf"(?:[!?…]|\.{{2,3}}(?={_BLANK}[!?…]))(?:{_BLANK}[.!?…]){{1,8}}"
_END = re.compile(rf"(?<![.!?…\s]){_BLANK}({_RUN}|[.!?…])$")
_BLANKS = re.compile(r"\s+")
_OPENING = "¡¿"  # what they open would have to change with the end


def with_end_mark(translation: str, source: str, language: str) -> str:
    """Return a translation with the end marks of its source if both have some and they differ.

    Where the source ends in a word, an exclamation mark is left out. Texts that end in a quotation or in brackets stay
    as they are.
    """
    source_end, target_end = _END.search(source), _END.search(translation)
    if target_end is None or any(mark in translation for mark in _OPENING):
        return translation
    if source_end is not None:
        ending = _BLANKS.sub("", source_end[1])
    elif target_end[1] == "!" and source[-1:].isalnum() and "!" not in source:
        ending = ""
    else:
        return translation
    written = _BLANKS.sub("", target_end[1])
    if ending == written == target_end[1]:
        return translation
    space = " " if ending[:1] in tuple(language_of(language).blank_before) else ""
    return translation[: target_end.start()] + space + ending


def with_capital(translation: str, source: str) -> str:
    """Return a translation with a capital at its start if its source has one and ends in a mark, as sentences do."""
    is_small = translation.partition(" ")[0].islower()  # "iPhone" is not
    capital = is_small and source[:1].isupper() and source[-1:] in MARKS
    return translation[:1].upper() + translation[1:] if capital else translation
