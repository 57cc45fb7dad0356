"""Makes pairs as users type them from clean ones: other case, no full stop, typos, several sentences, text to copy.

Parallel text is tidy and has few addresses, codes or rare names. A model trained on it alone learns neither to read
carelessly typed text nor to copy, and short sentences do not teach it to translate longer texts. The translation of a
variant follows from the original pair.
"""

import itertools
import random
import re
import string
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from training.data.cleaning import Pair
from training.data.names import made_up_name, renamed

_TRIES = 20
"""Pairs that are tried for a kind of variant before the next kind."""
Way = Callable[[Pair, random.Random], Pair | None]
"""Makes a variant of a pair, or None if the pair does not suit."""

_NUMBER = re.compile(r"(?<![\w.,:-])\d+(?![\w.,:-]*\w)")
_MARK = re.compile(r"(?<=\w)([.,!?;:])(?=\s|$)")
_FINAL = re.compile(r"\s?([.!?])$")
_WORDS = [
    "index", "about", "news", "user", "file", "search", "main", "list", "page", "help", "data", "item", "test",
    "docs", "login", "blog", "shop", "video", "team",
]  # fmt: skip
_ENDINGS = ["com", "org", "net", "io", "fr", "de", "co.uk", "eu", "info", "dev"]
_SUFFIXES = ["txt", "py", "pdf", "jpg", "html", "json", "csv", "conf", "sh", "log"]
_EMOJI = ["😀", "😂", "👍", "❤️", "🎉", "🙏", "🔥", "😢", "🚀", "☕", "✅", "🐶", "🌍", "📦", "🤔"]
_FRAMES = ("{text} {thing}", "{thing} {text}", "{thing}: {text}", "{text} ({thing})", "({thing}) {text}", "{thing}")


def variants(pairs: Sequence[Pair], count: int, seed: int) -> Iterator[Pair]:
    """Yield `count` variants of `pairs`, of each kind equally many.

    A kind that suits none of some drawn pairs (which have no number to change, for example) gives way to the next one.
    The result depends only on the arguments.
    """
    every: tuple[Way, ...] = (*_WAYS, partial(joined, pairs))
    ways = itertools.cycle(every)
    for at in range(count):
        draw = random.Random(f"{seed} {at}")
        tried = ((way, pairs[draw.randrange(len(pairs))]) for way in ways for _ in range(_TRIES))
        yield next(
            variant for variant in (way(pair, draw) for way, pair in tried) if variant is not None and all(variant)
        )


def joins(pairs: Sequence[Pair], most: int, max_words: int, seed: int) -> Iterator[Pair]:
    """Yield all pairs in their order, 1 to ``most`` of them joined to one that has at most ``max_words`` words.

    The numbers are drawn evenly, except where ``max_words`` ends a pair earlier. The result depends only on the
    arguments.
    """
    draw = random.Random(seed)
    row: list[Pair] = []
    count = draw.randint(1, most)
    for pair in pairs:
        if row and (len(row) == count or _words([*row, pair]) > max_words):
            yield _in_a_row(row)
            row, count = [], draw.randint(1, most)
        row.append(pair)
    if row:
        yield _in_a_row(row)


def _words(row: Sequence[Pair]) -> int:
    """Return the white-space words of the longer side of pairs in a row."""
    return max(sum(len(pair[side].split()) for pair in row) for side in (0, 1))


def _in_a_row(row: Sequence[Pair]) -> Pair:
    return " ".join(source for source, _ in row), " ".join(target for _, target in row)


def lowered(pair: Pair, draw: random.Random) -> Pair:
    """Return the source in lower case, half of the time with spaces before its marks, and its translation."""
    source = pair[0].lower()
    return _MARK.sub(r" \1", source) if draw.random() < 0.5 else source, pair[1]


def raised(pair: Pair, _draw: random.Random) -> Pair:
    """Return both sides in capitals."""
    return pair[0].upper(), pair[1].upper()


def unfinished(pair: Pair, _draw: random.Random) -> Pair | None:
    """Return both sides without their final punctuation mark, if it is the same."""
    ends = [_FINAL.search(side) for side in pair]
    if ends[0] is None or ends[1] is None or ends[0].group(1) != ends[1].group(1):
        return None
    return pair[0][: ends[0].start()], pair[1][: ends[1].start()]


def mistyped(pair: Pair, draw: random.Random) -> Pair | None:
    """Swap, drop, double or replace one or two letters of the source; keep the translation."""
    source = pair[0]
    if sum(map(str.isalpha, source)) < 8:
        return None
    for _ in range(draw.choice((1, 1, 2))):
        source = _slip(source, draw)
    return source, pair[1]


def renumbered(pair: Pair, draw: random.Random) -> Pair | None:
    """Replace all numbers that occur on both sides."""
    numbers = [_NUMBER.findall(side) for side in pair]
    common = [number for number in numbers[0] if [side.count(number) for side in numbers] == [1, 1]]
    if not common:
        return None
    fresh = {number: str(draw.randrange(10 ** draw.randint(1, 7))) for number in common}
    source, target = (_NUMBER.sub(lambda match: fresh.get(match[0], match[0]), side) for side in pair)
    return source, target


def copying(pair: Pair, draw: random.Random) -> Pair:
    """Add text that is the same in every language to both sides, or return only that text."""
    thing, frame = draw.choice(_THINGS)(draw), draw.choice(_FRAMES)
    return frame.format(text=pair[0], thing=thing), frame.format(text=pair[1], thing=thing)


def joined(pairs: Sequence[Pair], pair: Pair, draw: random.Random) -> Pair:
    """Return two to four sentences in a row; the others are drawn from ``pairs``."""
    row = [pair, *(pairs[draw.randrange(len(pairs))] for _ in range(draw.randint(1, 3)))]
    return _in_a_row(row)


def _slip(text: str, draw: random.Random) -> str:
    at = draw.choice([i for i in range(len(text) - 1) if text[i].isalpha() and text[i + 1].isalpha()] or [0])
    kind = draw.randrange(4)
    middle = (text[at + 1] + text[at], text[at + 1], text[at] + text[at : at + 2], _letter(draw) + text[at + 1])[kind]
    return text[:at] + middle + text[at + 2 :]


def _letter(draw: random.Random) -> str:
    return draw.choice(string.ascii_lowercase)


def _word(draw: random.Random) -> str:
    return draw.choice(_WORDS) if draw.random() < 0.5 else made_up_name(draw).lower()


def _address(draw: random.Random) -> str:
    host = f"{draw.choice(('www.', '', '', 'docs.'))}{_word(draw)}.{draw.choice(_ENDINGS)}"
    path = "".join(f"/{_word(draw)}" for _ in range(draw.randint(0, 2)))
    query = f"?{_word(draw)}={draw.randrange(1000)}" if draw.random() < 0.2 else ""
    return f"{draw.choice(('https://', 'https://', 'http://', ''))}{host}{path}{query}"


def _mail(draw: random.Random) -> str:
    return f"{_word(draw)}{draw.choice(('.', '_', ''))}{_word(draw)}@{_word(draw)}.{draw.choice(_ENDINGS)}"


def _figure(draw: random.Random) -> str:
    number = draw.randrange(10 ** draw.randint(1, 7))
    return draw.choice((f"{number}", f"{number}", f"{number}%", f"#{number}", f"v{number % 10}.{number % 37}"))


def _code(draw: random.Random) -> str:
    one, second = _word(draw), _word(draw)
    path = f"/{one}/{second}.{draw.choice(_SUFFIXES)}"
    return draw.choice(
        (f"{one}_{second}()", f"{one}.{second}", f"`{one} --{second}`", path, path[1:], f"${one.upper()}")
    )


def _placeholder(draw: random.Random) -> str:
    name = _word(draw).lower()
    shapes = ("%s", "%d", "%1$s", f"%({name})s", f"{{{name}}}", f"{{{{{name}}}}}", f"${{{name}}}", f"<{name}>", "{0}")
    return draw.choice(shapes)


def _value(draw: random.Random) -> str:
    digits = "".join(draw.choice(string.digits) for _ in range(6))
    shapes = (
        f"{draw.randrange(24)}:{draw.randrange(60):02}",
        f"+{digits[:2]} {digits[2:4]} {digits[4:]} {draw.randrange(100):02}",
        f"{digits[:3]}-{digits[3:]}",
        f"{draw.randint(1, 28):02}/{draw.randint(1, 12):02}/{draw.randint(1900, 2035)}",
        f"{draw.choice(string.ascii_uppercase)}{draw.choice(string.ascii_uppercase)}-{digits[:4]}",
        f"{draw.randrange(100)}-{draw.randrange(100)}",
    )
    return draw.choice(shapes)


def _tag(draw: random.Random) -> str:
    return " ".join(draw.choice("@##") + _word(draw) for _ in range(draw.choice((1, 1, 2))))


def _picture(draw: random.Random) -> str:
    return draw.choice(_EMOJI)


_THINGS: tuple[Callable[[random.Random], str], ...] = (
    _address, _mail, _figure, _code, _tag, _picture, made_up_name, _placeholder, _value, _figure
)  # fmt: skip
_WAYS: tuple[Way, ...] = (
    copying, lowered, renamed, mistyped, renamed, copying, unfinished, renamed, renumbered, raised, renamed
)  # fmt: skip
