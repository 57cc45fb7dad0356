"""Batches of pickled messages as bytes: each begins with its length."""

import pickle
import struct
from collections.abc import Iterator
from typing import Any

LENGTH = struct.Struct(">Q")  # the length of a batch of pickled messages, sent before it


def framed(messages: list[Any]) -> bytes:
    """Return pickled messages, preceded by their length."""
    pickled = pickle.dumps(messages, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(pickled)) + pickled


class Batches:
    """Cuts received bytes into batches; the rest of an incomplete one waits for its end."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the batches that these bytes complete."""
        self._rest += data
        while len(self._rest) >= LENGTH.size:
            [length] = LENGTH.unpack_from(self._rest)
            end = LENGTH.size + length
            if len(self._rest) < end:
                return
            batch = bytes(memoryview(self._rest)[LENGTH.size : end])
            del self._rest[:end]
            yield batch
