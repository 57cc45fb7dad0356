"""Random values in template sentences, with every form in which each may arrive.

The forms are written down here by hand, apart from the service's own rules, so that the measurement can disagree with
them. No template and no value has been used to choose a rule or a constant of the search.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

TEMPLATES: dict[str, list[str]] = defaultdict(list)
for _line in Path(__file__).with_name("templates.tsv").read_text(encoding="utf-8").splitlines():
    TEMPLATES[_line.partition("\t")[0]].append(_line.partition("\t")[2])
FIXED = ("<b>", "</b>", "&amp;", '<span translate="no">', "</span>", "<dnt>", "</dnt>")  # values of the templates
SPACE = "[ \u00a0\u202f]"
GROUPS = {"en": ",", "fr": " ", "de": "."}
POINTS = {"en": ".", "fr": ",", "de": ","}
_WORDS = (
    "north", "river", "lemon", "stone", "paper", "silver", "window", "garden", "copper", "winter", "meadow", "harbor",
    "candle", "ribbon",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RandomValue:
    """A value, and the patterns of the forms in which it may arrive."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A sentence with its values."""

    text: str
    values: tuple[RandomValue, ...]


def samples(source: str, target: str, count: int, seed: int) -> list[Sample]:
    """Return random sentences, template after template."""
    rng = random.Random(f"{source} {target} {seed}")
    templates = TEMPLATES[source]
    return [_fill(templates[number % len(templates)], source, target, rng) for number in range(count)]


def survivors(sample: Sample, translation: str) -> list[bool]:
    """Return for each value whether the translation holds it exactly once; the longest are sought first."""
    left = translation
    counts: dict[int, int] = {}
    order = sorted(range(len(sample.values)), key=lambda at: -len(sample.values[at].text))
    for at in order:
        patterns = sorted(sample.values[at].forms, key=len, reverse=True)
        pattern = re.compile("|".join(f"(?:{form})" for form in patterns))
        same = sum(value.text == sample.values[at].text for value in sample.values)
        found = pattern.findall(left)
        counts[at] = len(found)
        if same == 1:
            left = pattern.sub("\x00", left)
        else:
            counts[at] = len(found) - same + 1
    return [counts[at] == 1 for at in range(len(sample.values))]


def _fill(template: str, source: str, target: str, rng: random.Random) -> Sample:
    values: list[RandomValue] = []
    taken: set[str] = set()

    def value(match: re.Match[str]) -> str:
        made = _MAKERS[match[1].rstrip("2b") if match[1] not in _MAKERS else match[1]]
        while True:
            new = made(rng, source, target)
            if new.text not in taken:
                break
        taken.add(new.text)
        values.append(new)
        return new.text

    text = re.sub(r"\{(\w+)\}", value, template)
    fixed = [RandomValue(part, (re.escape(part),)) for part in FIXED if part in template]
    return Sample(text, (*values, *fixed))


def _bounded(form: str) -> str:
    return rf"(?<![\d])(?<!\d[.,:/-]){form}(?!\d|[.,:/]\d)"


def _numeral(digits: str) -> RandomValue:
    return RandomValue(digits, (_bounded(digits),))


def _whole(low: int, high: int) -> Callable[[random.Random, str, str], RandomValue]:
    return lambda rng, _source, _target: _numeral(str(rng.randint(low, high)))


def _written(whole: int, fraction: str, language: str) -> str:
    grouped = f"{whole:,}".replace(",", GROUPS[language])
    return grouped + (POINTS[language] + fraction if fraction else "")


def _forms_of(whole: int, fraction: str, languages: Sequence[str]) -> list[str]:
    return [re.escape(_written(whole, fraction, language)).replace("\\ ", SPACE) for language in languages]


def _big(rng: random.Random, source: str, target: str) -> RandomValue:
    whole = rng.randint(1_000, 9_999_999)
    return RandomValue(_written(whole, "", source), tuple(map(_bounded, _forms_of(whole, "", (source, target)))))


def _decimal(rng: random.Random, source: str, target: str) -> RandomValue:
    whole, fraction = rng.randint(0, 99), str(rng.randint(1, 9))
    return RandomValue(
        _written(whole, fraction, source), tuple(map(_bounded, _forms_of(whole, fraction, (source, target))))
    )


def _percent(rng: random.Random, source: str, target: str) -> RandomValue:
    whole, fraction = rng.randint(1, 99), rng.choice(["", str(rng.randint(1, 9))])
    text = _written(whole, fraction, source) + (" %" if source in ("fr", "de") else "%")
    forms = [_bounded(form) + f"{SPACE}?%" for form in _forms_of(whole, fraction, (source, target))]
    return RandomValue(text, tuple(form.replace(r"(?!\d|[.,:/]\d)", "") for form in forms))


def _amount(rng: random.Random, source: str, target: str) -> RandomValue:
    whole, fraction = (
        rng.choice([rng.randint(1, 99), rng.randint(100, 99_999)]),
        rng.choice(["", f"{rng.randint(0, 99):02}"]),
    )
    symbol = rng.choice("$€£")
    number = _written(whole, fraction, source)
    text = f"{symbol}{number}" if source == "en" else f"{number} {symbol}"
    sums = _forms_of(whole, fraction, (source, target))
    sign = re.escape(symbol)
    forms = [f"{sign}{SPACE}?{each}(?!\\d|[.,]\\d)" for each in sums] + [
        f"(?<!\\d){each}{SPACE}?{sign}" for each in sums
    ]
    return RandomValue(text, tuple(forms))


def _clock(hour: int, minute: int) -> list[str]:
    half = hour % 12 or 12
    noon = "p" if hour >= 12 else "a"
    return [
        rf"(?<!\d){hour}:{minute:02}(?!\d)",
        rf"(?<!\d){hour}{SPACE}?h{SPACE}?{minute:02}(?!\d)",
        rf"(?<!\d){half}:{minute:02}{SPACE}?{noon}\.?{SPACE}?m\.?",
    ]


def _time(rng: random.Random, source: str, _target: str) -> RandomValue:
    hour, minute = rng.randint(1, 23), rng.randint(1, 59)
    texts = {
        "en": f"{hour % 12 or 12}:{minute:02} {'pm' if hour >= 12 else 'am'}",
        "fr": f"{hour} h {minute:02}",
        "de": f"{hour}:{minute:02} Uhr",
    }
    return RandomValue(texts[source], tuple(_clock(hour, minute)))


def _time24(rng: random.Random, _source: str, _target: str) -> RandomValue:
    hour, minute = rng.randint(13, 23), rng.randint(1, 59)
    return RandomValue(f"{hour}:{minute:02}", tuple(_clock(hour, minute)))


def _exact(make: Callable[[random.Random], str]) -> Callable[[random.Random, str, str], RandomValue]:
    def value(rng: random.Random, _source: str, _target: str) -> RandomValue:
        text = make(rng)
        return RandomValue(text, (rf"(?<![\w]){re.escape(text)}(?!\w)" if text[0].isalnum() else re.escape(text),))

    return value


def _letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=count))


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("0123456789", k=count))


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS)


def _phone(rng: random.Random) -> str:
    return rng.choice(
        [
            f"+33 {rng.randint(1, 9)} " + " ".join(_digits(rng, 2) for _ in range(4)),
            f"+49 30 {rng.randint(100000, 9999999)}",
            f"0{rng.randint(1, 9)} " + " ".join(_digits(rng, 2) for _ in range(4)),
            f"{rng.randint(200, 999)}-{rng.randint(200, 999)}-{_digits(rng, 4)}",
            f"+1 {rng.randint(200, 999)} {rng.randint(200, 999)} {_digits(rng, 4)}",
        ]
    )


def _url(rng: random.Random) -> str:
    path = rng.choice(
        [
            "",
            f"/{_word(rng)}",
            f"/{_word(rng)}/{rng.randint(1, 999)}",
            f"/{_word(rng)}?id={rng.randint(1, 99)}&x={_word(rng)}",
        ]
    )
    return (
        rng.choice(["https://", "http://www.", "www."])
        + f"{_word(rng)}-{_word(rng)}.{rng.choice(['com', 'org', 'net', 'fr'])}{path}"
    )


_MAKERS: dict[str, Callable[[random.Random, str, str], RandomValue]] = {
    "count": _whole(2, 999),
    "year": _whole(1500, 2040),
    "small": _whole(2, 9),
    "grams": _whole(10, 900),
    "age": _whole(12, 99),
    "house": _whole(1, 250),
    "big": _big,
    "decimal": _decimal,
    "percent": _percent,
    "amount": _amount,
    "time": _time,
    "time24": _time24,
    "time24b": _time24,
    "negative": _exact(lambda rng: f"-{rng.randint(2, 40)}"),
    "phone": _exact(_phone),
    "url": _exact(_url),
    "email": _exact(
        lambda rng: f"{_word(rng)}.{_word(rng)}{rng.randint(1, 99)}@{_word(rng)}.{rng.choice(['com', 'org', 'de'])}"
    ),
    "file": _exact(
        lambda rng: f"{_word(rng)}_{rng.randint(1, 99)}.{rng.choice(['pdf', 'txt', 'csv', 'docx', 'png', 'py'])}"
    ),
    "path": _exact(
        lambda rng: rng.choice(
            [f"/{_word(rng)}/{_word(rng)}", f"C:\\{_word(rng)}\\{_word(rng)}", f"~/{_word(rng)}/{_word(rng)}"]
        )
    ),
    "placeholder": _exact(
        lambda rng: rng.choice(
            [f"{{{_word(rng)}}}", f"%({_word(rng)})s", f"{{{{{_word(rng)}}}}}", f"${{{_word(rng)}}}", "%s", "{0}"]
        )
    ),
    "printf": _exact(lambda rng: rng.choice(["%d", f"{{{_word(rng)}_count}}", "%i", "{1}", f"%({_word(rng)})d"])),
    "mention": _exact(lambda rng: f"@{_word(rng)}{rng.choice(['', '_'])}{_word(rng)}"),
    "hashtag": _exact(lambda rng: f"#{_word(rng)}{rng.choice(['', str(rng.randint(1, 99))])}"),
    "code": _exact(
        lambda rng: rng.choice(
            [
                f"{_letters(rng, 2)}-{_digits(rng, 4)}",
                f"{_letters(rng, 1)}{rng.randint(1, 999)}",
                f"{_letters(rng, 3)}{_digits(rng, 3)}{_letters(rng, 1)}",
                f"{_digits(rng, 3)}-{_letters(rng, 2)}",
            ]
        )
    ),
    "date": _exact(
        lambda rng: rng.choice(
            [
                f"{rng.randint(1, 28):02}/{rng.randint(1, 12):02}/{rng.randint(1990, 2040)}",
                f"{rng.randint(1990, 2040)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
                f"{rng.randint(1, 28):02}.{rng.randint(1, 12):02}.{rng.randint(1990, 2040)}",
            ]
        )
    ),
    "ip": _exact(lambda rng: ".".join(str(rng.randint(1, 254)) for _ in range(4))),
    "version": _exact(
        lambda rng: f"{rng.randint(1, 20)}.{rng.randint(0, 30)}" + rng.choice(["", f".{rng.randint(0, 30)}"])
    ),
    "command": _exact(
        lambda rng: rng.choice([f"{_word(rng)}_{_word(rng)}()", f"--{_word(rng)}", f"{_word(rng)}_{_word(rng)}"])
    ),
    "emoji": _exact(lambda rng: rng.choice("😀🍕🚀👍🎉🐶❤🌍")),
    "name": _exact(lambda rng: f"{_word(rng).title()} {_word(rng).title()}"),
    "iban": _exact(
        lambda rng: f"FR{_digits(rng, 2)} " + " ".join(_digits(rng, 4) for _ in range(5)) + f" {_digits(rng, 3)}"
    ),
}
