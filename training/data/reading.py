"""Reads sentence pairs from files: tab-separated text, line-aligned files, published archives."""

import gzip
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import IO, NamedTuple, cast

from training.data.cleaning import Pair
from training.data.corpora import Corpus, find_corpus
from training.data.download import fetch
from training.data.errors import CorpusError
from training.data.own_text import own_pairs


def read_corpus(
    name: str, source_language: str, target_language: str, mirror: Path | None, cache: Path
) -> Iterator[Pair]:
    """Yield the pairs of a named corpus in the requested direction.

    They are read from ``mirror`` if it is given; otherwise the public archive is downloaded into ``cache`` once.
    Raises CorpusError before the first pair if the corpus, the language pair or the files are missing.
    """
    corpus = find_corpus(name)
    languages = corpus.languages(source_language, target_language)
    if corpus.format == "own":
        pairs = own_pairs(*languages)
    elif mirror is not None:
        pairs = _from_mirror(corpus, languages, mirror)
    elif corpus.format == "unpublished":
        origin = corpus.downloads[languages][0].address
        raise CorpusError(
            f"corpus {corpus.name} is not published as sentence pairs (it was made from {origin}): "
            "give --mirror DIR with a copy, or take it out of the recipe"
        )
    else:
        pairs = _from_downloads(corpus, languages, cache)
    if languages == (source_language, target_language):
        return pairs
    return ((second, first) for first, second in pairs)


def read_pairs(path: Path, target_path: Path | None = None, *, left_out: Counter[str] | None = None) -> Iterator[Pair]:
    """Yield the pairs of a local TSV (source, tab, target) or of two line-aligned files; ``.gz`` too.

    Raises CorpusError with file and line for missing files, text that is not UTF-8, a line without a tab, unequal
    numbers of lines, and files without pairs. Columns after the second are not read; `left_out` counts their lines.
    """
    if target_path is None:
        return _not_empty(_split_columns(_lines(str(path), _open(path)), str(path), left_out), str(path))
    source = _lines(str(path), _open(path))
    target = _lines(str(target_path), _open(target_path))
    return _not_empty(_zipped(source, target, (str(path), str(target_path))), f"{path} and {target_path}")


def read_lines(path: Path) -> list[str]:
    """Return all lines of a text file (or .gz), also empty ones; raises CorpusError if it is not readable UTF-8."""
    return list(_lines(str(path), _open(path)))


def _from_mirror(corpus: Corpus, languages: tuple[str, str], mirror: Path) -> Iterator[Pair]:
    if not mirror.is_dir():
        raise CorpusError(f"the mirror {mirror} is not a folder")
    source, target = languages
    paths = [
        mirror / corpus.mirror.format(name=corpus.name, source=source, target=target, language=language)
        for language in languages
    ]
    return read_pairs(paths[0]) if paths[0] == paths[1] else read_pairs(*paths)


def _from_downloads(corpus: Corpus, languages: tuple[str, str], cache: Path) -> Iterator[Pair]:
    paths = [fetch(download, cache / corpus.name) for download in corpus.downloads[languages]]
    if corpus.format == "lines":
        return read_pairs(*paths)
    if corpus.format == "moses":
        members = [_member(paths[0], f".{code}") for code in languages]
        source, target = (_lines(member.name, member.stream) for member in members)
        return _not_empty(_zipped(source, target, (members[0].name, members[1].name)), str(paths[0]))
    member = _member(paths[0], ".txt", ignored="_")
    return _not_empty(_split_columns(_lines(member.name, member.stream), member.name), member.name)


class _Member(NamedTuple):
    """An open file inside an archive."""

    name: str
    stream: IO[bytes]


def _open(path: Path) -> IO[bytes]:
    try:
        return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
    except FileNotFoundError as error:
        raise CorpusError(f"no file at {path}") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path} is a folder, not a file of sentences") from error


def _member(archive: Path, ending: str, ignored: str = "/") -> _Member:
    """Open the only member with that ending whose name does not begin with ``ignored`` (read-me files)."""
    try:
        content = zipfile.ZipFile(archive)
    except zipfile.BadZipFile as error:
        raise CorpusError(f"{archive} is not a zip archive: delete it and try again") from error
    names = [name for name in content.namelist() if name.endswith(ending) and not Path(name).name.startswith(ignored)]
    if len(names) != 1:
        raise CorpusError(f"{archive} should hold one file ending in {ending}, found {names or content.namelist()}")
    return _Member(f"{archive}:{names[0]}", content.open(names[0]))


def _lines(name: str, stream: IO[bytes]) -> Iterator[str]:
    """Decode line by line, so that an error has its line number; only line feeds end a line."""
    try:
        with stream:
            for number, line in enumerate(stream, start=1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise CorpusError(f"{name}, line {number}: not UTF-8 ({error.reason}); convert the file") from error
                yield text.rstrip("\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{name} is damaged or not compressed: {error}") from error


def _split_columns(lines: Iterable[str], name: str, left_out: Counter[str] | None = None) -> Iterator[Pair]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(f"{name}, line {number}: no tab between source and target")
        if left_out is not None and any(map(str.strip, columns[2:])):
            left_out["columns after the second"] += 1
        yield columns[0], columns[1]


def _zipped(source: Iterable[str], target: Iterable[str], names: tuple[str, str]) -> Iterator[Pair]:
    for number, (first, second) in enumerate(zip_longest(source, target), start=1):
        if first is None or second is None:
            ended = names[0] if first is None else names[1]
            raise CorpusError(
                f"{names[0]} and {names[1]} have unequal numbers of lines: {ended} ends before line {number}"
            )
        if first.strip() and second.strip():
            yield first, second


def _not_empty(pairs: Iterator[Pair], name: str) -> Iterator[Pair]:
    """Return pairs whose file is opened now, not at the first use; raise CorpusError if there is no pair."""
    try:
        first = next(pairs)
    except StopIteration:
        raise CorpusError(f"{name} holds no sentence pair") from None

    def rest() -> Iterator[Pair]:
        yield first
        yield from pairs

    return rest()
