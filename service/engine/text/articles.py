"""Articles at the beginning of a text: titles, cells and labels have none where their sources have none."""

import functools
import re

from service.languages import Language, language_of


def begins_with_article(text: str, language: str) -> bool:
    """Return whether a text begins with an article of its language."""
    return length_of_article(text, language) > 0


def length_of_article(text: str, language: str) -> int:
    """Return the characters of the article at the beginning of a text, with the blank after it; 0 without one."""
    rules = language_of(language)
    match = _pattern(rules).match(text)
    rest = "" if match is None else text[match.end() :]
    if match is None or not rest or (rules.articles.before_one_word and any(map(str.isspace, rest))):
        return 0
    return match.end()


@functools.cache
def _pattern(language: Language) -> re.Pattern[str]:
    words = language.articles.words
    forms = [re.escape(word).replace("'", "['’]") if word.endswith("'") else f"{re.escape(word)} " for word in words]
    return re.compile("|".join(forms) or "(?!)", re.IGNORECASE)
