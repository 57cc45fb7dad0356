"""The interface of a format: extract segments, translate them elsewhere, write them back."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from service.documents.errors import FormatNotInstalled
from service.documents.limits import Limits


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options for reading a document."""

    target: str  # the language to translate into, for formats that name it
    limits: Limits = field(default_factory=Limits)
    columns: tuple[str, ...] = ()  # of a table: names in its first row, or numbers from 1; none: every column


class Document(Protocol):
    """A document that has been read."""

    @property
    def segments(self) -> Sequence[str]:
        """Return the translatable segments in their order, as fragments."""

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the document with a fragment for each segment; everything else stays as it was."""


class FormatModule(Protocol):
    """A module of service.documents.formats."""

    def read(self, data: bytes, options: ReadOptions) -> Document:
        """Return the document in some bytes; raise DocumentError."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its names, and the module that reads it, which is loaded when it is needed."""

    name: str
    extensions: tuple[str, ...]  # with the dot, in lower case
    media_type: str
    module: str
    needs: tuple[str, ...] = ()  # modules of the extra `documents`

    @property
    def installed(self) -> bool:
        """Return whether the libraries of this format are installed."""
        return all(importlib.util.find_spec(name) is not None for name in self.needs)

    def read(self, data: bytes, options: ReadOptions) -> Document:
        """Return a document; raise DocumentError."""
        if not self.installed:
            raise FormatNotInstalled(
                f"This server cannot read {self.name}, because {', '.join(self.needs)} is not installed; "
                "the operator can install the extra: pip install 'translucent-mt[documents]'."
            )
        module: FormatModule = importlib.import_module(self.module, __package__)
        return module.read(data, options)
