"""`python -m benchmarks.reading`: what the models read of many texts, recorded, and compared with an earlier record.

A change of the reading must not change what it does not mean to change:

    python -m benchmarks.reading record before.json.gz --tests FOLDER
    (change the code)
    python -m benchmarks.reading record after.json.gz --tests FOLDER
    python -m benchmarks.reading compare before.json.gz after.json.gz

A record has, for every sentence of every text: its range, the ids that the model reads, the range of each of its
tokens, its values as the translation has them, what is written if the model wrote what it reads, and what the model
would have written for that text. The last two are the ways back: from ids to a translation, and from a translation to
ids. Texts are those that the models are trained on, test sets of two columns (`*.en-fr.tsv.gz`), lines in a row, words
and titles with capitals, and the strings of files that `--strings` names.
"""

import argparse
import gzip
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT
from service.bundle.load import load_bundle
from service.engine.text.reader import Reader
from service.engine.text.segmentation import segment_text
from service.engine.text.tokenizer import load_tokenizers
from service.engine.values.finder import ValueRules

LANGUAGES = ("en", "fr", "de")
PAIRS = {("en", "fr"): "en-fr", ("en", "de"): "en-de", ("fr", "en"): "fr-en", ("de", "en"): "de-en"}
LINES = 13_000  # of the models' own text
OF_A_TEST_SET = 2_500
IN_A_ROW = 5
SEED = 3
FIELDS = ("range", "ids", "tokens", "values", "written", "read back")
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){2,200})\"")

Record = dict[str, list[list[Any]]]  # by text


def texts_of(language: str, other: str, tests: Path | None, strings: Sequence[Path]) -> list[str]:
    """Return the texts of a language, always the same ones."""
    column = LANGUAGES.index(language)
    rows = [line.split("\t") for path in sorted(ROOT.glob("training/text/*.tsv")) for line in _lines(path)]
    chance = random.Random(SEED)
    chance.shuffle(rows)
    texts = [row[column] for row in rows[:LINES] if len(row) > column]
    for path in sorted(tests.glob(f"*.en-{other if language == 'en' else language}.tsv.gz")) if tests else ():
        texts += [line.split("\t")[int(language != "en")] for line in _lines(path)][:OF_A_TEST_SET]
    texts += ["\n".join(texts[at : at + IN_A_ROW]) for at in range(0, 2_000, IN_A_ROW)]
    texts += [text.upper() for text in texts[2_000:2_500]] + [text.title() for text in texts[2_500:3_000]]
    texts += [text.lower() for text in texts[3_000:3_500]] + [text.rstrip(".!?") for text in texts[3_500:4_000]]
    texts += sorted({word.capitalize() for text in texts[:3_000] for word in text.split() if word.isalpha()})[:2_000]
    texts += [found[1] for path in strings for found in _STRING.finditer(path.read_text("utf-8"))]
    return texts


def _lines(path: Path) -> Iterator[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from data.decode("utf-8").removesuffix("\n").split("\n")


def reading_of(text: str, reader: Reader) -> list[list[Any]]:
    """Return what is recorded of every sentence of a text, in the order of FIELDS."""
    rules, tokenizers = reader.values, reader.tokenizers
    assert rules is not None
    rows: list[list[Any]] = []
    for sentence in segment_text(text, reader):
        for reading in sentence.readings:
            copied = reading.locate(reading.ids, tokenizers.target)
            back = reading.read_target(copied.text, tokenizers.target, (rules.source, rules.target))
            values = [[value.kind, value.start, value.end, value.text, value.written] for value in reading.values]
            tokens = [[token.start, token.end] for token in reading.source_tokens(tokenizers.source)]
            span = [reading.start, reading.start + len(reading.text)]
            rows.append([span, list(reading.ids), tokens, values, copied.text, [token.id for token in back.tokens]])
    return rows


def record(models: Path, tests: Path | None, strings: Sequence[Path]) -> dict[str, Record]:
    """Return the readings of all texts by direction."""
    records: dict[str, Record] = {}
    for source, target in PAIRS:
        folder = _model(models, source, target)
        manifest, tokenizers = load_bundle(folder).manifest, load_tokenizers(load_bundle(folder))
        limit = manifest.limits.source_tokens
        wrap = min(manifest.decoding.wrap_tokens or limit, limit)
        reader = Reader(tokenizers, source, wrap, limit, values=ValueRules(source, target))
        texts = texts_of(source, target, tests, strings)
        began = time.process_time()
        records[PAIRS[source, target]] = {text: reading_of(text, reader) for text in texts}
        seconds = time.process_time() - began
        print(f"{source} → {target}: {len(texts)} texts with {folder.name}, {seconds:.1f} s of the processor")  # noqa: T201
    return records


def _model(models: Path, source: str, target: str) -> Path:
    named = [models / f"transformer-{source}-{target}", *sorted(models.glob("transformer-*"))]
    return next(
        folder
        for folder in named
        if folder.is_dir()
        and source in (manifest := load_bundle(folder).manifest).source_languages
        and target in [manifest.target_language, *(each.language for each in manifest.targets)]
    )


def compare(before: dict[str, Record], after: dict[str, Record], shown: int) -> None:
    """Print how many texts are read otherwise, by direction and by the first field that differs, with some of each."""
    for pair, old in before.items():
        kinds: Counter[str] = Counter()
        for text, rows in old.items():
            new = after.get(pair, {}).get(text)
            if new is None or new == rows:
                kinds["not recorded again" if new is None else "the same"] += 1
                continue
            kind, change = _difference(rows, new)
            kinds[kind] += 1
            if kinds[kind] <= shown:
                print(f"{pair} {kind}: {text!r}\n    {change[0]}\n    {change[1]}")  # noqa: T201
        print(f"{pair}: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))  # noqa: T201


def _difference(old: list[list[Any]], new: list[list[Any]]) -> tuple[str, tuple[Any, Any]]:
    if len(old) != len(new):
        return "sentences", ([row[0] for row in old], [row[0] for row in new])
    for number, field in enumerate(FIELDS):
        for one, other in zip(old, new, strict=True):
            if one[number] != other[number]:
                extra = ("", "") if field == "written" else (f" {one[4]!r}", f" {other[4]!r}")
                return field, (f"{one[number]}{extra[0]}", f"{other[number]}{extra[1]}")
    raise AssertionError("the rows are equal")


def main() -> None:
    """Record readings, or compare two records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("output", type=Path)
    recorder.add_argument("--models", type=Path, default=ROOT / "models")
    recorder.add_argument("--tests", type=Path, help="a folder of test sets")
    recorder.add_argument("--strings", type=Path, nargs="*", default=[], help="files whose strings in quotes are read")
    comparer = commands.add_parser("compare")
    comparer.add_argument("before", type=Path)
    comparer.add_argument("after", type=Path)
    comparer.add_argument("--show", type=int, default=8, help="differences of each kind that are printed")
    given = parser.parse_args()
    if given.command == "record":
        with gzip.open(given.output, "wt", encoding="utf-8") as file:
            json.dump(record(given.models, given.tests, given.strings), file, ensure_ascii=False)
        return
    records = []
    for path in (given.before, given.after):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            records.append(json.load(file))
    compare(records[0], records[1], given.show)


if __name__ == "__main__":
    main()
