"""Files of one segment a line, read and written line by line: only a line feed ends a line, and all are UTF-8."""

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


STANDARD = Path("-")  # standard input or output, as other programs call them


class Reader(Protocol):
    """What gives lines."""

    name: str  # in errors

    @property
    def is_terminal(self) -> bool:
        """Return whether somebody is typing the lines."""

    def window(self, size: int) -> list[str]:
        """Return the next lines, at most `size`; none at the end."""

    def count(self) -> int | None:
        """Return how many lines there are, None where that cannot be known."""


class Texts:
    """Texts that are there already, read as if each were a line; it may hold line feeds."""

    name = "the texts"
    is_terminal = False

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._texts = iter(texts)

    def window(self, size: int) -> list[str]:
        """Return the next texts, at most `size`."""
        return list(islice(self._texts, size))

    def count(self) -> int:
        """Return how many texts there were."""
        return self._count


class LineReader:
    """Reads a file, or standard input, in windows of lines."""

    def __init__(self, path: Path | None, name: str) -> None:
        """Open the file; `name` is how errors call it. Raises InvalidInput if it cannot be opened."""
        self.name = name
        self._path = path = None if path == STANDARD else path
        try:
            self._file: BinaryIO = path.open("rb") if path else sys.stdin.buffer
        except OSError as error:
            raise InvalidInput(f"{name} {path} cannot be read: {error.strerror}.") from error
        self._lines = self._decoded()

    def window(self, size: int) -> list[str]:
        """Return the next lines without their line feeds, at most `size`; none at the end of the file.

        Raises InvalidText for a line that is not UTF-8.
        """
        return list(islice(self._lines, size))

    def count(self) -> int | None:
        """Count the lines of a file by reading it once; None for what can be read only once."""
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
        """Return whether somebody is typing the lines."""
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
        """Open the file; without one, write to standard output or nowhere. Raises InvalidInput."""
        to_standard_output |= path == STANDARD
        self._path = path = None if path == STANDARD else path
        try:
            self._file = path.open("wb") if path else sys.stdout.buffer if to_standard_output else None
        except OSError as error:
            raise InvalidInput(f"{name} {path} cannot be written: {error.strerror}.") from error

    def write(self, lines: Sequence[str]) -> None:
        """Write lines and hand them on at once."""
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
    """Raise InvalidInput if a file that is read would be overwritten, or two outputs go to one file.

    Standard input and output (`-`) are two things, and each can be used once.
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
def quiet_when_nobody_reads() -> Iterator[None]:
    """End without a word when standard output is closed by its reader, as `head` does."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered goes nowhere, or the interpreter would fail once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
