"""CTranslate2 models of our bundles, converted in a separate process, so that torch is not loaded here."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import ctranslate2
import tokenizers

from benchmarks.corpora import ROOT


def build(bundle: Path, folder: Path) -> list[str]:
    """Write the CTranslate2 model of a Transformer bundle; return its vocabulary by id."""
    command = [sys.executable, "-m", "benchmarks.engine.conversion", str(bundle.resolve()), str(folder.resolve())]
    subprocess.run(command, cwd=ROOT, check=True)
    return vocabulary(bundle)


def open_translator(folder: Path, precision: str, device: str, workers: int) -> Any:
    """Return a translator with ``workers`` workers of one thread each; 0: with the library's defaults."""
    threads = {"inter_threads": workers, "intra_threads": 1} if workers else {}
    return ctranslate2.Translator(str(folder), device, compute_type=precision, max_queued_batches=-1, **threads)


def vocabulary(bundle: Path) -> list[str]:
    """Return the subwords of a bundle by id."""
    library = tokenizers.Tokenizer.from_file(str(bundle / "tokenizer.json"))
    ids = library.get_vocab(with_added_tokens=True)
    return sorted(ids, key=lambda piece: ids[piece])
