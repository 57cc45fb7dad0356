"""The error of imports."""

from __future__ import annotations


class ImportRefused(ValueError):
    """A model cannot be imported; the message has the file, what was found, and what is accepted."""
