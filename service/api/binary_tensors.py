"""The binary tensor data extension of the Open Inference Protocol: tensors after the JSON, as bytes.

The header `Inference-Header-Content-Length` says where the JSON ends. The data of the tensors that have the parameter
`binary_data_size` follow, in the order of the tensors. Numbers are little-endian; a BYTES tensor is, for each element,
its length in four bytes and then its UTF-8.
https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from service.api.errors import invalid, not_utf8
from service.api.schemas.common import as_whole

JSON_LENGTH_HEADER = "Inference-Header-Content-Length"
MEDIA_TYPE = "application/octet-stream"
SIZE = "binary_data_size"  # of a tensor, among its parameters
LENGTH = struct.Struct("<I")


class BinaryData:
    """The bytes after the JSON of a request, taken tensor by tensor."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, name: str, size: Any) -> bytes:
        """Return the next bytes, which belong to the tensor `name`; raise ApiError if there are not enough."""
        wanted = as_whole(size)
        if wanted is None or isinstance(size, str) or not 0 <= wanted <= len(self._data) - self._at:
            raise invalid(
                f"the {SIZE} of {name} must be a whole number of at most the {len(self._data) - self._at} bytes that "
                f"follow the JSON; {JSON_LENGTH_HEADER} says where it ends",
                param=name,
            )
        self._at += wanted
        return self._data[self._at - wanted : self._at]

    def check_end(self) -> None:
        """Raise ApiError if there are bytes left that belong to no tensor."""
        if self._at < len(self._data):
            raise invalid(
                f"{len(self._data) - self._at} bytes after the JSON belong to no tensor; {JSON_LENGTH_HEADER} is "
                f"where the JSON ends, and every binary tensor has the parameter {SIZE}"
            )


def split_body(body: bytes, json_length: str | None) -> tuple[bytes, BinaryData]:
    """Split a body into its JSON and the bytes after it; without the header all of it is JSON."""
    if json_length is None:
        return body, BinaryData(b"")
    length = as_whole(json_length)
    if length is None or not 0 <= length <= len(body):
        raise invalid(f"{JSON_LENGTH_HEADER} must be a whole number of at most the body's {len(body)} bytes")
    return body[:length], BinaryData(body[length:])


def decode_strings(name: str, data: bytes) -> list[str]:
    """Return the elements of a BYTES tensor; raise ApiError if the lengths do not add up or it is not UTF-8."""
    found: list[str] = []
    at = 0
    while at < len(data):
        end = at + LENGTH.size
        if end <= len(data):
            [size] = LENGTH.unpack_from(data, at)
            at, end = end, end + size
        if end > len(data):
            what = "for each element, its length in four bytes and then its UTF-8"
            raise invalid(f"the binary data of {name} must be {what}", param=name)
        try:
            found.append(data[at:end].decode("utf-8"))
        except UnicodeDecodeError as error:
            raise not_utf8(f"binary data of {name}", error) from None
        at = end
    return found


def encode_strings(texts: Sequence[str]) -> bytes:
    """Return the bytes of a BYTES tensor."""
    encoded = [text.encode() for text in texts]
    return b"".join(LENGTH.pack(len(each)) + each for each in encoded)


def encode_numbers(values: Any) -> bytes:
    """Return the bytes of an FP32 tensor, in row-major order."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()
