"""The memory of models: what the processes of a server hold now, and what one more model will need.

Resident memory (RSS) is read from Linux; it is what `ps`, Prometheus and the out-of-memory killer count. ONNX Runtime
copies and packs the weights of each session into memory of its own, so a model's file stays out of the count, and its
arenas keep the largest size that a run has needed until the session ends. So the growth at opening says too little, and
only the processes themselves say what is in use. What one more model will need has to be estimated before it is opened.
"""

import ctypes
import gc
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from service.bundle.load import Bundle
from service.bundle.manifest import FLOAT_WEIGHTS_NAME, TOKENIZER_NAME
from service.engine.model.device import Placement

MEBIBYTE = 2**20
# Measured on bundles of 5 to 290 MB (docs/adr/0021): three sessions, each with packed weights of its own; a library
# tokenizer builds tables of 20 to 30 times its file; buffers of the first runs.
PACKED_WEIGHTS = {"int8": 3, "fp16": 8, "fp32": 3}  # bytes of memory for each byte of graphs and weights
TOKENIZER_TABLES = 30  # bytes of memory for each byte of a tokenizer's file
FIXED = 16 * MEBIBYTE
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
KEPT_FREE = 8 * MEBIBYTE  # for the next step of a decode thread
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(process_ids: Iterable[int]) -> int:
    """Return the resident memory of processes together, in bytes; one that has ended counts nothing."""
    return sum(_resident(process_id) for process_id in process_ids)


def _resident(process_id: int) -> int:
    try:
        return int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        return 0


def expected_bytes(bundle: Bundle, placement: Placement, engines: int = 1) -> int:
    """Return the memory that a bundle will need once it is open, in bytes.

    `engines` are the engine processes, each of which loads the graphs; the tokenizers are loaded once.
    """
    if bundle.members:
        sets = [(member, member.manifest.graphs[placement.precision]) for member in bundle.members]
        return sum(expected_bytes(member, replace(placement, graphs=graphs), engines) for member, graphs in sets)
    graphs, manifest = placement.graphs, bundle.manifest
    names = {graphs.encoder, graphs.decoder, graphs.forced, *filter(None, [graphs.shortlist])}
    weights_files = {name for name in manifest.files if not name.endswith((".onnx", ".json", ".npz", ".md"))}
    float_graphs = placement.precision == "fp32"
    names |= {name for name in weights_files if (name == FLOAT_WEIGHTS_NAME) == float_graphs}
    weights = sum(_size(bundle.path(name)) for name in names)
    tokenizers = sum(_size(bundle.path(name)) for name in {TOKENIZER_NAME, manifest.target_tokenizer or TOKENIZER_NAME})
    packed = PACKED_WEIGHTS.get(placement.precision, max(PACKED_WEIGHTS.values()))
    return engines * (FIXED + packed * weights) + TOKENIZER_TABLES * tokenizers


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def map_large_blocks() -> None:
    """Make the C library map each large block by itself, so that the weights of a closed model leave no gaps.

    By default glibc raises its threshold for this to the largest block that was ever freed, up to 32 MB, and keeps
    twice as much free memory. Beside a threshold of ours it would keep 128 kB, and each step would map its memory anew.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MEBIBYTE)
        mallopt(M_TRIM_THRESHOLD, KEPT_FREE)


def release_memory() -> None:
    """Return freed memory to the system; without this the C library keeps half of a closed model."""
    gc.collect()
    trim_memory()


def trim_memory() -> None:
    """Return freed memory of the C library to the system, without a look for cycles, during which nothing else runs."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
