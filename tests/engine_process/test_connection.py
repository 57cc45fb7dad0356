"""Messages between the two sides: all of them, whole and in order, and no side waits for the other."""

import asyncio
import contextlib
import pickle
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import uvloop

from service.engine import (
    Hypothesis,
    LoadChanged,
    SearchOptions,
    SentenceFinished,
    SentenceJob,
    SentenceResult,
    StageDone,
    StepDone,
)
from service.engine.jobs import WeightSelection
from service.engine.values.constraints import Form, TokenClasses, ValueConstraints
from service.engine_process.client import connection as connection_module
from service.engine_process.client.connection import EngineConnection
from service.engine_process.protocol import Cancel, Done, EventReport, Translate
from service.engine_process.server.engine_server import Sender, receive_all
from tests.support.polling import PATIENCE

SEARCH = SearchOptions(4, 0.5, 40, 3, False, False, (2, 7))
VALUES = ValueConstraints(((Form((5, 6), True),),), (True,), False, TokenClasses(8, b"1", b"2", b"3"))
SCORE = WeightSelection((1, 2))
JOB = SentenceJob((5, 6, 2), SEARCH, 12.5, score=SCORE, values=VALUES, fresh=True, trace=True)
BEST = Hypothesis((7, 2), (-0.1, -0.2), -0.15, "eos")
OTHER = Hypothesis((8,), (-3.0,), -3.0, "length")
RESULT = SentenceResult((BEST, OTHER), 0.1, 0.2, 0.3, score_seconds=0.4)
MESSAGES = [
    Translate(1, (2, 3), (JOB, SentenceJob((2,), SearchOptions()))),
    Translate(1, (), ()),
    Done(9, RESULT),
    Done(9, ("CPUExecutionProvider",)),
    Cancel(1, 2),
    *(
        EventReport(7, event)
        for event in (
            StepDone("m", 8, 0.1),
            LoadChanged("m", 1, 2, 3),
            SentenceFinished("m", 1, 2, 0.3, 0.4, -0.5, "eos", -0.6, True),
            StageDone("m", "encode", 0.5, 1.0),
        )
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message: Any) -> None:
    assert pickle.loads(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)) == message


class Ends(EngineConnection):
    """A connection without a process; `server` is the other end, which begins to read at `read`."""

    def __init__(self) -> None:
        self._socket, self.server = socket.socketpair()
        self._writer, self._early = None, []
        self.sender, self.received, self.over = Sender(self.server), [], threading.Event()  # type: ignore[var-annotated]

    def read(self) -> None:
        work = (self.server, self.take, self.over.set)
        threading.Thread(target=receive_all, args=work, daemon=True).start()

    def take(self, message: Any) -> None:
        if message == "bad":
            raise RuntimeError
        self.received.append(message)
        self.sender.send(message)

    async def echoes(self, count: int) -> list[Any]:
        """Return the next messages of the other end."""
        found: list[Any] = []
        async for messages in self.incoming:
            found += messages
            if len(found) >= count:
                break
        return found

    @property
    def incoming(self) -> AsyncIterator[list[Any]]:
        if not hasattr(self, "_incoming"):
            self._incoming = self.messages()
        return self._incoming


@pytest.fixture
def ends() -> Iterator[Ends]:
    opened = Ends()
    yield opened
    with contextlib.suppress(OSError):
        opened.server.shutdown(socket.SHUT_RDWR)
    opened.server.close()
    opened._socket.close()


async def exchange(ends: Ends, messages: list[Any], count: int) -> list[Any]:
    for message in messages:
        ends.send(pickle.dumps(message))
    ends.read()
    async with asyncio.timeout(PATIENCE):
        return await ends.echoes(count)


LOOPS = pytest.mark.parametrize("loop", [uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
LARGE: Any = "large" * 2**20  # no buffer of the system holds so much


@LOOPS
def test_messages_arrive_in_order_although_one_is_large_or_cannot_be_handled(ends: Ends, loop: Any) -> None:
    messages = ["first", LARGE, "bad", *range(500), LARGE]
    good = [message for message in messages if message != "bad"]
    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(exchange(ends, messages, len(good))) == good
    assert ends.received == good


async def hang_up(ends: Ends) -> None:
    ends.read()
    waiting = asyncio.create_task(ends.echoes(1))
    await asyncio.sleep(0.1)
    ends.server.shutdown(socket.SHUT_RDWR)
    ends.send(pickle.dumps("at the same moment"))
    async with asyncio.timeout(PATIENCE):
        assert await waiting == []
    assert await asyncio.to_thread(ends.over.wait, 20)
    ends.send(pickle.dumps("too late"))
    await asyncio.sleep(0.1)
    ends.send(pickle.dumps("much too late"))
    ends.sender.send("too late")  # type: ignore[arg-type]


@LOOPS
def test_a_side_that_hangs_up_ends_the_other_and_sending_to_nobody_harms_nobody(ends: Ends, loop: Any) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(hang_up(ends))


async def test_a_process_that_reads_nothing_is_said_to_be_full(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_UNSENT", 2**20)
    reading = asyncio.create_task(ends.echoes(4))
    await asyncio.sleep(0.1)
    full = [ends.full]
    ends.send(pickle.dumps(LARGE))
    full.append(ends.full)
    for number in range(3):
        ends.send(pickle.dumps(number))
    ends.read()
    async with asyncio.timeout(PATIENCE):
        assert await reading == [LARGE, 0, 1, 2]
    assert [*full, ends.full] == [False, True, False]


def test_messages_that_may_wait_go_before_the_next_in_one_packet(ends: Ends) -> None:
    for number in range(5):
        ends.sender.send_later(number)  # type: ignore[arg-type]
    ends.server.setblocking(False)
    ends._socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        ends._socket.recv(1)
    ends.sender.send("now")  # type: ignore[arg-type]
    assert pickle.loads(ends._socket.recv(2**16)[8:]) == [0, 1, 2, 3, 4, "now"]
