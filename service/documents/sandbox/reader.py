"""The server's side: reads and writes documents in children of a zygote, which is always running.

A document that breaks a limit, or crashes its process, is refused. The zygote is replaced when it ends or is silent; a
piece of work that was lost with it is done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import resolve_name
from typing import Literal

from service.documents.errors import BrokenDocument, DocumentError, DocumentTooLarge
from service.documents.format import MIB, ReadOptions, format_named
from service.documents.sandbox.child import DONE, REFUSED, TOO_MUCH, UNREADABLE
from service.documents.sandbox.messages import Message, receive_async, send_async
from service.engine import EngineFailure, Overloaded
from service.logs import describe_exception, get_logger

_PROGRAM = resolve_name(".zygote", __package__)  # not imported: the server loads no format
MEMORY = 512 * MIB  # of addresses, of which the libraries take a fifth
MEMORY_PER_BYTE = 50  # of the largest file
SECONDS, SECONDS_PER_MIB = 10, 5  # of a processor, to read a document
PATIENCE = 4  # times these seconds until the deadline: other work may have the processor
TRIES = 3
START_SECONDS = 30.0
CHECK_SECONDS = 0.5  # between two signs of life
MOST_MISSED, MOST_MISSED_AT_START = 4, 120
STABLE_SECONDS = 5.0
PING, FORK = b"p", b"f"
NO_PROCESS = "The server cannot start a process to read documents at present; try again later."
UNWRITABLE = "The translated document could not be written. Send it again; if that fails again, ask the operator."
log = get_logger(__name__)

What = Literal["document", "zygote"]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document that was read."""

    segments: Sequence[str]
    data: bytes  # into which the translation is written
    format: str
    options: ReadOptions


class NotBegun(Exception):
    """No child has begun."""


class DocumentReader:
    """Reads and writes documents; `on_lost` is called for each process that did not end by itself."""

    def __init__(self, on_lost: Callable[[What], None] = lambda _what: None) -> None:
        self._on_lost = on_lost
        self._zygote: asyncio.Future[Zygote] | None = None
        self._supervision: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the zygote, and keep it running until the end."""
        if self._supervision is None:
            self._zygote = asyncio.get_running_loop().create_future()
            self._supervision = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End all processes."""
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.wait([self._supervision])
            self._supervision = None

    async def read(self, data: bytes, form: str, options: ReadOptions) -> ReadDocument:
        """Return a document; raise DocumentError, also for one that breaks a limit or ends its process."""
        format_named(form).check_installed()
        answer = await self._ask("read", ReadDocument((), data, form, options))
        other = answer.head.get("format")
        document = ReadDocument(answer.texts, data, form, options)
        return replace(document, data=answer.data, format=other) if other else document

    async def write(self, document: ReadDocument, translations: Sequence[str]) -> bytes:
        """Return a document with a translation for each segment."""
        return (await self._ask("write", replace(document, segments=translations))).data

    async def _ask(self, operation: str, document: ReadDocument) -> Message:
        limits = document.options.limits
        # To write a document, it is read again.
        seconds = (SECONDS + SECONDS_PER_MIB * len(document.data) // MIB) * (2 if operation == "write" else 1)
        head = {
            "operation": operation,
            "format": document.format,
            "options": asdict(document.options),
            "memory": max(MEMORY, MEMORY_PER_BYTE * limits.file_bytes),
            "seconds": seconds,
        }
        order = Message(head, document.data, document.segments)
        answer = await self._answer(order, PATIENCE * seconds, limits.unpacked_bytes)
        outcome = answer.head["outcome"]
        if outcome == REFUSED:
            raise _error(answer.head["code"], answer.head["message"])
        if outcome != DONE:
            log.error("a document failed", format=document.format, operation=operation, **_described(answer))
            raise (
                BrokenDocument(UNREADABLE) if operation == "read" else EngineFailure("The document cannot be written.")
            )
        return answer

    async def _answer(self, order: Message, seconds: float, most: int) -> Message:
        """Return the answer of a child; raise DocumentTooLarge if it ends without one, or after a time."""
        for _ in range(TRIES):
            zygote = await self._running()
            try:
                async with zygote.child() as (reader, writer), asyncio.timeout(seconds):
                    await send_async(writer, order)
                    return await receive_async(reader, most)
            except NotBegun:
                await asyncio.sleep(CHECK_SECONDS)
            except (OSError, EOFError, TimeoutError, ValueError):
                if zygote.alive:
                    self._on_lost("document")
                    raise DocumentTooLarge(TOO_MUCH) from None
        raise Overloaded(NO_PROCESS, retry_after=CHECK_SECONDS)

    async def _running(self) -> Zygote:
        self.start()
        assert self._zygote is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                return await asyncio.shield(self._zygote)
        except TimeoutError:
            raise Overloaded(NO_PROCESS, retry_after=CHECK_SECONDS) from None

    async def _supervise(self) -> None:
        """Keep a zygote running."""
        loop = asyncio.get_running_loop()
        while True:
            assert self._zygote is not None
            began = loop.time()
            try:
                zygote = await asyncio.to_thread(Zygote)
            except OSError as error:
                log.error("the process of documents cannot be started", **describe_exception(error))
            else:
                self._zygote.set_result(zygote)
                try:
                    await zygote.wait()
                finally:
                    self._zygote = loop.create_future()
                    zygote.end()
                self._on_lost("zygote")
                log.error("the process of documents has ended or hangs; it is started again", process=zygote.process_id)
            if loop.time() - began < STABLE_SECONDS:
                await asyncio.sleep(CHECK_SECONDS)


class Zygote:
    """One run of the program, and its control socket."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        command = [sys.executable, "-m", _PROGRAM, str(theirs.fileno())]
        with theirs:
            # In a group of its own, with its children, which are killed with it.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[theirs.fileno()], process_group=0
            )
        self.process_id = process.pid
        self.alive = True
        self._finalizer = weakref.finalize(self, _end, process, self._control)

    def end(self) -> None:
        """Kill it and its children."""
        self.alive = False
        self._finalizer()

    async def wait(self) -> None:
        """Return when it has ended or is silent; a pause of this process counts as one missed sign at most."""
        missed, most = 0, MOST_MISSED_AT_START
        while missed < most:
            try:
                self._control.send(PING)
                await asyncio.sleep(CHECK_SECONDS)
                if not self._control.recv(4096):
                    return
                missed, most = 0, MOST_MISSED
            except BlockingIOError:
                missed += 1
            except OSError:
                return

    @contextlib.asynccontextmanager
    async def child(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Yield the channel to a new child, which is killed at the end; raise NotBegun."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [FORK], [theirs.fileno()])
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MIB)
        except OSError:
            ours.close()
            raise NotBegun from None
        except BaseException:
            ours.close()
            raise
        try:
            try:
                await receive_async(reader, MIB)
            except (OSError, EOFError):
                raise NotBegun from None
            yield reader, writer
        finally:
            writer.transport.abort()  # the zygote sees it and kills the child


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Kill a process and its group, and wait until it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has not been waited for: the group is its own
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    control.close()


def _error(code: str, message: str) -> DocumentError:
    """Return the error of a child."""
    kinds = [DocumentError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if kind.code == code), DocumentError)(message)


def _described(answer: Message) -> dict[str, object]:
    return {name: answer.head.get(name) for name in ("type", "frames")}
