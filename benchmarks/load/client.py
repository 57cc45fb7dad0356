"""A small HTTP/1.1 client that sends requests at given moments, whether or not earlier ones have been answered."""

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FRESH_SECONDS = 3.0
"""Servers close connections that have been idle for longer (Uvicorn after 5 seconds)."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RequestResult(NamedTuple):
    """The result of one request."""

    text: str
    seconds: float
    """Counted from the moment it was due, so that a slow client does not hide delays."""
    good: bool


class Client:
    """Keeps idle connections and opens more when none is idle."""

    def __init__(self, host: str, port: int, path: str = "/translate") -> None:
        self._address, self._path = (host, port), path
        self._idle: list[tuple[float, Connection]] = []

    async def translate(self, text: str, fields: dict[str, object]) -> bool:
        """Request a translation; return whether the status was 200."""
        body = json.dumps({"q": text, **fields}).encode()
        head = (
            f"POST {self._path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        reader, writer = await self._connection()
        try:
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
        except BaseException:  # also if cancelled: the rest of the answer must not be read as the next one
            writer.close()
            raise
        self._idle.append((time.monotonic(), (reader, writer)))
        return answer.startswith(b"HTTP/1.1 200")

    async def _connection(self) -> Connection:
        """Return the most recently used connection, or a new one if the server may have closed it."""
        if self._idle:
            since, connection = self._idle.pop()
            if time.monotonic() - since < FRESH_SECONDS:
                return connection
            connection[1].close()
            await self.close()  # the others are older still
        return await asyncio.open_connection(*self._address)

    async def close(self) -> None:
        """Close idle connections."""
        for _, (_, writer) in self._idle:
            writer.close()
        self._idle.clear()


async def send(
    client: Client, texts: Sequence[str], moments: Iterable[float], fields: dict[str, object], seconds: float = 10.0
) -> list[RequestResult]:
    """Send one text at each moment (seconds from now); return all answers."""
    begun = time.perf_counter()

    async def one(text: str, due: float) -> RequestResult:
        try:
            good = await asyncio.wait_for(client.translate(text, fields), seconds)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            good = False
        return RequestResult(text, time.perf_counter() - begun - due, good)

    tasks = []
    for number, moment in enumerate(moments):
        await asyncio.sleep(max(0.0, begun + moment - time.perf_counter()))
        tasks.append(asyncio.create_task(one(texts[number % len(texts)], moment)))
    return await asyncio.gather(*tasks)
