"""The command ``align-corpus``: finds the sentence pairs in two files of one language each."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import onnxruntime
import typer
from tqdm import tqdm

from service.bundle.embedding import EMBEDDING_GRAPH, EMBEDDING_TOKENIZER, EmbeddingBundle, load_embedding_bundle
from service.bundle.vocabulary import read_tokenizer
from training.data.batching import pad
from training.sentence.data import encode_texts
from training.sentence.mining import NEIGHBOURS, Floats, mine

AT_ONCE = 64  # lines of one run
LEAST_OWN_SHARE = 0.05
"""A line whose own language is less probable than this is in another one: untranslated text."""


def align_corpus(
    source: Annotated[Path, typer.Argument(help="Sentences of one language, one a line, UTF-8.")],
    target: Annotated[Path, typer.Argument(help="Sentences of the other language, in any order.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="TSV: source, target, score; the best pair first.")],
    source_language: Annotated[str, typer.Option("--from", help="Language of the first file.")],
    target_language: Annotated[str, typer.Option("--to", help="Language of the second file.")],
    model: Annotated[Path, typer.Option(help="Bundle of a sentence-embedding model.")] = Path("models/sentence"),
    min_score: Annotated[
        float, typer.Option(min=0, help="Least margin of a pair: its cosine over that of its neighbours.")
    ] = 1.2,
    neighbours: Annotated[
        int, typer.Option(min=1, max=64, help="Neighbours that a pair is compared with.")
    ] = NEIGHBOURS,
    intra_threads: Annotated[int, typer.Option(min=1, help="Threads of the embedding model.")] = 1,
) -> None:
    """Find translations of each other in two files, for a translation memory or for training."""
    bundle = load_embedding_bundle(model)
    for option, language in (("--from", source_language), ("--to", target_language)):
        if language not in bundle.manifest.languages:
            raise ValueError(
                f"{option} {language}: {bundle.manifest.name} knows {', '.join(bundle.manifest.languages)}."
            )
    lines = _lines(source), _lines(target)
    first = embedded(bundle, lines[0], source_language, intra_threads)
    second = embedded(bundle, lines[1], target_language, intra_threads)
    kept = [pair for pair in mine(_matrix(first), _matrix(second), neighbours) if pair.score >= min_score]
    sources, targets = list(first), list(second)
    with output.open("w", encoding="utf-8") as file:
        for pair in kept:
            file.write(f"{sources[pair.source]}\t{targets[pair.target]}\t{pair.score:.4f}\n")
    typer.echo(
        f"{len(kept)} pairs of {len(first)} and {len(second)} lines, score {min_score:g} or more; left out as empty, "
        f"repeated or in another language: {len(lines[0]) - len(first)} and {len(lines[1]) - len(second)}.",
        err=True,
    )


def embedded(bundle: EmbeddingBundle, lines: Sequence[str], language: str, threads: int) -> dict[str, Floats]:
    """Return the vectors of the lines that can be paired: neither empty nor repeated nor in another language."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(bundle.folder / EMBEDDING_GRAPH), options, ["CPUExecutionProvider"])
    distinct = list(dict.fromkeys(filter(None, lines)))
    rows = encode_texts(read_tokenizer(bundle.folder / EMBEDDING_TOKENIZER), distinct, bundle.manifest.max_tokens)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))  # lines of similar length need little padding
    column = bundle.manifest.languages.index(language)
    vectors: dict[int, Floats] = {}
    with tqdm(total=len(rows), unit=" lines", disable=not sys.stderr.isatty(), desc=language) as bar:
        for start in range(0, len(order), AT_ONCE):
            chunk = order[start : start + AT_ONCE]
            ids, lengths = pad([rows[place] for place in chunk])
            found, _, languages, _ = session.run(None, {"ids": ids.numpy(), "lengths": lengths.numpy()})
            own = np.exp(languages[:, column]) >= LEAST_OWN_SHARE
            vectors |= {place: vector for place, vector, kept in zip(chunk, found, own, strict=True) if kept}
            bar.update(len(chunk))
    return {distinct[place]: vectors[place] for place in sorted(vectors)}


def _matrix(vectors: dict[str, Floats]) -> Floats:
    return np.stack(list(vectors.values())) if vectors else np.zeros((0, 1), np.float32)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, each on one line and without tabs; raise OSError with the path."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); convert it first.") from error
    return [" ".join(line.split()) for line in text.split("\n")]
