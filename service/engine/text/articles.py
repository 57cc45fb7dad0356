"""Articles at the beginning of a text: titles, cells and labels have none where their sources have none."""

import re

from service.engine.values.locales import language_of

_ARTICLES = {
    "en": re.compile(r"(?:the|an?) ", re.IGNORECASE),
    "fr": re.compile(r"(?:l[ae]s? |les |l['’]|une? |des )", re.IGNORECASE),
    "de": re.compile(r"(?:der|die|das|eine?) (?=\S+$)", re.IGNORECASE),  # an adjective behind it would have to change
}


def begins_with_article(text: str, language: str) -> bool:
    """Return whether a text begins with an article of its language."""
    return length_of_article(text, language) > 0


def length_of_article(text: str, language: str) -> int:
    """Return the characters of the article at the beginning of a text, with the blank after it; 0 without one."""
    pattern = _ARTICLES.get(language_of(language))
    found = None if pattern is None else pattern.match(text)
    return 0 if found is None or found.end() == len(text) else found.end()
