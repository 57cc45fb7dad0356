"""The process of one document: it reads and writes it within limits of memory and time, and ends with its channel."""

import resource
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from service.documents.errors import DocumentError, DocumentTooLarge
from service.documents.format import Document, Limits, ReadOptions, check_segments, format_named
from service.documents.sandbox.messages import Message, receive, send

Result = TypeVar("Result")

OPEN_FILES = 32  # for modules that are loaded late
BEGUN, DONE, REFUSED, FAILED = "begun", "done", "refused", "failed"
TOO_MUCH = "The document takes too much time or memory; split it into several, or save it in a simpler format."
UNREADABLE = "The document could not be read; it may be damaged. Save it again with the program that made it."


def serve(channel: socket.socket) -> None:
    """Carry out the orders that come through a channel: to read a document, and then perhaps to write it."""
    with channel.makefile("rwb") as file:
        send(file, Message({"outcome": BEGUN}))
        order = receive(file)
        _limit(order.head["memory"], order.head["seconds"])
        document, answer = _done(lambda: _read(order))
        send(file, answer)
        while document is not None:
            translations = receive(file).texts
            _, answer = _done(lambda document=document, texts=translations: _written(document, texts))  # type: ignore[misc]
            send(file, answer)


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


def _done(work: Callable[[], tuple[Result, Message]]) -> tuple[Result | None, Message]:
    """Do some work; return its result with the answer, or None with the answer that says why there is none."""
    try:
        return work()
    except DocumentError as error:
        return None, _refused(error)
    except (MemoryError, RecursionError):
        return None, _refused(DocumentTooLarge(TOO_MUCH))
    except Exception as error:
        # Without its message, which may quote the document.
        found = traceback.extract_tb(error.__traceback__)
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in found]
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        return None, Message({"outcome": FAILED, "type": kind, "frames": frames})


def _refused(error: DocumentError) -> Message:
    return Message({"outcome": REFUSED, "code": error.code, "message": error.message})


def _read(order: Message) -> tuple[Document, Message]:
    given: dict[str, Any] = order.head["options"]
    limits = Limits(**given["limits"])
    options = ReadOptions(**{**given, "limits": limits, "columns": tuple(given["columns"])})
    document = format_named(order.head["format"]).read(order.data, options)
    segments = [*document.segments]
    check_segments(segments, limits)
    return document, Message({"outcome": DONE, "kept": [*getattr(document, "kept", ())]}, texts=segments)


def _written(document: Document, translations: Sequence[str]) -> tuple[Document, Message]:
    return document, Message({"outcome": DONE}, document.write(translations))
