"""The process of one document: it reads or writes it within limits of memory and time, answers, and ends."""

import resource
import socket
import traceback
from collections.abc import Callable
from typing import Any

from service.documents.errors import DocumentError, DocumentTooLarge
from service.documents.format import Document, Limits, ReadOptions, check_segments, format_named, format_of
from service.documents.sandbox.messages import Message, receive, send

OPEN_FILES = 32  # for modules that are loaded late
BEGUN, DONE, REFUSED, FAILED = "begun", "done", "refused", "failed"
TOO_MUCH = "The document takes too much time or memory; split it into several, or save it in a simpler format."
UNREADABLE = "The document could not be read; it may be damaged. Save it again with the program that made it."


def serve(channel: socket.socket) -> None:
    """Carry out one order that comes through a channel, and answer."""
    with channel.makefile("rwb") as file:
        send(file, Message({"outcome": BEGUN}))
        order = receive(file)
        _limit(order.head["memory"], order.head["seconds"])
        send(file, _answer(order))


def _limit(memory: int, seconds: int) -> None:
    """Limit what this process may use; it opens no files, writes none, and starts no process."""
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
    }
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (lower, lower))


def _answer(order: Message) -> Message:
    work = OPERATIONS[order.head["operation"]]
    try:
        return work(order)
    except DocumentError as error:
        return _refused(error)
    except (MemoryError, RecursionError):
        return _refused(DocumentTooLarge(TOO_MUCH))
    except Exception as error:
        # Without its message, which may quote the document.
        found = traceback.extract_tb(error.__traceback__)
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in found]
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        return Message({"outcome": FAILED, "type": kind, "frames": frames})


def _refused(error: DocumentError) -> Message:
    return Message({"outcome": REFUSED, "code": error.code, "message": error.message})


def _read(order: Message) -> Message:
    """Return the segments of a document and, if its translation is of another kind, a document of that kind."""
    document, options = _document(order)
    segments = [*document.segments]
    check_segments(segments, options.limits)
    written = format_named(order.head["format"]).written
    if not written:
        return Message({"outcome": DONE}, texts=segments)
    return Message(
        {"outcome": DONE, "format": format_of(f"translation{written}").name}, document.write(segments), segments
    )


def _write(order: Message) -> Message:
    document, _ = _document(order)
    return Message({"outcome": DONE}, document.write(order.texts))


def _document(order: Message) -> tuple[Document, ReadOptions]:
    given: dict[str, Any] = order.head["options"]
    options = ReadOptions(**{**given, "limits": Limits(**given["limits"]), "columns": tuple(given["columns"])})
    return format_named(order.head["format"]).read(order.data, options), options


OPERATIONS: dict[str, Callable[[Message], Message]] = {"read": _read, "write": _write}
