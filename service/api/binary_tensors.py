"""The binary tensor data extension of the Open Inference Protocol: tensors after the JSON, as bytes.

The header `Inference-Header-Content-Length` says where the JSON ends. The data of the tensors that have the parameter
`binary_data_size` follow, in the order of the tensors. Numbers are little-endian; a BYTES tensor is, for each element,
its length in four bytes and then its UTF-8.
https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from service.api.errors import invalid, not_utf8
from service.api.schemas.common import as_whole
from service.engine import FloatArray

JSON_LENGTH_HEADER = "Inference-Header-Content-Length"
SIZE = "binary_data_size"  # of a tensor, among its parameters
LENGTH = struct.Struct("<I")
Tensor = Sequence[str] | FloatArray


def split_body(body: bytes, json_length: str | None) -> tuple[bytes, bytes]:
    """Split a body into its JSON and the bytes after it; without the header all of it is JSON."""
    if json_length is None:
        return body, b""
    length = as_whole(json_length)
    if length is None or not 0 <= length <= len(body):
        raise invalid(f"{JSON_LENGTH_HEADER} must be a whole number of at most the body's {len(body)} bytes")
    return body[:length], body[length:]


def with_data(tensors: Sequence[Any], data: bytes) -> list[Any]:
    """Return tensors with their strings among their fields, also where they are bytes; raise ApiError."""
    found, at = list(tensors), 0
    for number, tensor in enumerate(tensors):
        known = isinstance(tensor, dict) and tensor.get("name") in ("text", "target_text")
        parameters = tensor.get("parameters") if known else None  # validation refuses the others
        size = parameters.get(SIZE) if isinstance(parameters, dict) else None
        if size is None:
            continue
        name, left = tensor["name"], len(data) - at
        if "data" in tensor:
            raise invalid(f"{name} has both data and {SIZE}; give one of them", param=name)
        wanted = None if isinstance(size, str) else as_whole(size)
        if wanted is None or not 0 <= wanted <= left:
            raise invalid(
                f"the {SIZE} of {name} must be a whole number of at most the {left} bytes that follow the JSON; "
                f"{JSON_LENGTH_HEADER} says where it ends",
                param=name,
            )
        found[number] = {**tensor, "data": decode_strings(name, data[at : at + wanted])}
        at += wanted
    if at < len(data):
        raise invalid(
            f"{len(data) - at} bytes after the JSON belong to no tensor; {JSON_LENGTH_HEADER} is where the JSON ends, "
            f"and every binary tensor has the parameter {SIZE}"
        )
    return found


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


def as_bytes(values: Tensor) -> bytes:
    """Return the bytes of a BYTES tensor, or of an FP32 tensor in row-major order."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, dtype="<f4").tobytes()
    encoded = [text.encode() for text in values]
    return b"".join(LENGTH.pack(len(each)) + each for each in encoded)
