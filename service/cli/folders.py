"""Folders of documents: which files in them are translated, where the translations go, and how much they are."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.documents.format import Document, extension_of, supported_extensions
from service.documents.fragments import plain
from service.engine import InvalidInput, InvalidOption


def documents_in(folder: Path) -> tuple[list[Path], Counter[str]]:
    """Return the documents in a folder and its subfolders, and how many files of other types there are.

    Hidden files and folders are left out; raise InvalidOption for a folder without a document.
    """
    extensions = {*supported_extensions()}
    documents: list[Path] = []
    others: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        if extension_of(path.name) in extensions:
            documents.append(path)
        else:
            others[extension_of(path.name) or path.name] += 1
    if not documents:
        raise InvalidOption(
            f"The folder {folder} has no document. A text that is a folder's name is read from --input."
        )
    return documents, others


def targets_in(
    folder: Path, documents: Sequence[Path], output: Path | None, language: str
) -> Iterator[tuple[Path, Path]]:
    """Yield each document and where its translation goes: the same name in a folder beside, or in the given one."""
    resolved = folder.resolve()
    named = resolved if folder.name in ("", "..") else folder
    target = output or named.with_name(f"{resolved.name}.{language}")
    if target.is_file() or (output is None and target.exists()):
        raise InvalidInput(f"{target} exists; name another folder with --output.")
    if target.resolve() == resolved:
        raise InvalidInput(f"{target} is named twice; the translations need their own folder.")
    for path in documents:
        if target.resolve() not in path.resolve().parents:  # translations from before
            yield path, target / path.relative_to(folder)


def counts(document: Document) -> tuple[int, int]:
    """Return the words and the characters of a document that are translated."""
    texts = [plain(segment) for segment in document.segments]
    return sum(len(text.split()) for text in texts), sum(map(len, texts))


def count_table(rows: Sequence[tuple[str, int, int]]) -> str:
    """Return a line for each document: words, characters, name; and their sums if there are several."""
    total = [("total", sum(row[1] for row in rows), sum(row[2] for row in rows))] if len(rows) > 1 else []
    lines = [("", "words", "characters"), *((name, f"{words:,}", f"{size:,}") for name, words, size in [*rows, *total])]
    wide = [max(len(line[place]) for line in lines) for place in (1, 2)]
    return "\n".join(f"{words:>{wide[0]}}  {size:>{wide[1]}}  {name}".rstrip() for name, words, size in lines)
