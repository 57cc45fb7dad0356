"""`python -m benchmarks.imports [CHECKPOINT]`: an imported model beside CTranslate2 on the same checkpoint.

Without a checkpoint, one of OPUS-MT's base size is made of random weights: then only speed and memory mean anything.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import sacrebleu

from benchmarks.corpora import ROOT, Corpus, load_corpus
from benchmarks.engine.engines import Setting
from benchmarks.engine.isolated import IsolatedEngine
from benchmarks.engine.measure import Row, Text, compare
from benchmarks.imports.costs import Serving, bundle_megabytes, import_checkpoint, measure_serving
from benchmarks.imports.requests import SERVERS, Rate, measure_requests
from benchmarks.machine import heading
from benchmarks.tables import markdown, put
from service.bundle.load import load_bundle
from service.engine.text.tokenizer import load_tokenizers

SENTENCES = {1: 12, 8: 32, 32: 64}
RANDOM_LENGTH = 24
"""Tokens of a translation by random weights, which never end by themselves."""
SHIPPED = ROOT / "models" / "transformer-en-fr"
HEAD = ("beam", "batch", "ours, sentences/s", "theirs", "ratio", "by processor time", "BLEU", "theirs", "same")


def main() -> None:
    """Import, convert, measure, and print tables."""
    options = _options()
    folder, made_up = options.output.parent / "imports", options.checkpoint is None
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = options.checkpoint
    if checkpoint is None:
        from benchmarks.imports.checkpoint import write_random_base  # loads torch

        checkpoint = folder / "opus-mt-en-fr-random"
        if not (checkpoint / "model.safetensors").is_file():
            write_random_base(checkpoint)
    bundle = folder / f"imported-{checkpoint.name}"
    corpus = load_corpus(options.corpus, "en-fr", max(options.requests, *SENTENCES.values()))
    found: dict[str, Any] = {}
    if "import" in options.parts or not bundle.is_dir():
        text = folder / "calibration.en"
        text.write_text("\n".join(load_corpus("flores101", "en-fr", 200).sources) + "\n", encoding="utf-8")
        found["import"] = import_checkpoint(checkpoint, bundle, text)._asdict()
        found["bundle_megabytes"] = bundle_megabytes(bundle)
    if "server" in options.parts:
        found["without"] = measure_serving([SHIPPED], corpus.sources[:20])._asdict()
        found["with"] = measure_serving([SHIPPED, bundle], corpus.sources[:20])._asdict()
    if "speed" in options.parts:
        found["speed"] = measure_speed(bundle, corpus, options, RANDOM_LENGTH if made_up else 96)
    if "requests" in options.parts:
        longest = RANDOM_LENGTH if made_up else 96
        rates = measure_requests(bundle, corpus.sources[: options.requests], options.beams, options.rounds, longest)
        found["requests"] = [rate._asdict() for rate in rates]
    options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text_of = report(found)
    if options.publish:
        put("imports" if made_up else "imports-trained", f"{heading()}{options.note}\n\n{text_of}")
    print(text_of)  # noqa: T201


def measure_speed(bundle: Path, corpus: Corpus, options: argparse.Namespace, longest: int) -> list[Row]:
    """Return the measurements of both engines, alternating, at every beam and batch size."""
    tokenizers = load_tokenizers(load_bundle(bundle))
    engines = {(kind, "int8"): IsolatedEngine(kind, bundle, "int8") for kind in ("translucent", "converted")}
    rows: list[Row] = []
    try:
        for beam in options.beams:
            for batch in options.batches:
                count = SENTENCES.get(batch, 128)
                references = corpus.references[:count]

                def score(found: Any, references: list[str] = references) -> float:
                    texts = [tokenizers.target.decode(ids) for ids in found]
                    return float(sacrebleu.corpus_bleu(texts, [references]).score)

                sources = [tokenizers.source.encode(text) for text in corpus.sources[:count]]
                text = Text(bundle.name, corpus.name, sources, score)
                rows += compare(engines, text, Setting(beam, batch, 1, longest), options.rounds)
                print(rows[-1], flush=True)  # noqa: T201
    finally:
        for engine in engines.values():
            engine.close()
    return rows


def report(found: dict[str, Any]) -> str:
    """Return the tables."""
    parts = []
    if "import" in found:
        cost = found["import"]
        rows = [
            ("import: seconds, of the processor", f"{cost['seconds']:.0f}, {cost['processor_seconds']:.0f}"),
            ("import: peak memory, MB", f"{cost['megabytes']:.0f}"),
            ("bundle, MB", f"{found['bundle_megabytes']:.0f}"),
        ]
        parts.append(markdown(("what", "measured"), rows))
    if "with" in found:
        names = {
            "ready": "seconds until the model is ready",
            "at_ready": "MB then, with the language detector",
            "after_translations": "MB after 20 translations",
            "after_attention": "MB after a request for attention",
        }
        columns = [Serving(**found[key])._asdict() for key in ("without", "with")]
        lines = [
            (names[key], *(f"{column[key]:.1f}" for column in columns), f"{columns[1][key] - columns[0][key]:.1f}")
            for key in names
        ]
        parts.append(markdown(("server with transformer-en-fr", "without", "with the import", "more"), lines))
    if "speed" in found:
        parts.append(_speed_table(found["speed"]))
    if "requests" in found:
        parts.append(_requests_table([Rate(**rate) for rate in found["requests"]]))
    return "\n\n".join(parts)


def _speed_table(rows: list[Row]) -> str:
    lines = []
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        speeds = [f"{1000 * row['sentences'] / row['milliseconds']:.1f}" for row in (ours, theirs)]
        ratios = [f"{theirs[key]:.2f}" for key in ("ratio", "processor_ratio")]
        bleu = [f"{row['bleu']:.1f}" for row in (ours, theirs)]
        lines.append((ours["beam"], ours["batch"], *speeds, *ratios, *bleu, f"{theirs['agreement']:.2f}"))
    return markdown(HEAD, lines)


def _requests_table(rates: list[Rate]) -> str:
    """Return a table of requests a second, with a column for each server."""
    cells = {
        (rate.server, rate.beam): f"{rate.requests:.1f}" + f" ({rate.failed} failed)" * bool(rate.failed)
        for rate in rates
    }
    beams = sorted({rate.beam for rate in rates})
    lines = [(beam, *(cells[server, beam] for server in SERVERS)) for beam in beams]
    return markdown(("beam", *(f"{server}, requests/s" for server in SERVERS)), lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", nargs="?", type=Path, help="a MarianMT folder from English into French")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "imports.json")
    parser.add_argument("--corpus", default="tatoeba")
    parser.add_argument("--parts", nargs="+", default=["import", "server", "speed", "requests"])
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=192, help="sentences that are sent over HTTP")
    parser.add_argument("--publish", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument("--note", default="", help="added to the line above the tables")
    return parser.parse_args()


if __name__ == "__main__":
    main()
