"""Entity tags: whether a client already has an answer (RFC 9110, section 8.8.3)."""

from __future__ import annotations

import hashlib


def entity_tag(content: bytes) -> str:
    """Return a strong tag of a content."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Return whether a client already has the answer of this tag."""
    if if_none_match is None:
        return False
    known = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return tag in known or "*" in known
