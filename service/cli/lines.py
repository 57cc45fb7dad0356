"""Files with one segment per line, read and written line by line: UTF-8, and only a line feed ends a line."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from service.engine import InvalidInput, InvalidText

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WriteLines = Callable[[Sequence[str]], None]

STANDARD = Path("-")  # standard input or output, as in other programs


@contextlib.contextmanager
def read_lines(path: Path | None, name: str) -> Iterator[Iterator[str]]:
    """Open a file, or standard input, and give its lines without their line feeds; errors call it `name`.

    Raise InvalidInput if it cannot be opened; the lines raise InvalidText for one that is not UTF-8.
    """
    if path is None or path == STANDARD:
        yield _decoded(sys.stdin.buffer, name)
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{name} {path} cannot be read: {error.strerror}.") from error
    with file:
        yield _decoded(file, name)


def _decoded(file: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        content = line.removesuffix(b"\n")
        if number == 1:
            content = content.removeprefix(BYTE_ORDER_MARK)
        try:
            yield content.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"byte {error.start + 1} of the line"
            raise InvalidText(f"Line {number} of {name} is not UTF-8 ({place}).") from None


def is_terminal(path: Path | None) -> bool:
    """Return whether the lines are typed at a terminal."""
    return sys.stdin.isatty() if path is None or path == STANDARD else path.is_char_device()


def count_lines(path: Path | None) -> int | None:
    """Return the number of lines of a file, which is read once for this; None for a stream."""
    if path is None or not path.is_file():
        return None
    with path.open("rb") as file:
        whole = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
        if not path.stat().st_size:
            return 0
        file.seek(-1, 2)
        return whole + (file.read(1) != b"\n")


@contextlib.contextmanager
def line_writer(path: Path, name: str) -> Iterator[WriteLines]:
    """Open a file, or standard output, and give a function that writes lines to it and flushes them.

    Raise InvalidInput if it cannot be opened.
    """
    if path == STANDARD:
        yield functools.partial(_write, sys.stdout.buffer)
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise InvalidInput(f"{name} {path} cannot be written: {error.strerror}.") from error
    with file:
        yield functools.partial(_write, file)


def _write(file: BinaryIO, lines: Sequence[str]) -> None:
    file.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    file.flush()


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
