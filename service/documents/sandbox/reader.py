"""Reads and writes documents in children of a zygote, which is always running.

A document that breaks a limit, or crashes its process, is refused. The zygote is replaced when it ends or is silent; a
piece of work that was lost with it, or with a child that waited, is done again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict
from typing import Literal

from service.documents.errors import BrokenDocument, DocumentError, DocumentTooLarge
from service.documents.format import MIB, ReadOptions, format_named
from service.documents.sandbox.child import DONE, REFUSED, TOO_MUCH, UNREADABLE
from service.documents.sandbox.messages import Message
from service.documents.sandbox.zygote_process import CHECK_SECONDS, Child, NotBegun, ZygoteProcess
from service.engine import EngineFailure, Overloaded
from service.logs import describe_exception, get_logger

MEMORY = 440 * MIB  # of addresses, of which the libraries take a tenth
MEMORY_PER_BYTE = 44  # of the largest file
SECONDS, SECONDS_PER_MIB = 15, 8  # of a processor, for a document
PATIENCE = 4  # times these seconds until the deadline: other work may have the processor
TRIES = 3
START_SECONDS = 30.0
STABLE_SECONDS = 5.0
NO_PROCESS = "The server cannot start a process to read documents at present; try again later."
UNWRITABLE = "The translated document could not be written. Send it again; if that fails again, ask the operator."
log = get_logger(__name__)

What = Literal["document", "zygote"]


class DocumentReader:
    """Opens documents; `on_lost` is called for each process that did not end by itself."""

    def __init__(self, on_lost: Callable[[What], None] = lambda _what: None) -> None:
        self.on_lost = on_lost
        self._zygote: asyncio.Future[ZygoteProcess] | None = None
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

    @contextlib.asynccontextmanager
    async def open(self, data: bytes, form: str, options: ReadOptions) -> AsyncIterator[OpenDocument]:
        """Yield a document that has been read, with its process; raise DocumentError, also if it breaks a limit."""
        format_named(form).check_installed()
        document = OpenDocument(self, data, form, options)
        try:
            await document.read()
            yield document
        finally:
            document.close()

    async def child(self) -> Child:
        """Return a new child; raise Overloaded."""
        self.start()
        assert self._zygote is not None
        for _ in range(TRIES):
            try:
                async with asyncio.timeout(START_SECONDS):
                    zygote = await asyncio.shield(self._zygote)
                return await zygote.child()
            except TimeoutError:
                break
            except NotBegun:
                await asyncio.sleep(CHECK_SECONDS)
        raise Overloaded(NO_PROCESS, retry_after=CHECK_SECONDS)

    async def _supervise(self) -> None:
        """Keep a zygote running."""
        loop = asyncio.get_running_loop()
        while True:
            assert self._zygote is not None
            began = loop.time()
            try:
                zygote = await asyncio.to_thread(ZygoteProcess)
            except OSError as error:
                log.error("the process of documents cannot be started", **describe_exception(error))
            else:
                self._zygote.set_result(zygote)
                try:
                    await zygote.wait()
                finally:
                    self._zygote = loop.create_future()
                    zygote.end()
                self.on_lost("zygote")
                log.error("the process of documents has ended or hangs; it is started again", process=zygote.process_id)
            if loop.time() - began < STABLE_SECONDS:
                await asyncio.sleep(CHECK_SECONDS)


class OpenDocument:
    """A document and the child that has read it, which waits for the translations; it is read again if that is gone."""

    def __init__(self, reader: DocumentReader, data: bytes, form: str, options: ReadOptions) -> None:
        self._reader, self._format = reader, form
        self._child: Child | None = None
        seconds = SECONDS + SECONDS_PER_MIB * len(data) // MIB
        memory = max(MEMORY, MEMORY_PER_BYTE * options.limits.file_bytes)
        head = {"format": form, "options": asdict(options), "memory": memory, "seconds": seconds}
        self._order = Message(head, data)
        self._patience = PATIENCE * seconds
        self._most = options.limits.unpacked_bytes  # of an answer
        self.segments: Sequence[str] = ()
        self.kept: Sequence[str] = ()  # texts that stay as they are

    async def read(self) -> None:
        """Read the document; raise DocumentError."""
        for _ in range(TRIES):
            self.close()
            self._child = await self._reader.child()
            answer = await self._answer(self._child, self._order, BrokenDocument(UNREADABLE))
            if answer is not None:
                self.segments, self.kept = answer.texts, answer.head["kept"]
                return
        raise Overloaded(NO_PROCESS, retry_after=CHECK_SECONDS)

    async def write(self, translations: Sequence[str]) -> bytes:
        """Return the document with a translation for each segment; raise DocumentError."""
        for _ in range(TRIES):
            if self._child is None or not self._child.is_there:
                await self.read()
            assert self._child is not None
            order = Message({}, texts=translations)
            answer = await self._answer(self._child, order, EngineFailure(UNWRITABLE))
            if answer is not None:
                return answer.data
        raise Overloaded(NO_PROCESS, retry_after=CHECK_SECONDS)

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()

    async def _answer(self, child: Child, order: Message, failure: Exception) -> Message | None:
        """Return the answer of a child, or None if its zygote was lost; raise what it says, or a failure of our own."""
        try:
            async with asyncio.timeout(self._patience):
                answer = await child.ask(order, self._most)
        except (OSError, EOFError, TimeoutError, ValueError):
            if not child.zygote.alive:
                return None
            self._reader.on_lost("document")
            raise DocumentTooLarge(TOO_MUCH) from None
        outcome = answer.head["outcome"]
        if outcome == REFUSED:
            raise _error(answer.head["code"], answer.head["message"])
        if outcome != DONE:
            where = {name: answer.head[name] for name in ("type", "frames")}
            log.error("a document could not be read or written", format=self._format, **where)
            raise failure
        return answer


def _error(code: str, message: str) -> DocumentError:
    """Return the error of a child."""
    kinds = [DocumentError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if kind.code == code), DocumentError)(message)
