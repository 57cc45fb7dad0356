"""Reads and writes messages of Protocol Buffers: lists of fields, each with a number and a value.

A value is an integer, bytes, or a message of its own. https://protobuf.dev/programming-guides/encoding
"""

from collections.abc import Iterable, Iterator

Field = tuple[int, "int | bytes"]
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # kinds of fields


class Fixed(bytes):
    """The four or eight bytes of a number of fixed size."""


def read_message(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message in their order: integers for varints, bytes for anything else."""
    at, end = 0, len(message)
    while at < end:
        key, at = _read_varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _BYTES:
            size, at = _read_varint(message, at)
        if size is None or at + size > end:
            raise ValueError(f"a field of kind {kind} does not fit")
        value_bytes = message[at : at + size]
        yield key >> 3, value_bytes if kind == _BYTES else Fixed(value_bytes)
        at += size


def write_message(fields: Iterable[Field]) -> bytes:
    """Return the message of such fields."""
    return b"".join(_written(number, value) for number, value in fields)


def _written(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, Fixed):
        return _varint(number << 3 | (_FIXED32 if len(value) == 4 else _FIXED64)) + value
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("an integer does not end")


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)
