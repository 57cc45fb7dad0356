"""The messages between the server and the process of a document: frames, each with its length before it."""

import json
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

LENGTH = struct.Struct("!I")
BATCH = 32_768  # characters of texts in a frame, so that no frame keeps the server's event loop busy


class Message(NamedTuple):
    """An order, or the answer to one."""

    head: dict[str, Any]
    data: bytes = b""  # a document
    texts: Sequence[str] = ()  # the segments of a document, or their translations


class File(Protocol):
    """A channel as a file."""

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, or fewer at the end."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""

    def flush(self) -> None:
        """Send what is written."""


class MessageTooLong(OSError):
    """A frame is longer than an answer may be."""


def send(file: File, message: Message) -> None:
    """Send a message."""
    for frame in _frames(message):
        file.write(LENGTH.pack(len(frame)))
        file.write(frame)
    file.flush()


def receive(file: File) -> Message:
    """Return the next message; raise EOFError if the other side is gone."""
    head, data = json.loads(_frame(file)), _frame(file)
    texts: list[str] = []
    while batch := json.loads(_frame(file)):
        texts += batch
    return Message(head, data, texts)


def _frame(file: File) -> bytes:
    before = file.read(LENGTH.size)
    size = LENGTH.unpack(before)[0] if len(before) == LENGTH.size else 0
    frame = file.read(size)
    if len(before) < LENGTH.size or len(frame) < size:
        raise EOFError
    return frame


async def send_async(writer: StreamWriter, message: Message) -> None:
    """Send a message; raise OSError if the other side is gone."""
    for frame in _frames(message):
        writer.write(LENGTH.pack(len(frame)))
        writer.write(frame)
        await writer.drain()


async def receive_async(reader: StreamReader, most: int) -> Message:
    """Return the next message; raise EOFError if the other side is gone, MessageTooLong for more than `most` bytes."""
    left = most

    async def frame() -> bytes:
        nonlocal left
        [size] = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        left -= size
        if left < 0:
            raise MessageTooLong
        return await reader.readexactly(size)

    head, data = json.loads(await frame()), await frame()
    texts: list[str] = []
    while batch := json.loads(await frame()):
        texts += batch
    return Message(head, data, texts)


def _frames(message: Message) -> Iterator[bytes]:
    yield _packed(message.head)
    yield message.data
    batch: list[str] = []
    size = 0
    for text in message.texts:
        batch.append(text)
        size += len(text)
        if size > BATCH:
            yield _packed(batch)
            batch, size = [], 0
    if batch:
        yield _packed(batch)
    yield _packed([])


def _packed(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")  # some formats have lone surrogates
