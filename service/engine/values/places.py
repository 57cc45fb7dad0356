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
NEAR = 200  # characters; two places that stand nearer may be in one sentence
_WORDS = ("Cologne", "Burgundy", "Valence", "Grenade", "Damas", "Gênes", "Manille", "Chili", "Argentine", "Bergen")
"""In capitals these may be ordinary words."""
_NAMES = re.compile(r"([A-ZÉÄ](?<![\w-].)\w+)(?=(\.?[ -][A-Zas]\w+)?)")


@functools.cache
def _places(language: str) -> dict[str, list[str]]:
    """Return the rows of the list by the name in a language; none for a language that it does not have."""
    if language not in LANGUAGES:
        return {}
    lines = (Path(__file__).parent / "places.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    return {row[LANGUAGES.index(language)]: row for row in reversed(rows)}


def find_places(text: str, source: str, target: str) -> Iterator[Value]:
    """Yield the places of a text that are in the list, while there are known ones that stand in for them."""
    source, target = language_of(source), language_of(target)
    places = _places(source)
    if target not in LANGUAGES or not places:
        return
    used: dict[str, int] = {}
    end = 0
    for match in _NAMES.finditer(text):
        names, start = (match[1] + (match[2] or ""), match[1]), match.start()
        name = next((each for each in names if _listed(each) in places), None)
        if name is None or start < end:
            continue
        near = text[max(0, start - NEAR) : start + NEAR]
        row = places[_listed(name)]
        for words in _LIKE[row[3]]:
            known = dict(zip(LANGUAGES, words.split(), strict=True))
            if start - used.get(known[source], -NEAR) >= NEAR and known[source] not in near:
                used[known[source]] = start
                written, stand_in = row[LANGUAGES.index(target)], (known[source], known[target])
                end = start + len(name)
                yield Value(Kind.PLACE, start, end, name, written, stand_in=stand_in)
                break


def _listed(name: str) -> str:
    """Return a name as the list writes it, also for one in capitals."""
    usual = name.title()
    return usual if name.isupper() and usual not in _WORDS else name
