"""Times of day in words, as each language says them: half past eight, huit heures et demie, halb neun.

Training makes text of these, and the engine translates them by rule until every model has been trained on that text.
"""

HOURS = {
    "en": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
    "fr": ["une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"],
    "de": ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
}
PHRASES = {
    "en": """
@ o'clock, five past @, ten past @, a quarter past @, twenty past @, twenty-five past @, half past @,
twenty-five to +, twenty to +, a quarter to +, ten to +, five to +""",
    "fr": """
@ heures, @ heures cinq, @ heures dix, @ heures et quart, @ heures vingt, @ heures vingt-cinq, @ heures et demie,
+ heures moins vingt-cinq, + heures moins vingt, + heures moins le quart, + heures moins dix, + heures moins cinq""",
    "de": """
@ Uhr, fünf nach @, zehn nach @, Viertel nach @, zwanzig nach @, fünf vor halb +, halb +,
fünf nach halb +, zwanzig vor +, Viertel vor +, zehn vor +, fünf vor +""",
}
"""A phrase for every five minutes; @ is the hour and + the hour that follows."""


def phrases(language: str) -> list[str]:
    """Return the phrases of a language; none if it has no rules."""
    return [phrase.strip() for phrase in PHRASES[language].split(",")] if language in PHRASES else []


def spoken(hour: int, minute: int, article: bool = True) -> dict[str, str]:
    """Return a time, 1 to 12 and a multiple of five minutes, in English, French and German.

    ``article``: *a quarter past* instead of *quarter past*.
    """
    said = {}
    for language, words in HOURS.items():
        said[language] = phrases(language)[minute // 5].replace("@", words[hour - 1]).replace("+", words[hour % 12])
    said["en"] = said["en"] if article else said["en"].removeprefix("a ")
    said["fr"] = said["fr"].replace("une heures", "une heure")
    said["de"] = said["de"].replace("eins Uhr", "ein Uhr")
    return said
