"""`translucent align-corpus`: finds the sentence pairs in two files of one language each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import tqdm

from service.cli.options import FAILED, WRONG, ModelsDir, fail, read_settings
from service.embedding import Embedder
from service.embedding.embedder import FOLDER, Floats
from service.embedding.mining import NEIGHBOURS, MinedPair, MiningUnavailable, mine
from service.engine import EngineError

AT_ONCE = 512  # lines of one call, so that the bar moves
LEAST_OWN_SHARE = 0.05
"""A line whose own language is less probable than this is in another one: untranslated text."""


@dataclass(frozen=True, slots=True)
class Side:
    """The lines of one file that can be paired."""

    numbers: list[int]
    """The place of each line in the file, from 0."""
    vectors: Floats
    """[lines, D]"""


def align_corpus(
    source: Annotated[Path, typer.Argument(help="Sentences of one language, one a line, UTF-8.")],
    target: Annotated[Path, typer.Argument(help="Sentences of the other language, in any order.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="TSV: source, target, score; the best pair first.")],
    source_language: Annotated[str, typer.Option("--from", help="Language of the first file.")],
    target_language: Annotated[str, typer.Option("--to", help="Language of the second file.")],
    min_score: Annotated[
        float, typer.Option(min=0, help="Least margin of a pair: its cosine over that of its neighbours.")
    ] = 1.2,
    neighbours: Annotated[
        int, typer.Option(min=1, max=64, help="Neighbours that a pair is compared with.")
    ] = NEIGHBOURS,
    intra_threads: Annotated[int, typer.Option(min=1, help="Threads of the embedding model.")] = 1,
    models_dir: ModelsDir = None,
) -> None:
    """Find translations of each other in two files, for a translation memory or for training."""
    folder = read_settings(models_dir=models_dir).models_dir / FOLDER
    try:
        embedder = Embedder(folder, intra_threads)
        for option, language in (("--from", source_language), ("--to", target_language)):
            if language not in embedder.manifest.languages:
                known = ", ".join(embedder.manifest.languages)
                fail(f"{option} {language}: {embedder.manifest.name} knows {known}.", WRONG)
        sources, targets = _lines(source), _lines(target)
        first = embedded(embedder, sources, source_language)
        second = embedded(embedder, targets, target_language)
        found = mine(first.vectors, second.vectors, neighbours)
    except EngineError as error:
        fail(error.message, FAILED)
    except (MiningUnavailable, OSError) as error:
        fail(str(error), FAILED)
    kept = [pair for pair in found if pair.score >= min_score]
    _write(output, kept, [sources[i] for i in first.numbers], [targets[i] for i in second.numbers])
    typer.echo(
        f"{len(kept)} pairs of {len(first.numbers)} and {len(second.numbers)} lines, score {min_score:g} or more; "
        f"left out as empty, repeated or in another language: {len(sources) - len(first.numbers)} and "
        f"{len(targets) - len(second.numbers)}.",
        err=True,
    )


def embedded(embedder: Embedder, lines: Sequence[str], language: str) -> Side:
    """Return the lines that can be paired: neither empty nor repeated nor in another language."""
    first_places = {line: place for place, line in reversed(list(enumerate(lines))) if line}
    places = sorted(first_places.values())
    column = embedder.manifest.languages.index(language)
    numbers, vectors = [], []
    with tqdm(total=len(places), unit=" lines", disable=not sys.stderr.isatty(), desc=language) as bar:
        for start in range(0, len(places), AT_ONCE):
            chunk = places[start : start + AT_ONCE]
            for place, found in zip(chunk, embedder.embed([lines[i] for i in chunk], truncate=True), strict=True):
                if found.languages[column] >= LEAST_OWN_SHARE:
                    numbers.append(place)
                    vectors.append(found.embedding)
            bar.update(len(chunk))
    matrix = np.stack(vectors) if vectors else np.zeros((0, embedder.manifest.width), np.float32)
    return Side(numbers, matrix)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, each on one line and without tabs; raise OSError with the path."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); convert it first.") from error
    return [" ".join(line.split()) for line in text.split("\n")]


def _write(output: Path, pairs: Sequence[MinedPair], sources: Sequence[str], targets: Sequence[str]) -> None:
    with output.open("w", encoding="utf-8") as file:
        for pair in pairs:
            file.write(f"{sources[pair.source]}\t{targets[pair.target]}\t{pair.score:.4f}\n")
