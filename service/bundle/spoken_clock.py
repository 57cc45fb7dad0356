"""Times of day in words, as each language says them: half past eight, huit heures et demie, halb neun.

Training makes text of these, and the engine translates them by rule until every model has been trained on that text.
"""

from service.languages import Language, known_languages


def said_in(language: Language, hour: int, minute: int, article: bool = True) -> str:
    """Return a time, 1 to 12 and a multiple of five minutes, in a language that has phrases for it.

    ``article``: *a quarter past* instead of *quarter past*.
    """
    clock = language.spoken_clock
    phrase = clock.phrases[minute // 5].removeprefix("" if article else clock.optional)
    said = phrase.replace("@", clock.hours[hour - 1]).replace("+", clock.hours[hour % 12])
    for usual, written in clock.written.items():
        said = said.replace(usual, written)
    return said


def spoken(hour: int, minute: int, article: bool = True) -> dict[str, str]:
    """Return a time in each language that has phrases for it."""
    return {
        language.tag: said_in(language, hour, minute, article)
        for language in known_languages()
        if language.spoken_clock.phrases
    }
