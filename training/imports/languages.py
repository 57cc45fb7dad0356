"""Language tags of imported models."""

from __future__ import annotations

import re

import langcodes
from langcodes.tag_parser import LanguageTagError

from training.imports.errors import ImportRefused

_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


def language_tag(code: str, where: str) -> str:
    """Return the shortest BCP 47 tag of a language code: ``fra`` is ``fr``, ``cmn_Hans`` is ``zh-Hans``.

    Raises ImportRefused for anything else.
    """
    code = code.strip()
    if not _TAG.fullmatch(code):
        raise ImportRefused(f"{where}: {code!r} is no language code; give it as --source or --target, e.g. fr or pt-BR")
    try:
        return langcodes.standardize_tag(code, macro=True)
    except LanguageTagError as error:
        raise ImportRefused(
            f"{where}: {code!r} is no language code ({error}); give it as --source or --target, e.g. fr or pt-BR"
        ) from error
