"""Writes small bundle folders whose graphs are no graphs: enough for all that does not run them."""

import hashlib
import json
from pathlib import Path
from typing import Any

ALIGN = {"layer": 1, "head": 0, "step": "produce", "threshold": None, "aer": None, "measured_on": None}
ONE_HEAD = {"cross": {"layers": 1, "heads": 1}, "encoder": None, "decoder": None, "align": {**ALIGN, "layer": 0}}
FILE_NAMES = ("tokenizer.json", "weights.bin", "encoder.int8.onnx", "decoder.int8.onnx", "forced.int8.onnx")


def manifest_document(**changes: Any) -> dict[str, Any]:
    """Give a valid manifest of a Transformer with two layers and four heads; `changes` replace whole sections."""
    document: dict[str, Any] = {
        "format_version": 4,
        "name": "transformer-en-fr",
        "version": "1",
        "architecture": "transformer",
        "source_languages": ["en"],
        "target_language": "fr",
        "special_ids": {"pad": 0, "bos": 1, "eos": 2},
        "vocabulary_size": 400,
        "limits": {"source_tokens": 256, "target_tokens": 256},
        "graphs": {
            "int8": {
                "device": "cpu",
                "encoder": "encoder.int8.onnx",
                "decoder": "decoder.int8.onnx",
                "forced": "forced.int8.onnx",
                "memory": [{"name": "cross_key_0", "dtype": "float32", "axes": ["B", 4, 64, "S"]}],
                "state": [{"name": "self_key_0", "dtype": "float32", "axes": ["N", 4, "T", 64], "kind": "cache"}],
            }
        },
        "attention": {
            "cross": {"layers": 2, "heads": 4},
            "encoder": {"layers": 6, "heads": 4},
            "decoder": {"layers": 2, "heads": 4},
            "align": ALIGN,
        },
        "decoding": {"beam_size": 4, "length_penalty": 1.0},
        "files": dict.fromkeys(FILE_NAMES, "0" * 64),
        "card": {
            "data": [{"name": "tatoeba", "pairs": 10, "licence": "CC BY 2.0 FR", "credit": "tatoeba.org"}],
            "recipe": "test",
            "seed": 1,
            "git_revision": "none",
            "parameters": 10,
            "scores": [],
        },
    }
    return document | changes


def write_bundle(folder: Path, contents: dict[str, bytes] | None = None, **changes: Any) -> Path:
    """Write a bundle folder with a right checksum for each file and return it."""
    folder.mkdir(parents=True)
    files = {name: (contents or {}).get(name, name.encode()) for name in FILE_NAMES}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    document = manifest_document(**({"files": sums} | changes))
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    return folder
