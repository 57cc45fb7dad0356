"""Files with one segment per line, read and written line by line: UTF-8, and only a line feed ends a line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from service.engine import InvalidInput, InvalidText

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


STANDARD = Path("-")  # standard input or output, as in other programs


class Reader(Protocol):
    """A source of lines."""

    name: str  # in errors

    @property
    def is_terminal(self) -> bool:
        """Return whether the lines are typed at a terminal."""

    def window(self, size: int) -> list[str]:
        """Return the next lines, at most `size`; none at the end."""

    def count(self) -> int | None:
        """Return the number of lines, or None if it cannot be known."""


class Texts:
    """Given texts, read as if each were a line; a text may hold line feeds."""

    name = "the texts"
    is_terminal = False

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._texts = iter(texts)

    def window(self, size: int) -> list[str]:
        """Return the next texts, at most `size`."""
        return list(islice(self._texts, size))

    def count(self) -> int:
        """Return the number of texts."""
        return self._count


class LineReader:
    """Reads a file, or standard input, in windows of lines."""

    def __init__(self, path: Path | None, name: str) -> None:
        """Open the file; errors call it `name`. Raise InvalidInput if it cannot be opened."""
        self.name = name
        self._path = path = None if path == STANDARD else path
        try:
            self._file: BinaryIO = path.open("rb") if path else sys.stdin.buffer
        except OSError as error:
            raise InvalidInput(f"{name} {path} cannot be read: {error.strerror}.") from error
        self._lines = self._decoded()

    def window(self, size: int) -> list[str]:
        """Return the next lines without their line feeds, at most `size`; none at the end of the file.

        Raise InvalidText for a line that is not UTF-8.
        """
        return list(islice(self._lines, size))

    def count(self) -> int | None:
        """Return the number of lines of a file, which is read once for this; None for a stream."""
        if self._path is None or not self._path.is_file():
            return None
        with self._path.open("rb") as file:
            whole = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
            if not self._path.stat().st_size:
                return 0
            file.seek(-1, 2)
            return whole + (file.read(1) != b"\n")

    @property
    def is_terminal(self) -> bool:
        """Return whether the lines are typed at a terminal."""
        return self._file.isatty()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; standard input stays open."""
        if self._path:
            self._file.close()

    def _decoded(self) -> Iterator[str]:
        for number, line in enumerate(self._file, start=1):
            content = line.removesuffix(b"\n")
            if number == 1:
                content = content.removeprefix(BYTE_ORDER_MARK)
            try:
                yield content.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidText(
                    f"Line {number} of {self.name} is not UTF-8 (byte {error.start + 1} of the line)."
                ) from None


class LineWriter:
    """Writes lines to a file, to standard output, or nowhere."""

    def __init__(self, path: Path | None, name: str, *, to_standard_output: bool = False) -> None:
        """Open the file; without one, write to standard output or nowhere. Raise InvalidInput."""
        to_standard_output |= path == STANDARD
        self._path = path = None if path == STANDARD else path
        try:
            self._file = path.open("wb") if path else sys.stdout.buffer if to_standard_output else None
        except OSError as error:
            raise InvalidInput(f"{name} {path} cannot be written: {error.strerror}.") from error

    def write(self, lines: Sequence[str]) -> None:
        """Write lines and flush them at once."""
        if self._file:
            self._file.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
            self._file.flush()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; standard output stays open."""
        if self._path and self._file:
            self._file.close()


def check_paths_differ(read: Sequence[Path | None], written: Sequence[Path | None]) -> None:
    """Raise InvalidInput if an input file would be overwritten, or if two outputs have the same file.

    Standard input and standard output (`-`) are different, and each can be used once.
    """
    for paths, name, option in ((read, "input", "--input"), (written, "output", "--output")):
        if list(paths).count(STANDARD) > 1:
            raise InvalidInput(f"Standard {name} can be used once; name a file for one of them, as with {option}.")
    seen = {path.resolve() for path in read if path and path != STANDARD}
    for path in (path.resolve() for path in written if path and path != STANDARD):
        if path in seen:
            raise InvalidInput(f"{path} is named twice; every input and output needs its own file.")
        seen.add(path)


@contextlib.contextmanager
def quiet_when_output_closes() -> Iterator[None]:
    """End silently when the reader of standard output closes it, as `head` does."""
    try:
        yield
    except BrokenPipeError:
        # The rest of the buffer is discarded: the interpreter flushes at exit and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
