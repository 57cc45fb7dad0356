"""The tokens by which a model of several languages is told them, and where they stand.

``>>fra<<`` in front of a source asks for French (OPUS-MT). ``eng_Latn`` (NLLB) and ``__en__`` (M2M-100) stand in front
of a source in English and at the beginning of a translation into English.
"""

import contextlib
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from service.bundle.manifest import TargetLanguage
from training.imports.files import ImportRefused, language_tag

_ASKS = re.compile(r">>(.+)<<")
_NAMES = re.compile(r"__([a-z]{2,3})__|([a-z]{3}_[A-Z][a-z]{3})")
_MEANT = {"ns": "nso"}
"""By codes of M2M-100 that mean no language."""


class ModelLanguages(NamedTuple):
    """The languages of a model, and their tokens."""

    sources: tuple[str, ...]
    targets: tuple[TargetLanguage, ...]
    source_prefixes: Mapping[str, tuple[int, ...]] = MappingProxyType({})


def languages_of(
    names: Sequence[str], sources: Sequence[str], targets: Sequence[str], where: str
) -> ModelLanguages | None:
    """Return the languages of a model by the tokens of its vocabulary; None if it has none.

    ``sources``, ``targets``: those that are asked for; none: all of them, but the vocabulary says no source where its
    tokens ask for targets. Raises ImportRefused for a language that the model does not have.
    """
    if sum(_NAMES.fullmatch(name) is not None for name in names) > 1:  # they name the languages of both sides
        ids = _without_scripts(_by_tag(_NAMES, names))
        # Without a choice, English is the first source and the last target, so that the first pair is one.
        tags = _asked(sources, sorted(ids, key="en".__ne__), f"{where}: it does not translate from")
        others = _asked(targets, sorted(ids, key="en".__eq__), f"{where}: it does not translate into")
        told = tuple(TargetLanguage(tag, begin=(ids[tag],)) for tag in others)
        return ModelLanguages(tags, told, {tag: (ids[tag],) for tag in tags})
    ids = _by_tag(_ASKS, names)
    if not ids:
        return None
    tags = tuple(dict.fromkeys(language_tag(code, where) for code in sources))
    others = _asked(targets, list(ids), f"{where}: it does not translate into")
    return ModelLanguages(tags, tuple(TargetLanguage(tag, (ids[tag],)) for tag in others))


def one_pair(
    sources: Sequence[str],
    targets: Sequence[str],
    where: str,
    prefix: tuple[int, ...] = (),
    begin: tuple[int, ...] = (),
) -> ModelLanguages:
    """Return the languages of a model of one target; ``prefix``, ``begin``: the ids in front of each source and target.

    Raises ImportRefused for several targets.
    """
    if len(targets) != 1:
        raise ImportRefused(f"{where}: it translates into one language, but --to names {len(targets)}")
    tags = tuple(dict.fromkeys(language_tag(code, where) for code in sources))
    return ModelLanguages(tags, (TargetLanguage(language_tag(targets[0], where), prefix, begin),))


def _by_tag(pattern: re.Pattern[str], names: Sequence[str]) -> dict[str, int]:
    """Return the id of each language; two codes of one language, as aka and twi, are one: the first."""
    ids: dict[str, int] = {}
    for number, name in enumerate(names):
        if match := pattern.fullmatch(name):
            code = next(filter(None, match.groups()))
            with contextlib.suppress(ImportRefused):  # tokens that are no languages, such as >>xxx<< for tests
                ids.setdefault(language_tag(_MEANT.get(code, code), name), number)
    return ids


def _without_scripts(ids: Mapping[str, int]) -> dict[str, int]:
    """Return the ids by tags that have a script only where a language has several: ``azj_Latn`` is ``az``."""
    languages = [tag.partition("-")[0] for tag in ids]
    return {
        language if languages.count(language) == 1 else tag: number
        for (tag, number), language in zip(ids.items(), languages, strict=True)
    }


def _asked(codes: Sequence[str], tags: Sequence[str], refusal: str) -> tuple[str, ...]:
    """Return the tags of the languages that are asked for, of which a model may write the language alone; none: all."""
    asked = [language_tag(code, refusal) for code in codes] or tags
    fitting = [tag if tag in tags else tag.partition("-")[0] for tag in asked]
    for tag, fit in zip(asked, fitting, strict=True):
        if fit not in tags:
            raise ImportRefused(f"{refusal} {tag}; it has {', '.join(sorted(tags))}")
    return tuple(dict.fromkeys(fitting))
