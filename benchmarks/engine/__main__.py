"""`python -m benchmarks.engine`: measures the engines, writes runs/bench/engine.json and the tables of the docs."""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import sacrebleu

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.engine.engines import Ids, Setting
from benchmarks.engine.isolated import IsolatedEngine
from benchmarks.engine.measure import Row, Text, compare
from benchmarks.machine import heading
from benchmarks.tables import markdown, put
from service.bundle.load import load_bundle
from service.engine.text.tokenizer import load_tokenizers

SENTENCES = {1: 48, 8: 96, 32: 192, 64: 256}
"""Number of sentences of a corpus by batch size."""
HEAD = (
    *(
        "model",
        "corpus",
        "beam",
        "batch",
        "workers",
        "against",
        "ours, tokens/s",
        "theirs",
        "ratio",
        "by processor time",
    ),
    *("BLEU", "theirs", "same", "MB", "theirs"),
)


def main() -> None:
    """Measure what the command line asks for."""
    options = _options()
    rows: list[Row] = []
    for bundle in options.bundles:
        rows += measure_bundle(bundle, options)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.publish:
        put("engine", f"{heading()}{options.note}\n\n{table(rows)}")
    print(table(rows))  # noqa: T201


def measure_bundle(bundle: Path, options: argparse.Namespace) -> list[Row]:
    """Return the measurements of one bundle over all corpora and settings."""
    manifest = load_bundle(bundle).manifest
    recurrent = manifest.architecture != "transformer"
    references = (
        [("torch", "eager"), ("torch", "compiled")] if recurrent else [("ctranslate2", p) for p in options.precisions]
    )
    if recurrent and options.quick:
        references = references[:1]
    engines = {
        (kind, name): IsolatedEngine(kind, bundle, name) for kind, name in [("translucent", "int8"), *references]
    }
    rows: list[Row] = []
    try:
        for corpus in options.corpora:
            for setting in settings(options, recurrent):
                count = max(16, int(SENTENCES.get(setting.batch, 256) * options.share))
                rows += compare(engines, _text(bundle, corpus, count), setting, options.rounds)
                _print_rows(rows[-len(engines) :])
    finally:
        for engine in engines.values():
            engine.close()
    return rows


def settings(options: argparse.Namespace, recurrent: bool) -> Iterable[Setting]:
    """Yield each beam and batch size with each number of workers; a single sentence needs one worker."""
    for workers in (1,) if recurrent else options.workers:
        for beam in options.beams:
            for batch in (1, 32) if recurrent else options.batches:
                if workers == 1 or batch > 1:
                    yield Setting(beam, batch, workers)


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with a line for each comparison."""
    lines, ours = [], None
    for row in rows:
        if row["ratio"] is None:
            ours = row
            continue
        assert ours is not None
        where = [row[key] for key in ("model", "corpus", "beam", "batch", "workers")]
        speed = [
            f"{ours['tokens_per_second']:.0f}",
            f"{row['tokens_per_second']:.0f}",
            f"{row['ratio']:.2f}",
            f"{row['processor_ratio']:.2f}",
        ]
        text = [f"{ours['bleu']:.1f}", f"{row['bleu']:.1f}", f"{row['agreement']:.2f}"]
        memory = [f"{ours['megabytes']:.0f}", f"{row['megabytes']:.0f}"]
        lines.append([*where, f"{row['engine']} {row['precision']}", *speed, *text, *memory])
    return markdown(HEAD, lines)


def _text(bundle: Path, name: str, count: int) -> Text:
    loaded = load_bundle(bundle)
    manifest, tokenizer = loaded.manifest, load_tokenizers(loaded).source
    corpus = load_corpus(name, f"{manifest.source_language}-{manifest.target_language}", count)

    def score(found: Sequence[Ids]) -> float:
        texts = [tokenizer.locate(ids).text for ids in found]
        return float(sacrebleu.corpus_bleu(texts, [corpus.references]).score)

    return Text(manifest.name, corpus.name, [tokenizer.encode(source) for source in corpus.sources], score)


def _print_rows(rows: Sequence[Row]) -> None:
    for row in rows:
        print(  # noqa: T201
            f"{row['model']} {row['corpus']} beam {row['beam']} batch {row['batch']} x{row['workers']} "
            f"{row['engine']} {row['precision']}: {row['tokens_per_second']:.0f} tokens/s, ratio {row['ratio']} "
            f"(processor {row['processor_ratio']}), BLEU {row['bleu']}, same {row['agreement']}, "
            f"{row['megabytes']:.0f} MB",
            flush=True,
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "engine.json")
    parser.add_argument("--corpora", nargs="+", default=["tatoeba", "newstest2014"])
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 32, 64])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--precisions", nargs="+", default=["int8", "float32"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of sentences")
    parser.add_argument("--quick", action="store_true", help="leave torch.compile out")
    parser.add_argument("--publish", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument("--note", default="", help="added to the line above the table")
    options = parser.parse_args()
    if not options.bundles:
        options.bundles = sorted(path.parent for path in (ROOT / "models").glob("*-en-fr/manifest.json"))
    return options


if __name__ == "__main__":
    main()
