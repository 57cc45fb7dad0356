"""Times of day in words, as each language says them: half past eight, huit heures et demie, halb neun."""

from __future__ import annotations

_NUMBERS = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "fr": "une deux trois quatre cinq six sept huit neuf dix onze douze",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
}
_MINUTES = {
    "en": {5: "five", 10: "ten", 20: "twenty", 25: "twenty-five"},
    "fr": {5: "cinq", 10: "dix", 20: "vingt", 25: "vingt-cinq"},
    "de": {5: "fünf", 10: "zehn", 20: "zwanzig"},
}


def spoken(hour: int, minute: int, article: bool = True) -> dict[str, str]:
    """Return a time, 1 to 12 and a multiple of five minutes, in English, French and German.

    ``article``: *a quarter past* instead of *quarter past*. German counts the half hour to the hour that follows.
    """
    following = hour % 12 + 1
    return {
        "en": _english(hour, following, minute, article),
        "fr": _french(hour, following, minute),
        "de": _german(hour, following, minute),
    }


def _word(language: str, hour: int) -> str:
    return _NUMBERS[language].split()[hour - 1]


def _english(hour: int, following: int, minute: int, article: bool) -> str:
    if minute == 0:
        return f"{_word('en', hour)} o'clock"
    if minute == 30:
        return f"half past {_word('en', hour)}"
    side, near, count = ("past", hour, minute) if minute < 30 else ("to", following, 60 - minute)
    quarter = "a quarter" if article else "quarter"
    return f"{quarter if count == 15 else _MINUTES['en'][count]} {side} {_word('en', near)}"


def _french(hour: int, following: int, minute: int) -> str:
    def hours(number: int) -> str:
        return f"{_word('fr', number)} heure{'' if number == 1 else 's'}"

    if minute == 0:
        return hours(hour)
    if minute in (15, 30):
        return f"{hours(hour)} et {'quart' if minute == 15 else 'demie'}"
    if minute < 30:
        return f"{hours(hour)} {_MINUTES['fr'][minute]}"
    return f"{hours(following)} moins {'le quart' if minute == 45 else _MINUTES['fr'][60 - minute]}"


def _german(hour: int, following: int, minute: int) -> str:
    if minute == 0:
        return f"{'ein' if hour == 1 else _word('de', hour)} Uhr"
    if minute == 30:
        return f"halb {_word('de', following)}"
    if minute in (25, 35):
        return f"fünf {'vor' if minute == 25 else 'nach'} halb {_word('de', following)}"
    side, near, count = ("nach", hour, minute) if minute < 30 else ("vor", following, 60 - minute)
    return f"{'Viertel' if count == 15 else _MINUTES['de'][count]} {side} {_word('de', near)}"
