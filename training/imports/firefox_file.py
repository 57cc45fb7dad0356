"""Reads the files of a Firefox Translations model: Marian's binary (``binary.cpp``), its shortlist, gzip and zstd.

A size in a file is compared with the file before anything of that size is made, and nothing in a file is executed.
"""

import gzip
import math
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import yaml

from training.imports.files import HEAD, ImportRefused, refuse_placeholder
from training.imports.tensors import Array

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION = 1
OPTIONS = "special:model.yml"
MOST_BYTES = 2**30
MOST_EXPANSION, SPARE_EXPANSION = 16, 2**20
"""Weights hardly shrink in gzip, and shortlists and vocabularies to a third: what grows more is no model."""
_MOST_AXES, _MOST_ITEMS, _MOST_OPTIONS, _ALIGNMENT = 4, 2**14, 2**16, 256
_FLOAT, _BYTES, _INTGEMM8 = 0x0404, 0x0101, 0x4101
_KNOWN_TYPES = {
    0x0402: "float16", 0x0408: "float64", 0x0102: "int16", 0x0104: "int32", 0x4102: "intgemm16",
    0x5101: "intgemm8 packed for AVX2", 0x6101: "intgemm8 packed for AVX-512",
}  # fmt: skip
_ACTIVATIONS = "_QuantMultA"
_MAGIC = 0xF11A48D5013417F5


@dataclass(frozen=True, slots=True)
class MarianFile:
    """The content of a model file."""

    options: Mapping[str, Any]
    """Of the network, from ``special:model.yml``."""
    tensors: dict[str, Array]
    """As float32, matrices as [inputs, outputs]; without the multipliers of activations."""
    weights: dict[str, float]
    """The multiplier of every tensor of eight bits: the file's integer is the number times that."""
    activations: dict[str, float]
    """The multiplier of what a tensor is multiplied by; the tensor ``none`` is the candidates' embeddings."""


@dataclass(frozen=True, slots=True)
class FileShortlist:
    """The content of a shortlist file, in the ids of the vocabularies' files."""

    first: int
    """So many pieces are candidates of every sentence: the first ones of the target's vocabulary."""
    offsets: npt.NDArray[np.int64]
    """[V + 1]: where the list of each source piece begins."""
    targets: npt.NDArray[np.int64]
    """The lists, one after the other."""


def read_content(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is packed by gzip or zstd; raises ImportRefused."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD)
        refuse_placeholder(path, head)
        opened = next((opened for magic, opened in _PACKED.items() if head.startswith(magic)), None)
        if opened is None:
            return path.read_bytes() if size <= MOST_BYTES else _refuse(path, f"it has {size} bytes; {MOST_BYTES} fit")
        limit = min(MOST_BYTES, size * MOST_EXPANSION + SPARE_EXPANSION)
        with opened(path) as file:
            content: bytes = file.read(limit + 1)
    except (EOFError, OSError, zlib.error, zstd.ZstdError) as error:
        raise ImportRefused(f"{path}: it cannot be read, or it is cut off ({error})") from error
    return content if len(content) <= limit else _refuse(path, f"it unpacks to more than {limit} bytes; no model does")


_PACKED: Mapping[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"\x28\xb5\x2f\xfd": zstd.open}
"""By the first bytes, whatever a server or a user calls the file."""


def read_model(path: Path) -> MarianFile:
    """Read a model file; raises ImportRefused for what is none, or holds what cannot be imported."""
    content = _Content(read_content(path), path)
    version, count = content.take("<u8", 2, "header").tolist()
    if version != VERSION:
        content.refuse(f"it has version {version} of Marian's binary format; {VERSION} can be imported")
    if not 0 < count <= _MOST_ITEMS:
        content.refuse(f"it says that it has {count} items; 1 to {_MOST_ITEMS} can be imported")
    headers = content.take("<u8", 4 * count, "item table").reshape(count, 4).tolist()
    names = [content.name(length) for length, *_ in headers]
    if len(set(names)) != count:
        content.refuse("it has two items of one name")
    shapes = [content.shape(name, axes) for name, (_, _, axes, _) in zip(names, headers, strict=True)]
    content.skip_padding()
    options: dict[str, Any] = {}
    tensors: dict[str, Array] = {}
    weights: dict[str, float] = {}
    activations: dict[str, float] = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        data = content.take("u1", size, f"item {name}")
        if name == OPTIONS:
            options = _options(data.tobytes(), path)
            continue
        values, multiplier = _tensor(data, (name, shape), kind, path)
        if name.endswith(_ACTIVATIONS):
            activations[name.removesuffix(_ACTIVATIONS)] = _multiplier(name, values, path)
            continue
        tensors[name] = values
        if multiplier is not None:
            weights[name] = multiplier
    content.refuse_rest()
    if not options:
        content.refuse(f"it has no {OPTIONS}, so it does not say what network it is")
    return MarianFile(options, tensors, weights, activations)


def read_shortlist(path: Path, sources: int, targets: int) -> FileShortlist:
    """Read a binary shortlist for vocabularies of so many pieces; raises ImportRefused."""
    content = _Content(read_content(path), path)
    magic, _, first, _, offset_count, target_count = content.take("<u8", 6, "header").tolist()
    if magic != _MAGIC:
        content.refuse("it is no binary shortlist; the lex.….bin of the model's folder is needed")
    offsets = content.take("<u8", offset_count, "table of offsets")
    listed = content.take("<u4", target_count, "lists").astype(np.int64)
    content.refuse_rest()
    if not 1 <= len(offsets) - 1 <= sources:
        content.refuse(f"it has lists for {len(offsets) - 1} pieces, but the source's vocabulary has {sources}")
    if offsets[0] != 0 or offsets[-1] != target_count or (offsets[1:] < offsets[:-1]).any():
        content.refuse("its lists overlap or lie outside the file, so it is damaged")
    if listed.max(initial=0) >= targets or first > targets:
        content.refuse(f"it names pieces that the target's vocabulary of {targets} does not have")
    return FileShortlist(first, offsets.astype(np.int64), listed)


class _Content:
    """The bytes of a file, read from its beginning to its end."""

    def __init__(self, content: bytes, path: Path) -> None:
        self._content, self._path, self._at = content, path, 0

    def refuse(self, what: str) -> NoReturn:
        """Raise ImportRefused."""
        _refuse(self._path, what)

    def take(self, dtype: str, count: int, what: str) -> npt.NDArray[Any]:
        """Return the next ``count`` numbers, without a copy; they must be there."""
        size = np.dtype(dtype).itemsize * count
        if size > len(self._content) - self._at:
            self.refuse(f"it is no model file, or it is cut off: its {what} would need {size} more bytes")
        result = np.frombuffer(self._content, dtype, count, self._at)
        self._at += size
        return result

    def name(self, length: int) -> str:
        """Return the next name, which a zero byte closes."""
        text = self.take("u1", length, "names").tobytes()
        try:
            name = text.removesuffix(b"\0").decode("ascii")
        except UnicodeDecodeError:
            name = ""
        if not name.isprintable() or not name or len(name) + 1 != length:
            self.refuse("an item has no readable name, so it is damaged")
        return name

    def shape(self, name: str, axes: int) -> tuple[int, ...]:
        """Return the next shape."""
        if axes > _MOST_AXES:
            self.refuse(f"{name} has {axes} axes; at most {_MOST_AXES} can be imported")
        shape = tuple(self.take("<i4", axes, "shapes").tolist())
        if any(size < 1 for size in shape):
            self.refuse(f"{name} has the shape {shape}; sizes from 1 can be imported")
        return shape

    def skip_padding(self) -> None:
        """Go to the first item's data."""
        (padding,) = self.take("<u8", 1, "padding").tolist()
        self.take("u1", padding, "padding")
        if self._at % _ALIGNMENT:
            self.refuse(f"its data begins at byte {self._at}, which is no multiple of {_ALIGNMENT}, so it is damaged")

    def refuse_rest(self) -> None:
        """Refuse a file that has more in it than it says."""
        if self._at != len(self._content):
            self.refuse(f"it has {len(self._content) - self._at} bytes more than it says, so it is damaged")


def _refuse(path: Path, what: str) -> NoReturn:
    raise ImportRefused(f"{path}: {what}")


def _options(data: bytes, path: Path) -> dict[str, Any]:
    """Return the network's options, which are plain values in YAML."""
    try:
        if len(data) > _MOST_OPTIONS or b"&" in data:  # an alias could stand for any amount of values
            _refuse(path, f"its {OPTIONS} has {len(data)} bytes or aliases; {_MOST_OPTIONS} bytes of plain values fit")
        content = yaml.safe_load(data.rstrip(b"\0").decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, ImportRefused):
            raise
        raise ImportRefused(f"{path}: its {OPTIONS} is no YAML") from error
    return content if isinstance(content, dict) else _refuse(path, f"its {OPTIONS} names no options")


def _multiplier(name: str, values: Array, path: Path) -> float:
    """Return the one number of an item; it must be a multiplier."""
    multiplier = float(values.reshape(-1)[0])
    if values.size != 1 or not multiplier > 0:
        _refuse(path, f"{name} has {values.size} numbers, the first {multiplier:g}; one number above 0 is needed")
    return multiplier


def _tensor(
    data: npt.NDArray[np.uint8], named: tuple[str, tuple[int, ...]], kind: int, path: Path
) -> tuple[Array, float | None]:
    """Return an item's numbers: floats as they are, eight-bit integers divided by the multiplier behind them.

    The multiplier is returned, too.
    """
    name, shape = named
    count = math.prod(shape)
    needed = {_FLOAT: 4 * count, _INTGEMM8: count + 4}.get(kind)
    if needed is None:
        type_name = _KNOWN_TYPES.get(kind, f"of the unknown type 0x{kind:x}")
        _refuse(path, f"{name} is {type_name}; float32 and intgemm8 can be imported")
    if not needed <= len(data) < needed + _ALIGNMENT:
        _refuse(path, f"{name} has {len(data)} bytes, but its shape {shape} needs {needed}")
    multiplier = None
    if kind == _FLOAT:
        values: Array = data[:needed].view("<f4").reshape(shape).astype(np.float32)
    else:
        multiplier = float(data[count:needed].view("<f4")[0])
        if not (np.isfinite(multiplier) and multiplier > 0):
            _refuse(path, f"{name} has the multiplier {multiplier:g}; a number above 0 is needed")
        values = data[:count].view(np.int8).astype(np.float32) / np.float32(multiplier)
        # Tables stand as they are, other matrices as [outputs, inputs] under the shape [inputs, outputs].
        values = values.reshape(shape) if "Wemb" in name else values.reshape(shape[::-1]).T
    if not np.isfinite(values).all():
        _refuse(path, f"{name} holds numbers that are not finite")
    return values, multiplier
