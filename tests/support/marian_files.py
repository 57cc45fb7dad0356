"""The files of a Firefox (Bergamot) translation model, written from arrays.

Each fact names where the public sources state it: marian is marian-nmt/marian-dev, browsermt is
browsermt/marian-dev, models is mozilla/firefox-translations-models. The code is our own.
"""

import gzip
import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from tests.support.marian_students import Options, Student, is_product, quantised

Lists = Sequence[Sequence[int]]

# marian src/common/types.h: a class (0x100 signed, 0x400 float, 0x4000 intgemm) plus the bytes of an element
INT8, FLOAT32, INTGEMM8 = 0x101, 0x404, 0x4101
VERSION = 1  # marian src/common/binary.h
ALIGNMENT = 256  # browsermt src/common/binary.cpp
SHORTLIST_MAGIC = 0xF11A48D5013417F5  # marian src/data/shortlist.h
FIRST, BEST = 50, 50  # what "lex.50.50" says


@dataclass(frozen=True)
class Item:
    """One entry of a model file: what its header says and its bytes."""

    name: str
    type: int
    shape: tuple[int, ...]
    data: bytes


def float_item(name: str, array: NDArray[np.float32]) -> Item:
    """Return an array as float32; rows are inputs and columns outputs."""
    return Item(name, FLOAT32, array.shape, _padded(np.ascontiguousarray(array, "<f4").tobytes()))


def intgemm8_item(name: str, array: NDArray[np.float32]) -> Item:
    """Return an array as int8 with its multiplier behind: transposed, but for embeddings.

    browsermt src/tensors/cpu/expression_graph_packable.h: the shape stays that of the untransposed array.
    """
    integers, multiplier = quantised(array)
    if "Wemb" not in name:
        integers = integers.T
    return Item(name, INTGEMM8, array.shape, _padded(integers.tobytes() + struct.pack("<f", multiplier)))


def options_item(options: Options) -> Item:
    """Return the options as the text that ends with a zero (browsermt src/common/io.cpp, addMetaToItems)."""
    text = yaml.safe_dump(dict(options), default_flow_style=None).encode() + b"\0"
    return Item("special:model.yml", INT8, (len(text),), text)


def model_items(student: Student) -> list[Item]:
    """Return the items of a student: float32, or int8 when it has multipliers of the activations.

    Multipliers are float32 items "<weight>_QuantMultA" of shape (1, 1). Those of embeddings are int8, as their name
    has "Wemb" in it; the one of a shared vocabulary is there again as "none_QuantMultA", which the engine looks for
    when it has a shortlist (browsermt scripts/alphas/extract_stats.py).
    """
    alphas, arrays = student.alphas or {}, dict(student.weights)
    for name, alpha in alphas.items():
        names = [f"{name}_QuantMultA", *(["none_QuantMultA"] if name == "Wemb" else [])]
        arrays |= dict.fromkeys(names, np.full((1, 1), alpha, np.float32))
    items = [
        intgemm8_item(name, array) if alphas and is_product(name) else float_item(name, array)
        for name, array in sorted(arrays.items())
    ]
    return [*items, options_item(student.options)]


def model_bytes(items: Sequence[Item]) -> bytes:
    """Return a model file: version, headers, names, shapes, zeros up to the next boundary, data."""
    names = [item.name.encode() + b"\0" for item in items]
    headers = [
        struct.pack("<4Q", len(name), item.type, len(item.shape), len(item.data))
        for name, item in zip(names, items, strict=True)
    ]
    shapes = [struct.pack(f"<{len(item.shape)}i", *item.shape) for item in items]
    head = struct.pack("<2Q", VERSION, len(items)) + b"".join([*headers, *names, *shapes])
    gap = ALIGNMENT - (len(head) + 8) % ALIGNMENT
    return head + struct.pack("<Q", gap) + bytes(gap) + b"".join(item.data for item in items)


def shortlist_bytes(lists: Lists, *, first: int = FIRST, best: int = BEST) -> bytes:
    """Return a binary shortlist: for every source id the target ids it may become (marian src/data/shortlist.cpp)."""
    offsets = np.cumsum([0, *(len(targets) for targets in lists)]).astype("<u8")
    targets = np.array([target for one in lists for target in sorted(one)], "<u4")
    body = struct.pack("<4Q", first, best, len(offsets), len(targets)) + offsets.tobytes() + targets.tobytes()
    return struct.pack("<2Q", SHORTLIST_MAGIC, checksum(body)) + body


def checksum(body: bytes) -> int:
    """Return Marian's hash of whole 64-bit words; half a word at the end is left out (marian src/common/hash.h)."""
    seed, mask = 0, 2**64 - 1
    for (word,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & mask
    return seed


def candidates(
    source: Sequence[int], lists: Lists, *, vocabulary: int, first: int = FIRST, shared: bool = True
) -> list[int]:
    """Return the target ids a sentence may use, in order (marian src/data/shortlist.cpp, BinaryShortlistGenerator).

    They are the first ids, the lists of the source ids and, with one vocabulary for both languages, the source ids
    themselves; then the next unused ids until their number is a multiple of eight, which the engine's kernels need.
    """
    chosen = {*range(min(first, vocabulary)), *(target for piece in source for target in lists[piece])}
    if shared:
        chosen |= set(source)
    spare = (target for target in range(first, vocabulary) if target not in chosen)
    while len(chosen) % 8 and (target := next(spare, None)) is not None:
        chosen.add(target)
    return sorted(chosen)


def write_folder(
    folder: Path,
    student: Student,
    vocabularies: Sequence[bytes],
    lists: Lists,
    *,
    languages: tuple[str, str] = ("en", "de"),
    compress: bool = False,
) -> Path:
    """Write the folder of a model as the models repository has it: one vocabulary for both languages, or two."""
    pair, model = "".join(languages), model_bytes(model_items(student))
    shared = len(vocabularies) == 1
    files = {
        f"model.{pair}{'.intgemm.alphas' if student.alphas else ''}.bin": model,
        f"lex.{FIRST}.{BEST}.{pair}.s2t.bin": shortlist_bytes(lists),
        **{
            f"{kind}.{pair}.spm": vocabulary
            for kind, vocabulary in zip(["vocab"] if shared else ["srcvocab", "trgvocab"], vocabularies, strict=True)
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}{'.gz' if compress else ''}").write_bytes(gzip.compress(content) if compress else content)
    (folder / "metadata.json").write_text(json.dumps(_metadata(model, student.options, languages), indent=2))
    return folder


def _metadata(model: bytes, options: Options, languages: tuple[str, str]) -> dict[str, object]:
    """Return what models/*/metadata.json says of a model."""
    return {
        "architecture": "tiny",
        "byteSize": len(model),
        "flores": {"bleu": 12.3, "comet": 0.4567},
        "hash": hashlib.sha256(model).hexdigest(),
        "modelConfig": dict(options),
        "sourceLanguage": languages[0],
        "targetLanguage": languages[1],
        "version": "1.0",
    }


def _padded(data: bytes) -> bytes:
    """Fill up data to the boundary, as parameters come from the engine's aligned memory."""
    return data + bytes(-len(data) % ALIGNMENT)
