"""The tokens by which a model with several targets is told the language, such as ``>>fra<<``."""

import re
from collections.abc import Mapping, Sequence

from service.bundle.manifest import TargetLanguage
from training.imports.files import ImportRefused, language_tag

_LANGUAGE_TOKEN = re.compile(r">>(.+)<<")
_FIRST_TOKEN = re.compile(r"__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}")
"""Of M2M-100 and of NLLB."""


def language_tokens(names: Sequence[str]) -> dict[str, int]:
    """Return the id of the token of each language code in a vocabulary."""
    return {match[1]: number for number, name in enumerate(names) if (match := _LANGUAGE_TOKEN.fullmatch(name))}


def refuse_first_tokens(names: Sequence[str], where: str) -> None:
    """Raise ImportRefused for a model whose translations begin with the token of their language."""
    tokens = [name for name in names if _FIRST_TOKEN.fullmatch(name)][:2]
    if len(tokens) > 1:
        raise ImportRefused(
            f"{where}: its translations begin with the token of their language ({', '.join(tokens)}: NLLB, M2M-100); "
            "models of one language, or that are told it before the source, can be imported"
        )


def targets_of(tokens: Mapping[str, int], wanted: Sequence[str], where: str) -> tuple[TargetLanguage, ...]:
    """Return the targets of a model that is told the language by a token such as ``>>fra<<``."""
    known: dict[str, int] = {}
    for code, number in tokens.items():
        try:
            known.setdefault(language_tag(code, where), number)
        except ImportRefused:
            continue  # tokens that are no languages, such as >>xxx<< for tests
    asked = [language_tag(code, where) for code in wanted] or list(known)
    for tag in asked:
        if tag not in known:
            raise ImportRefused(f"{where}: it does not translate into {tag}; it has {', '.join(sorted(known))}")
    return tuple(TargetLanguage(tag, (known[tag],)) for tag in dict.fromkeys(asked))
