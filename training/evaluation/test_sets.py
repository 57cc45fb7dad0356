"""Sentences with reference translations: files, or the development data of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from training.data.reading import read_lines, read_pairs
from training.data.subwords import UNKNOWN
from training.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class TestSet:
    """Sentences and their reference translations."""

    __test__ = False  # otherwise pytest would collect it as a class of tests

    name: str
    sources: Sequence[str]
    references: Sequence[str]


def load_test(path: Path, target_path: Path | None = None) -> TestSet:
    """Read a TSV (source, tab, reference) or two line-aligned files, also .gz; raise CorpusError as ``read_pairs``."""
    if target_path is None:
        sources, references = zip(*read_pairs(path), strict=True)
        return TestSet(_stem(path), sources, references)
    list(read_pairs(path, target_path))  # raises the error for unequal numbers of lines
    return TestSet(_stem(path), read_lines(path), read_lines(target_path))


def without_unknown(test: TestSet, tokenizer: Tokenizer) -> TestSet:
    """Return the sentences without an unknown word in source and reference: "No UNK" of 1409.0473, table 1."""
    unknown = tokenizer.token_to_id(UNKNOWN)
    pairs = zip(test.sources, test.references, strict=True)
    kept = [pair for pair in pairs if not any(unknown in tokenizer.encode(text).ids for text in pair)]
    return TestSet(f"{test.name}/No UNK", [source for source, _ in kept], [reference for _, reference in kept])


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".tsv")


def load_development(path: Path) -> list[TestSet]:
    """Return the held-out pairs of a run folder, one test set for each corpus."""
    rows = RunFolder(path).load_development()
    names = dict.fromkeys(corpus for corpus, _, _ in rows)
    return [
        TestSet(
            f"development/{name}", [s for corpus, s, _ in rows if corpus == name], [t for c, _, t in rows if c == name]
        )
        for name in names
    ]
