"""Gold alignments: their files, and the error rate of other alignments."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

Links = frozenset[tuple[int, int]]
"""(source word, target word), 0-based."""


class AlignmentError(ValueError):
    """Alignments cannot be read: the file is broken, or the head does not exist."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The links that people (or a better aligner) made in one sentence pair; sure links are also possible ones."""

    sure: Links
    possible: Links


def alignment_error_rate(predicted: Iterable[Links], gold: Iterable[Gold]) -> float:
    """Return the AER in percent, 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over the whole corpus (Och and Ney 2003)."""
    hits = total = 0
    for links_, truth in zip(predicted, gold, strict=True):
        hits += len(links_ & truth.sure) + len(links_ & truth.possible)
        total += len(links_) + len(truth.sure)
    return 100 * (1 - hits / total) if total else 0.0


def read_gold(path: Path) -> list[Gold]:
    """Read lines of ``i-j`` (sure) and ``ipj`` (possible), 1-based source–target, as in the NAACL 2003 files.

    Raises AlignmentError with file and line.
    """
    return [Gold(_parse(line, path, n, "-", 1), _parse(line, path, n, "p-", 1)) for n, line in _numbered(path)]


def read_pharaoh(path: Path) -> list[Links]:
    """Read lines of ``i-j``, 0-based source–target; raises AlignmentError with file and line."""
    return [_parse(line, path, n, "-", 0) for n, line in _numbered(path)]


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    try:
        return enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise AlignmentError(f"no alignments in {path}: {error}") from error


def _parse(line: str, path: Path, number: int, kinds: str, base: int) -> Links:
    links = set()
    for entry in line.split():
        match = re.fullmatch(r"(\d+)([-p])(\d+)", entry)
        if match is None or min(int(match[1]), int(match[3])) < base:
            raise AlignmentError(f"{path}, line {number}: {entry!r} is not a link of {base}-based words such as 1-2")
        if match[2] in kinds:
            links.add((int(match[1]) - base, int(match[3]) - base))
    return frozenset(links)
