"""Cities and countries of a list, in whose places the model reads others that it knows; it spells rare names anew."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from service.engine.values.locales import language_of
from service.engine.values.value import Kind, Value

LANGUAGES = ("en", "fr", "de")
_LIKE = {
    "Paris": tuple(f"{city} {city} {city}" for city in ("Paris", "Boston", "Berlin", "Chicago")),
    "Amsterdam": ("Amsterdam Amsterdam Amsterdam",),
    "France": ("France France Frankreich", "China Chine China", "Russia Russie Russland"),
    "Italy": ("Italy Italie Italien", "Germany Allemagne Deutschland", "Spain Espagne Spanien"),
    "Japan": ("Japan Japon Japan", "Canada Canada Kanada", "Brazil Brésil Brasilien"),
}
"""Places as models know them, by how French treats them: à Paris, d'Amsterdam; en France, l'Italie, au Japon."""
_AMBIGUOUS = "Cologne Burgundy Valence Grenade Damas Gênes Manille Chili Argentine Vienne Bergen"
"""In capitals these may be ordinary words."""
_FIRST_WORD = re.compile(r"[A-ZÉÄ](?<![\w-].)\w+")
_SECOND_WORD = re.compile(r"\.?[ -][A-Zas]\w+")


@functools.cache
def _places(language: str) -> dict[str, dict[str, list[str]]]:
    """Return the rows of the list by the first word and the whole name in a language that it has, also in capitals."""
    found: dict[str, dict[str, list[str]]] = {}
    ambiguous = _AMBIGUOUS.split()
    if language in LANGUAGES:
        lines = (Path(__file__).parent / "places.tsv").read_text("utf-8").splitlines()
        for row in reversed([line.split("\t") for line in lines[1:]]):
            name = row[LANGUAGES.index(language)]
            for spelling in {name, name if name in ambiguous else name.upper()}:
                found.setdefault(re.split("[. -]", spelling)[0], {})[spelling] = row
    return found


def find_places(sentence: str, source: str, target: str) -> Iterator[Value]:
    """Yield the places of a sentence that are in the list, while there are known ones that stand in for them."""
    source, target = language_of(source), language_of(target)
    places = _places(source)
    if target not in LANGUAGES or not places:
        return
    free: dict[str, list[list[str]]] = {}
    for match in _FIRST_WORD.finditer(sentence):
        if (rows := places.get(match[0])) is None:
            continue
        second = _SECOND_WORD.match(sentence, match.end())
        name = next((name for name in (match[0] + (second[0] if second else ""), match[0]) if name in rows), None)
        if name is None:
            continue
        if (like := rows[name][3]) not in free:
            known = map(str.split, _LIKE[like])
            free[like] = [words for words in known if words[LANGUAGES.index(source)] not in sentence]
        if not free[like]:
            continue
        words = dict(zip(LANGUAGES, free[like].pop(0), strict=True))
        start, written = match.start(), rows[name][LANGUAGES.index(target)]
        yield Value(Kind.PLACE, start, start + len(name), name, written, stand_in=(words[source], words[target]))
