"""Cities and countries of a list, in whose places the model reads others that it knows; it spells rare names anew."""

import functools
import re
from collections.abc import Iterator

from service.engine.values.value import Kind, Value
from service.languages import Language, language_of

_FIRST_WORD = re.compile(r"[A-Z\u00c4\u00c9](?<![\w-].)\w+")
_SECOND_WORD = re.compile(r"\.?[ -][A-Zas]\w+")


@functools.cache
def _places(language: Language) -> dict[str, dict[str, str]]:
    """Return the places of a language by the first word and the whole name that it has for them, also in capitals."""
    by_kind: dict[str, dict[str, str]] = {}
    for place, (name, _) in reversed([*language.place_names.items()]):
        for spelling in {name, name if name in language.places.ambiguous else name.upper()}:
            by_kind.setdefault(re.split("[. -]", spelling)[0], {})[spelling] = place
    return by_kind


def find_places(sentence: str, source: str, target: str) -> Iterator[Value]:
    """Yield the places of a sentence that are in the list, while there are known ones that stand in for them."""
    ours, theirs = language_of(source), language_of(target)
    places = _places(ours)
    if not places:
        return
    free: dict[str, list[tuple[str, str]]] = {}
    for match in _FIRST_WORD.finditer(sentence):
        if (names := places.get(match[0])) is None:
            continue
        second = _SECOND_WORD.match(sentence, match.end())
        name = next((name for name in (match[0] + (second[0] if second else ""), match[0]) if name in names), None)
        if name is None or names[name] not in theirs.place_names:
            continue
        written, kind = theirs.place_names[names[name]]
        if kind not in free:
            place_pairs = zip(ours.places.known.get(kind, ()), theirs.places.known.get(kind, ()), strict=False)
            free[kind] = [words for words in place_pairs if words[0] not in sentence]
        if not free[kind]:
            continue
        start = match.start()
        yield Value(Kind.PLACE, start, start + len(name), name, written, stand_in=free[kind].pop(0))
