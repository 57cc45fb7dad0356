"""A steady load on a running server, and what became of every request of it."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.server import ServerProcess

LINES = ("I lost.", "He's calm.", "I'm home, and she isn't! Go, go, go.", "The cat; the dog.")
PAIR = {"source": "en", "target": "fr"}
KINDS: tuple[Callable[[str], tuple[str, str, dict[str, Any]]], ...] = (
    lambda text: ("POST", "/translate", {"json": {"q": text, **PAIR}}),
    lambda text: ("POST", "/translate", {"json": {"q": [text], "details": True, **PAIR}}),
    lambda text: ("GET", "/attention", {"params": {"text": text, **PAIR}}),
)


@dataclass
class Load:
    """Callers that send the next request as soon as they get an answer; `answers` and `lost` grow until `stop`."""

    url: str
    callers: int = 8
    answers: list[tuple[str, httpx.Response]] = field(default_factory=list)  # text and answer
    lost: list[str] = field(default_factory=list)  # requests that were sent and got no answer
    _running: bool = True
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def __aenter__(self) -> Load:
        self._client = httpx.AsyncClient(base_url=self.url)
        numbers = itertools.count()
        self._tasks = [asyncio.create_task(self._call(numbers)) for _ in range(self.callers)]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self._client.aclose()

    async def stop(self) -> None:
        """Let everybody finish what they have asked for."""
        self._running = False
        await asyncio.gather(*self._tasks)

    async def over(self) -> None:
        """Wait until everybody has met a closed door."""
        async with asyncio.timeout(120):
            await asyncio.gather(*self._tasks)

    @property
    def statuses(self) -> Counter[int]:
        """Return the number of answers of each status."""
        return Counter(answer.status_code for _, answer in self.answers)

    async def until(self, count: int) -> None:
        """Wait for so many more answers."""
        wanted = len(self.answers) + count
        async with asyncio.timeout(180):
            while len(self.answers) < wanted:
                await asyncio.sleep(0.01)

    async def _call(self, numbers: itertools.count[int]) -> None:
        while self._running:
            number = next(numbers)
            text = LINES[number % len(LINES)]
            method, path, options = KINDS[number // len(LINES) % len(KINDS)](text)
            try:
                answer = await self._client.request(method, path, **options)
            except httpx.ConnectError:
                return  # not accepted: a load balancer would have gone elsewhere
            except httpx.HTTPError as error:
                self.lost.append(f"{path}: {error!r}")
            else:
                self.answers.append((text, answer))


def codes(load: Load) -> dict[int, set[str]]:
    """Return the codes of the errors by their status."""
    found: dict[int, set[str]] = {}
    for _, answer in load.answers:
        if answer.status_code != 200:
            found.setdefault(answer.status_code, set()).add(answer.json()["code"])
    return found


def status_of(server: ServerProcess, path: str) -> int:
    """Return the status of the answer to a GET request."""
    return httpx.get(f"{server.url}{path}").status_code


def status_of_translation(server: ServerProcess) -> int:
    """Return the status of the answer to one short translation."""
    return httpx.post(f"{server.url}/translate", json={"q": LINES[0], **PAIR}).status_code
