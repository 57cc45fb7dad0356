"""Titles, labels and lists made of short pairs: single words with a capital, several parts between signs.

They are what cells, menus and headings consist of, and parallel text has few: a word with a capital at its beginning
or in capitals has other subwords than in small letters.
"""

import random
import re
from collections.abc import Iterator, Sequence

from training.data.cleaning import Pair, first_of_each_source
from training.data.names import person

_MOST_WORDS = 4
_SENTENCE = re.compile(r"[.!?;]")
_ARTICLES = {
    "en": re.compile(r"^(?:[Tt]he|[Aa]n?) "),
    "fr": re.compile(r"^(?:(?:[Ll][ae]|[Ll]es|[Uu]ne?) |[Ll]')(?=\w)"),
    "de": re.compile(r"^(?:(?:[Dd]er|[Dd]ie|[Dd]as) (?=[A-ZÄÖÜ][^ ]*$)|[Ee]ine? )"),
}
"""What a title leaves out. A German adjective is then right behind an indefinite article alone: not *alte Mann*."""
_ALONE = ["{}", "{}", "{}", "{}", "({})", "[{}]", '"{}"', "*{}*", "{}:", "- {}", "• {}", "# {}", "1. {}", "{}…"]
_BETWEEN = [
    *3 * [" / "], *4 * ["/"], *4 * [" | "], "|", *3 * [" - "], " – ", " · ", " > ", " » ", " → ", " & ", " + ",
    ", ", ", ", "; ", "; ", ": ",
]  # fmt: skip
_SPACED = str.maketrans({mark: f" {mark}" for mark in ":;"})
_QUOTED = {"fr": "« {} »", "de": "„{}“"}


def titles(pairs: Sequence[Pair], languages: Pair, count: int, seed: int) -> Iterator[Pair]:
    """Yield ``count`` titles, labels and lists of the short ``pairs``; the result depends only on the arguments."""
    parts = labels(pairs, languages)
    if not parts:
        return
    for at in range(count):
        draw = random.Random(f"{seed} {at}")
        made = draw.choice((_alone, _alone, _list, _bracketed, _form))
        yield made(parts, languages, draw)


def labels(pairs: Sequence[Pair], languages: Pair) -> list[Pair]:
    """Return the short pairs as labels: without articles, one translation each.

    Sentences are left out, and pairs with an article on one side alone, as it is hard to say what their label is.
    """
    labelled = (_label(pair, languages) for pair in pairs if max(len(side.split()) for side in pair) <= _MOST_WORDS)
    return list(first_of_each_source(filter(None, labelled)))


def _label(pair: Pair, languages: Pair) -> Pair | None:
    if any(_SENTENCE.search(side) for side in pair):
        return None
    ended = [side.rstrip(" ,:…").removeprefix("to ") for side in pair]
    bare = [
        _ARTICLES[code].sub("", side) if code in _ARTICLES else side
        for side, code in zip(ended, languages, strict=True)
    ]
    changed = {side != whole for side, whole in zip(bare, ended, strict=True)}
    return (bare[0], bare[1]) if len(changed) == 1 and all(bare) else None


def _alone(parts: list[Pair], languages: Pair, draw: random.Random) -> Pair:
    part = 2 * (person(draw),) if draw.random() < 0.06 else draw.choice(parts)
    part, frame = _cased(part, languages, draw), draw.choice(_ALONE)
    return in_frame(frame, part[0], languages[0]), in_frame(frame, part[1], languages[1])


def in_frame(frame: str, text: str, language: str) -> str:
    """Return a text between the signs of a frame, written as the language writes them."""
    if frame == "{}:" and language == "fr":
        frame = "{} :"
    return (_QUOTED.get(language, frame) if frame == '"{}"' else frame).format(text)


def _list(parts: list[Pair], languages: Pair, draw: random.Random) -> Pair:
    chosen = [draw.choice(parts) for _ in range(draw.choice((2, 2, 2, 3, 3, 4)))]
    between = draw.choice(_BETWEEN)
    return _joined(chosen, (between, between), languages, draw)


def _bracketed(parts: list[Pair], languages: Pair, draw: random.Random) -> Pair:
    first, second = (_cased(draw.choice(parts), languages, draw) for _ in range(2))
    frame = draw.choice(("{} ({})", "{} ({})", "{} [{}]", "({}) {}", "[{}] {}"))
    return frame.format(first[0], second[0]), frame.format(first[1], second[1])


def _form(parts: list[Pair], languages: Pair, draw: random.Random) -> Pair:
    """Return one to three labels with values, as in *Name: John; Age: 25*."""
    style = draw.random()
    rows: list[Pair] = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        label = _styled(draw.choice(parts), languages, style)
        value = draw.choice((lambda: 2 * (person(draw),), lambda: 2 * (str(draw.randrange(10 ** draw.randint(1, 4))),),
                             lambda: _styled(draw.choice(parts), languages, style)))()  # fmt: skip
        colons = [" :" if code == "fr" else ":" for code in languages]
        rows.append((f"{label[0]}{colons[0]} {value[0]}", f"{label[1]}{colons[1]} {value[1]}"))
    sign = draw.choice(("; ", "; ", ", ", " | "))
    signs = [f" {sign}" if code == "fr" and sign == "; " else sign for code in languages]
    return signs[0].join(row[0] for row in rows), signs[1].join(row[1] for row in rows)


def _joined(chosen: list[Pair], signs: Pair, languages: Pair, draw: random.Random) -> Pair:
    style = draw.random()
    sides = zip(*(_styled(part, languages, style) for part in chosen), strict=True)
    spaced = [sign.translate(_SPACED) if code == "fr" else sign for sign, code in zip(signs, languages, strict=True)]
    source, target = (sign.join(side) for sign, side in zip(spaced, sides, strict=True))
    return source, target


def _cased(part: Pair, languages: Pair, draw: random.Random) -> Pair:
    return _styled(part, languages, draw.random())


def _styled(part: Pair, languages: Pair, style: float) -> Pair:
    """Return a pair in one of four ways to write titles: as it is, with a capital, in capitals, each word with one."""
    if style < 0.25:
        return part[0], _capital(part[1]) if part[0][:1].isupper() else part[1]
    if style > 0.85:
        return part[0].upper(), part[1].upper()
    source = part[0]
    if languages[0] == "en" and style > 0.65:
        source = " ".join(map(_capital, source.split(" ")))
    return _capital(source), _capital(part[1])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
