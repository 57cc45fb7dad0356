"""Sentences with values: from test sets, from training text with rare kinds of values, and from templates."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpora import TEST_SETS, load_corpus

EVERY = 100_000
TEST_NAMES = ("newstest2014", "flores101", "tatoeba")
TRAINING_NAMES = ("android_apps", "home_assistant", "firefox", "mozilla_www", "php_docs", "tldr", "gov_apps", "games")
TEMPLATES = Path(__file__).with_name("data") / "values.tsv"
_WORDS = ("north", "river", "lemon", "stone", "paper", "silver", "window", "garden", "copper", "winter", "meadow")
_NAMES = ("Český", "Łukasz", "Ngũgĩ", "Žižek", "Đorđe", "Þóra", "Ionuț", "Ağaoğlu")
_GROUPS = {"en": ",", "fr": " ", "de": "."}
_POINTS = {"en": ".", "fr": ",", "de": ","}


class ValueSentence(NamedTuple):
    """A sentence, and its translation by people if there is one."""

    source: str
    reference: str | None


def real_samples(names: Sequence[str], source: str, target: str) -> list[ValueSentence]:
    """Return the sentences of test sets or training text in one direction, each once; none if the text is missing."""
    pair = f"en-{target if source == 'en' else source}"
    found: dict[str, str] = {}
    for name in names:
        folder = TEST_SETS if name in TEST_NAMES else TEST_SETS.parent / pair
        path = folder / (f"{name}.{pair}.tsv.gz" if folder is TEST_SETS else f"{name}.tsv.gz")
        if not path.is_file() or "en" not in (source, target):
            continue
        corpus = load_corpus(name, pair, EVERY, folder)
        sides = corpus.sources, corpus.references
        for text, reference in zip(*(sides if source == "en" else sides[::-1]), strict=True):
            found.setdefault(text, reference)
    return [ValueSentence(*each) for each in found.items()]


def template_samples(language: str, count: int) -> list[ValueSentence]:
    """Return sentences of templates with random values."""
    chance = random.Random(f"values {language}")
    rows = [line.split("\t") for line in TEMPLATES.read_text(encoding="utf-8").splitlines()]
    templates = [template for own, template in rows if own == language]
    return [ValueSentence(_filled(templates[at % len(templates)], language, chance), None) for at in range(count)]


def _filled(template: str, language: str, chance: random.Random) -> str:
    taken: set[str] = set()

    def value(match: re.Match[str]) -> str:
        while (made := random_value(match[1].rstrip("2b"), language, chance)) in taken:
            pass
        taken.add(made)
        return made

    return re.sub(r"\{(\w+)\}", value, template)


def random_value(kind: str, language: str, chance: random.Random) -> str:
    """Return a random value of a kind that the templates name, as a language writes it."""
    number = chance.randint
    word, other = chance.sample(_WORDS, 2)
    big = f"{number(1_000, 9_999_999):,}".replace(",", _GROUPS[language])
    decimal = f"{number(0, 99)}{_POINTS[language]}{number(1, 9)}"
    hour, minute = number(1, 23), number(1, 59)
    sign = chance.choice("$€£")
    letters = "".join(chance.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=3))
    money = chance.choice([str(number(2, 999)), big, f"{number(1, 999)}{_POINTS[language]}{number(10, 99)}"])
    choices: dict[str, Sequence[str]] = {
        "small": [str(number(2, 9))],
        "year": [str(number(1500, 2040))],
        "big": [big],
        "decimal": [decimal],
        "percent": [f"{decimal}%" if language == "en" else f"{decimal} %"],
        "amount": [f"{sign}{money}" if language == "en" else f"{money} {sign}"],
        "time": [
            {
                "en": f"{hour % 12 or 12}:{minute:02} {'pm' if hour >= 12 else 'am'}",
                "fr": f"{hour} h {minute:02}",
                "de": f"{hour}:{minute:02} Uhr",
            }[language]
        ],
        "time24": [f"{number(13, 23)}:{minute:02}"],
        "negative": [f"-{number(2, 40)}"],
        "phone": [
            f"+49 30 {number(100_000, 9_999_999)}",
            f"{number(200, 999)}-{number(200, 999)}-{number(1000, 9999)}",
        ],
        "url": [f"https://{word}-{other}.org/{word}/{number(1, 999)}", f"www.{word}-{other}.com"],
        "email": [f"{word}.{other}{number(1, 99)}@{other}.org"],
        "file": [f"{word}_{number(1, 99)}.{kind}" for kind in ("pdf", "csv", "docx", "py")],
        "path": [f"/{word}/{other}", f"C:\\{word}\\{other}", f"~/{word}/{other}"],
        "placeholder": [f"{{{word}}}", f"%({word})s", f"{{{{{word}}}}}", f"${{{word}}}", "%s", "{0}"],
        "printf": ["%d", f"{{{word}_count}}", "%i", "{1}", f"%({word})d"],
        "mention": [f"@{word}_{other}"],
        "hashtag": [f"#{word}{number(1, 99)}", f"#{word}"],
        "code": [
            f"{letters[:2]}-{number(1000, 9999)}",
            f"{letters[0]}{number(1, 999)}",
            f"{letters}{number(100, 999)}",
        ],
        "date": [
            f"{number(10, 28)}/{number(10, 12)}/{number(1990, 2040)}",
            f"{number(1990, 2040)}-11-{number(10, 28)}",
        ],
        "ip": [f"{number(1, 254)}.{number(1, 254)}.{number(1, 254)}.{number(1, 254)}"],
        "version": [f"{number(1, 20)}.{number(0, 30)}", f"{number(1, 20)}.{number(0, 30)}.{number(0, 30)}"],
        "command": [f"{word}_{other}()", f"--{word}", f"{word}_{other}"],
        "emoji": [*"😀🍕🚀👍🎉🐶❤🌍"],
        "name": _NAMES,
        "iban": [
            f"FR{number(10, 99)} {number(1000, 9999)} {number(1000, 9999)} {number(1000, 9999)} {number(100, 999)}"
        ],
    }
    return chance.choice(choices.get(kind, [str(number(12, 250))]))
