"""Articles at the beginning of a text: titles, cells and labels have none where their sources have none."""

import functools
import re

from service.languages import Language, language_of


def begins_with_article(text: str, language: str) -> bool:
    """Return whether a text begins with an article of its language."""
    return length_of_article(text, language) > 0


def length_of_article(text: str, language: str) -> int:
    """Return the characters of the article at the beginning of a text, with the blank after it; 0 without one."""
    found = _pattern(language_of(language)).match(text)
    return 0 if found is None or found.end() == len(text) else found.end()


@functools.cache
def _pattern(language: Language) -> re.Pattern[str]:
    articles = language.articles
    forms = [
        re.escape(word).replace("'", "['’]") if word.endswith("'") else f"{re.escape(word)} " for word in articles.words
    ]
    behind = r"(?=\S+$)" if articles.before_one_word else ""
    return re.compile(rf"(?:{'|'.join(forms) or '(?!)'}){behind}", re.IGNORECASE)
