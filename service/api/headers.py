"""The headers of a request, read from its scope: a search in a short list, without an object for it."""

from __future__ import annotations

from starlette.types import Scope


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header by its name in small letters; the first of several."""
    for own, value in scope["headers"]:
        if own == name:
            return str(value, "latin-1")
    return None
