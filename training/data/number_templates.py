"""Sentences with fresh random values: numbers, amounts, times, dates, telephone numbers, codes.

Parallel text repeats few numbers, so a model memorises them instead of learning to copy digits. The templates
(``number_templates.tsv``) are our own sentences in English, French and German; each slot is filled with a random value,
written as each language writes it.
"""

import csv
import random
import re
import string
from collections.abc import Callable, Iterator
from importlib.resources import files

from service.bundle.spoken_clock import spoken
from training.data.cleaning import Pair

Value = dict[str, str]
"""One value, as each language writes it."""

LANGUAGES = ("en", "fr", "de")
TRAINING = "number_templates.tsv"
TESTING = "number_tests.tsv"
"""Sentences that no model is trained on."""
REPEATED = 0.4
"""Share of the training values whose digits repeat (1,100.55): a Transformer loses count there first."""
_SLOT = re.compile(r"\{([a-z]+)(\d*)\}")
_CURRENCIES = ("$", "€", "£")


def _translated(lines: str) -> tuple[Value, ...]:
    """Return the values between commas, whose words are in the order of ``LANGUAGES``."""
    return tuple(dict(zip(LANGUAGES, value.split(), strict=True)) for value in lines.split(","))


_MONTHS = _translated(
    "January janvier Januar, February février Februar, March mars März, April avril April, May mai Mai, "
    "June juin Juni, July juillet Juli, August août August, September septembre September, "
    "October octobre Oktober, November novembre November, December décembre Dezember"
)
_CURRENCY_NAMES = _translated("euros euros Euro, dollars dollars Dollar, pounds livres Pfund, francs francs Franken")
_DAYS = _translated(
    "Monday lundi Montag, Tuesday mardi Dienstag, Wednesday mercredi Mittwoch, Thursday jeudi Donnerstag, "
    "Friday vendredi Freitag, Saturday samedi Samstag, Sunday dimanche Sonntag"
)


def number_pairs(
    source_language: str, target_language: str, count: int, seed: int, sentences: str = TRAINING
) -> Iterator[Pair]:
    """Yield ``count`` pairs, of each template equally many; the same arguments give the same pairs.

    Raises ValueError for a language without templates.
    """
    listed, repeated = (
        templates(sentences, source_language, target_language),
        REPEATED if sentences == TRAINING else 0.0,
    )
    for at in range(count):
        template = listed[at % len(listed)]
        yield filled(template, source_language, target_language, random.Random(f"{seed} {at}"), repeated)


def filled(
    template: Value, source_language: str, target_language: str, draw: random.Random, repeated: float = 0.0
) -> Pair:
    """Return a template in two languages with the same random values, a share of them with ``repeated`` digits.

    The n-th slot of a kind holds the n-th value of that kind; ``{few2}`` is the second one, for
    languages with another word order.
    """
    values: dict[tuple[str, int], Value] = {}

    def side(language: str) -> str:
        seen: dict[str, int] = {}

        def value(slot: re.Match[str]) -> str:
            kind = slot[1]
            seen[kind] = seen.get(kind, 0) + 1
            key = (kind, int(slot[2] or seen[kind]))
            if key not in values:
                values[key] = _value(kind, draw, repeated)
            return values[key][language]

        return _SLOT.sub(value, template[language])

    return side(source_language), side(target_language)


def _value(kind: str, draw: random.Random, repeated: float) -> Value:
    value = _KINDS[kind](draw)
    if kind in _FREE and repeated and draw.random() < repeated:
        return _with_two_digits(value, draw)
    return value


def _with_two_digits(value: Value, draw: random.Random) -> Value:
    """Return a value whose digits are only two (and zero, so that rounded numbers stay rounded)."""
    two = draw.sample("123456789", 2)
    digits = str.maketrans({digit: draw.choice(two) for digit in "123456789"})
    return {language: text.translate(digits) for language, text in value.items()}


def templates(sentences: str, *languages: str) -> list[Value]:
    """Return the rows of a file of templates; raise ValueError for a language in which none are written."""
    for language in languages:
        if language not in LANGUAGES:
            raise ValueError(f"our templates are written in {', '.join(LANGUAGES)}, not in {language}")
    text = files(__package__).joinpath(sentences).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def _same(text: str) -> Value:
    return dict.fromkeys(LANGUAGES, text)


def _whole(number: int, grouped: bool) -> Value:
    """Return a whole number, with each language's separator between groups of three digits if ``grouped``."""
    if not grouped:
        return _same(str(number))
    english = f"{number:,}"
    return {"en": english, "fr": english.replace(",", " "), "de": english.replace(",", ".")}


def _fraction(number: int, digits: str, grouped: bool) -> Value:
    whole = _whole(number, grouped)
    return {language: f"{whole[language]}{'.' if language == 'en' else ','}{digits}" for language in LANGUAGES}


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choice(string.digits) for _ in range(count))


def _few(draw: random.Random) -> Value:
    return _same(str(draw.randint(2, 12) if draw.random() < 0.7 else draw.randint(2, 60)))


def _many(draw: random.Random) -> Value:
    return _same(str(draw.randint(2, 10 ** draw.choice((2, 2, 3, 3, 4)))))


def _big(draw: random.Random) -> Value:
    number = draw.randint(1000, 10 ** draw.choice((4, 5, 6, 7)))
    if draw.random() < 0.5:
        number = max(1000, round(number, -draw.choice((2, 3))))
    return _whole(number, draw.random() < 0.75)


def _decimal(draw: random.Random) -> Value:
    return _fraction(draw.randint(0, 10 ** draw.choice((1, 1, 2, 3))), _digits(draw, draw.choice((1, 1, 2, 3))), False)


def _percent(draw: random.Random) -> Value:
    number = _decimal(draw) if draw.random() < 0.4 else _same(str(draw.randint(1, 100)))
    if draw.random() < 0.15:
        words = {"en": "percent", "fr": "pour cent", "de": "Prozent"}
        return {language: f"{number[language]} {words[language]}" for language in LANGUAGES}
    return {"en": f"{number['en']}%", "fr": f"{number['fr']} %", "de": f"{number['de']} %"}


def _money(draw: random.Random) -> Value:
    number = draw.randint(1, 10 ** draw.choice((1, 2, 3, 4, 5)))
    grouped = draw.random() < 0.8
    amount = _fraction(number, _digits(draw, 2), grouped) if draw.random() < 0.5 else _whole(number, grouped)
    if draw.random() < 0.3:
        name = draw.choice(_CURRENCY_NAMES)
        return {language: f"{amount[language]} {name[language]}" for language in LANGUAGES}
    sign = draw.choice(_CURRENCIES)
    return {"en": f"{sign}{amount['en']}", "fr": f"{amount['fr']} {sign}", "de": f"{amount['de']} {sign}"}


def _time(draw: random.Random) -> Value:
    hour, minute = draw.randrange(24), draw.randrange(60) if draw.random() < 0.5 else draw.choice((0, 15, 30, 45))
    english = f"{hour}:{minute:02}"
    if draw.random() < 0.3:
        half = draw.choice(("am", "am", "AM") if hour < 12 else ("pm", "pm", "PM"))
        english = f"{(hour - 1) % 12 + 1}:{minute:02} {half}"
    return {"en": english, "fr": f"{hour} h {minute:02}", "de": f"{hour}:{minute:02} Uhr"}


def _clock(draw: random.Random) -> Value:
    minute = draw.choice((0, 15, 30, 45)) if draw.random() < 0.7 else 5 * draw.randrange(12)
    return spoken(draw.randint(1, 12), minute, article=draw.random() < 0.5)


def _year(draw: random.Random) -> Value:
    return _same(str(draw.randint(1000, 2099) if draw.random() < 0.3 else draw.randint(1850, 2030)))


def _date(draw: random.Random) -> Value:
    day, month, year = draw.randint(1, 28), draw.randrange(12), draw.randint(1800, 2035)
    if draw.random() < 0.3:
        return _same(draw.choice((f"{day:02}/{month + 1:02}/{year}", f"{year}-{month + 1:02}-{day:02}")))
    name = _MONTHS[month]
    english = f"{day} {name['en']}" if draw.random() < 0.6 else f"{name['en']} {day}"
    first = "1er" if day == 1 else str(day)
    if draw.random() < 0.3:
        return {"en": english, "fr": f"{first} {name['fr']}", "de": f"{day}. {name['de']}"}
    mark = "," if english.endswith(str(day)) else ""
    french, german = f"{first} {name['fr']} {year}", f"{day}. {name['de']} {year}"
    return {"en": f"{english}{mark} {year}", "fr": french, "de": german}


def _day(draw: random.Random) -> Value:
    return draw.choice(_DAYS)


def _phone(draw: random.Random) -> Value:
    shapes = (
        "+dd d dd dd dd dd",
        "dd dd dd dd dd",
        "ddd-ddd-dddd",
        "(ddd) ddd-dddd",
        "+dd dd ddd dd dd",
        "dddd dddddd",
        "+ddddddddddd",
        "dddddddddd",
        "ddd ddd ddd",
    )
    return _same(re.sub("d", lambda _: draw.choice(string.digits), draw.choice(shapes)))


def _code(draw: random.Random) -> Value:
    shapes = ("AA-dddd", "AAdddd", "#ddddd", "Addd", "ddddd", "AA ddd", "dddd-AA", "AAA-ddd-dd", "dd-dddd", "AdAdAd")
    shape = draw.choice(shapes)
    return _same(re.sub("[Ad]", lambda m: draw.choice(string.ascii_uppercase if m[0] == "A" else string.digits), shape))


def _version(draw: random.Random) -> Value:
    return _same(".".join(str(draw.randint(0, draw.choice((9, 30)))) for _ in range(draw.choice((2, 2, 3)))))


_KINDS: dict[str, Callable[[random.Random], Value]] = {
    "few": _few,
    "many": _many,
    "big": _big,
    "dec": _decimal,
    "percent": _percent,
    "money": _money,
    "time": _time,
    "clock": _clock,
    "year": _year,
    "date": _date,
    "day": _day,
    "phone": _phone,
    "code": _code,
    "version": _version,
}
_FREE = frozenset({"many", "big", "dec", "money", "year", "phone", "code"})
"""Kinds whose digits can be any; those of a date or time cannot."""
