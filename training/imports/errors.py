"""The error of an import that cannot be done."""

from __future__ import annotations


class ImportRefused(ValueError):
    """A model that cannot be imported; the message is one sentence: the file, what was found, what is accepted."""
