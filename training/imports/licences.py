"""The licence of an imported model: it is recorded if it is certain; otherwise the caller has to give it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from training.imports.errors import ImportRefused

OPUS_LICENCE = "CC-BY-4.0"
_TEMPLATE = "apache-2.0"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---", re.DOTALL)


def opus_licence(folder: Path, given: str | None) -> str:
    """Return the licence of an OPUS-MT model.

    The hub's converter wrote ``apache-2.0`` into every card, while OPUS-MT publishes its models under CC BY 4.0: if
    the card states the former or nothing, the caller has to give the licence. Raises ImportRefused.
    """
    if given:
        return given
    stated = card_licence(folder / "README.md")
    if stated is None:
        raise ImportRefused(f"{folder}: it does not state a licence; find it out and give it as --licence")
    if stated.lower() == _TEMPLATE:
        raise ImportRefused(
            f"{folder}: its card says {stated}, which the hub's converter wrote into every card, but OPUS-MT publishes "
            f"its models under {OPUS_LICENCE}; give the licence that you follow as --licence {OPUS_LICENCE}"
        )
    return stated


def stated_licence(folder: Path, given: str | None) -> str:
    """Return the licence that the caller gives, or that a model's card states; raises ImportRefused without either."""
    licence = given or card_licence(folder / "README.md")
    if licence is None:
        raise ImportRefused(f"{folder}: it does not state a licence; find it out and give it as --licence")
    return licence


def card_licence(path: Path) -> str | None:
    """Return the licence in the front matter of a hub card; None if there is none."""
    if not path.is_file():
        return None
    match = _FRONT_MATTER.match(path.read_text(encoding="utf-8", errors="replace"))
    try:
        content = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return None
    licence = content.get("license") if isinstance(content, dict) else None
    return str(licence) if licence else None


def non_commercial(licence: str) -> bool:
    """Return whether a licence forbids commercial use."""
    return bool(re.search(r"\bnc\b|non-?commercial", licence, re.IGNORECASE))
