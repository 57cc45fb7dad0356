"""From attention weights to word alignments, and how far those are from gold: pure functions on arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.float32]
Groups = list[list[int]]
"""The token indices of each word."""
Links = frozenset[tuple[int, int]]
"""(source word, target word), 0-based."""
Step = Literal["produce", "consume"]


class AlignmentError(ValueError):
    """Alignments that cannot be read: a broken file, or a head that does not exist."""


def word_groups(text: str, offsets: Sequence[tuple[int, int]]) -> Groups:
    """Return the tokens of each white-space word of a line, from the tokenizer's offsets.

    A token belongs to the word in which its first character that is not a space stands.
    """
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    groups: Groups = [[] for _ in spans]
    current = 0
    for token, (start, end) in enumerate(offsets):
        begin = next((place for place in range(start, end) if not text[place].isspace()), end)
        while current + 1 < len(spans) and spans[current + 1][0] <= begin:
            current += 1
        if spans:
            groups[current].append(token)
    return groups


def reading(attention: Weights, layer: int, head: int, step: Step) -> Weights:
    """[L, H, T, S] → [T, S] of one head, each target token read in the step that produces or that consumes it.

    The step that consumes a token is the next one; the end token is never consumed and keeps its own row.
    Raises AlignmentError for a head that does not exist.
    """
    layers, heads = attention.shape[:2]
    if layer >= layers or head >= heads:
        raise AlignmentError(f"no layer {layer}, head {head}: there are {layers} layers of {heads} heads, from 0")
    weights: Weights = attention[layer, head]
    if step == "consume" and len(weights) > 1:
        return np.concatenate([weights[1:], weights[-1:]])
    return weights


def merge(weights: Weights, targets: Groups, sources: Groups) -> Weights:
    """Token weights [T, S] → word weights: sums over a source word's pieces, means over a target word's."""
    rows = np.stack([weights[group].mean(0) if group else np.zeros_like(weights[0]) for group in targets])
    columns = [rows[:, group].sum(1) for group in sources]
    return np.stack(columns, axis=1)


def links(weights: Weights, targets: Groups, sources: Groups, threshold: float | None = None) -> Links:
    """Link each target word to the source word with most weight, if that is at least ``threshold``."""
    return frozenset(
        (source, target)
        for source, target, weight in _candidates(weights, targets, sources)
        if weight >= (threshold or 0)
    )


def _candidates(weights: Weights, targets: Groups, sources: Groups) -> Iterator[tuple[int, int, float]]:
    """(source, target, weight) of each target word's best source word; words without tokens have none."""
    if not any(sources) or not any(targets):
        return
    merged = merge(weights, targets, sources)
    merged[:, [not group for group in sources]] = -1
    for target in (t for t, group in enumerate(targets) if group):
        source = int(merged[target].argmax())
        yield source, target, float(merged[target, source])


@dataclass(frozen=True, slots=True)
class Gold:
    """What people (or a better aligner) linked in one sentence pair; sure links are possible ones too."""

    sure: Links
    possible: Links


def alignment_error_rate(found: Iterable[Links], gold: Iterable[Gold]) -> float:
    """AER in percent: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), Och and Ney 2003, over the whole corpus."""
    hits = total = 0
    for links_, truth in zip(found, gold, strict=True):
        hits += len(links_ & truth.sure) + len(links_ & truth.possible)
        total += len(links_) + len(truth.sure)
    return 100 * (1 - hits / total) if total else 0.0


def read_gold(path: Path) -> list[Gold]:
    """Lines of ``i-j`` (sure) and ``ipj`` (possible), 1-based source–target: the NAACL 2003 files, Hansards.

    Raises AlignmentError naming file and line.
    """
    return [Gold(_parse(line, path, n, "-", 1), _parse(line, path, n, "p-", 1)) for n, line in _numbered(path)]


def read_pharaoh(path: Path) -> list[Links]:
    """Lines of ``i-j``, 0-based source–target; raises AlignmentError naming file and line."""
    return [_parse(line, path, n, "-", 0) for n, line in _numbered(path)]


def pharaoh(found: Links) -> str:
    """Return one line of ``i-j``, 0-based source–target."""
    return " ".join(f"{source}-{target}" for source, target in sorted(found))


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    try:
        return enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise AlignmentError(f"no alignments in {path}: {error}") from error


def _parse(line: str, path: Path, number: int, kinds: str, base: int) -> Links:
    found = set()
    for entry in line.split():
        match = re.fullmatch(r"(\d+)([-p])(\d+)", entry)
        if match is None or min(int(match[1]), int(match[3])) < base:
            raise AlignmentError(f"{path}, line {number}: {entry!r} is no link of {base}-based words such as 1-2")
        if match[2] in kinds:
            found.add((int(match[1]) - base, int(match[3]) - base))
    return frozenset(found)
