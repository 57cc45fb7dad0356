"""Messages between two ends: all of them, whole and in order, and both ends learn when it is over."""

import asyncio
import pickle
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvloop

from service.engine import (
    EngineFailure,
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
from service.engine_process import channel as channel_module
from service.engine_process.channel import MessageChannel
from service.engine_process.protocol import Cancel, Done, EventReport, Failed, FromEngine, Translate
from service.engine_process.server.engine_server import latest_loads

Start = Callable[..., "End"]


class End:
    """A channel with what came in and whether it was closed."""

    def __init__(self, end: socket.socket, loop: asyncio.AbstractEventLoop | None = None, **options: Any) -> None:
        self.received: queue.Queue[Any] = queue.Queue()
        self.closed = threading.Event()
        options = {"receive": self.received.put, "closed": self.closed.set, **options}
        self.channel: MessageChannel[Any, Any] = MessageChannel(end, **options)
        self.send, self.send_later = self.channel.send, self.channel.send_later
        if loop is not None:
            self.channel.receive_on(loop)
        self.channel.start()

    def next(self) -> Any:
        return self.received.get(timeout=60)


@pytest.fixture
def sockets() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair()


@pytest.fixture
def start(sockets: tuple[socket.socket, socket.socket]) -> Iterator[Start]:
    """Give a function that starts the next of the two ends; both are closed in the end."""
    ends: list[End] = []

    def started(**options: Any) -> End:
        ends.append(End(sockets[len(ends)], **options))
        return ends[-1]

    yield started
    for end in ends:
        end.channel.close()


def test_messages_arrive_in_order_in_both_directions(start: Start) -> None:
    one, other = start(), start()
    for number in range(500):
        one.send(number)
        other.send(-number)
    assert [other.next() for _ in range(500)] == list(range(500))
    assert [one.next() for _ in range(500)] == [-number for number in range(500)]


def test_messages_that_may_wait_go_before_the_next_and_may_be_made_fewer(start: Start) -> None:
    one, other = start(combine=lambda messages: messages[-2:]), start()
    for number in range(5):
        one.send_later(number)
    with pytest.raises(queue.Empty):
        other.received.get(timeout=0.1)
    one.send("now")
    assert [other.next(), other.next()] == [4, "now"]


def test_a_channel_whose_other_end_reads_nothing_says_that_it_is_full(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "MOST_WAITING", 100)
    one = start()
    one.send(bytes(2**22))
    seen = []
    for _ in range(101):
        seen.append(one.channel.full)
        one.send(b"more")
    assert seen == [False] * 100 + [True]
    other = start()  # the sender has never waited for it, although no buffer of the system holds so much
    assert len(other.next()) == 2**22
    assert [other.next() for _ in range(101)] == [b"more"] * 101
    assert not one.channel.full


def test_what_was_sent_before_hanging_up_still_arrives_and_sending_to_nobody_harms_nobody(start: Start) -> None:
    one, other = start(), start()
    one.send("last words")
    one.channel.close()
    assert other.next() == "last words"
    assert other.closed.wait(10)
    assert one.closed.wait(10)
    other.send("too late")


class Stubborn:
    """Cannot be pickled."""

    def __reduce__(self) -> str:
        raise MemoryError


def test_a_message_that_fails_on_either_side_does_not_cost_the_others(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    reported: list[object] = []
    received: queue.Queue[Any] = queue.Queue()

    def receive(message: object) -> None:
        if message == "bad":
            raise RuntimeError
        received.put(message)

    one, other, stubborn = start(undelivered=reported.append), start(receive=receive), Stubborn()
    for message in ("before", "bad", stubborn):
        one.send_later(message)
    one.send("after")
    one.send("later")
    assert [received.get(timeout=60) for _ in range(3)] == ["before", "after", "later"]
    assert reported == [stubborn]
    assert "could not be handled" in caplog.text
    assert not other.closed.is_set()


class Careless:
    """Sends something itself while it is pickled, as a finaliser may that happens to run then."""

    def __init__(self, end: End) -> None:
        self.end = end

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        self.end.send("from inside")
        return str, ("outer",)


def test_a_message_that_is_sent_while_another_is_pickled_does_not_break_the_stream(start: Start) -> None:
    one = start()
    one.send(bytes(2**23))  # nobody reads yet
    one.send(Careless(one))
    other = start()
    assert len(other.next()) == 2**23
    assert {other.next(), other.next()} == {"outer", "from inside"}
    one.send(Careless(one))
    assert {other.next(), other.next()} == {"outer", "from inside"}


async def test_an_event_loop_receives_what_comes_after_it_took_over(start: Start) -> None:
    received: queue.Queue[tuple[object, int]] = queue.Queue()
    arrived = asyncio.Event()

    def receive(message: object) -> None:
        received.put((message, threading.get_ident()))
        if message == "last":
            arrived.set()

    ours, theirs = start(receive=receive), start()
    theirs.send("before")
    assert (await asyncio.to_thread(received.get, timeout=10))[0] == "before"
    ours.channel.receive_on(asyncio.get_running_loop())
    messages = ["wakes the thread", b"large" * 2**17, *range(200), "last"]
    for message in messages:
        theirs.send(message)
    async with asyncio.timeout(10):
        await arrived.wait()
    came = [received.get() for _ in messages]
    assert [message for message, _ in came] == messages
    assert came[-1][1] == threading.get_ident()
    await asyncio.to_thread(theirs.channel.close)
    assert await asyncio.to_thread(ours.closed.wait, 10)


async def test_a_busy_event_loop_knows_that_it_has_not_read_everything(start: Start) -> None:
    received: asyncio.Queue[Any] = asyncio.Queue()
    ours, theirs = start(receive=received.put_nowait, loop=asyncio.get_running_loop()), start()
    unread = [ours.channel.has_unread]
    theirs.send("while the loop does something else")
    unread.append(ours.channel.has_unread)
    assert received.empty()
    async with asyncio.timeout(10):
        await received.get()
    unread.append(ours.channel.has_unread)
    await asyncio.to_thread(ours.channel.close)
    unread.append(ours.channel.has_unread)
    assert unread == [False, True, False, False]
    assert await asyncio.to_thread(theirs.closed.wait, 10)


def test_a_large_message_arrives_although_uvloop_has_made_the_socket_non_blocking(start: Start) -> None:
    async def exchange() -> None:
        received: asyncio.Queue[Any] = asyncio.Queue()
        ours = start(receive=received.put_nowait, loop=asyncio.get_running_loop())
        await asyncio.sleep(0.1)  # uvloop watches the socket
        for _ in range(3):
            ours.send(b"large" * 2**20)
        await asyncio.sleep(0.1)  # the other end is slow: the socket is full
        theirs = start()
        assert [len(await asyncio.to_thread(theirs.next)) for _ in range(3)] == [5 * 2**20] * 3
        theirs.send("still open")
        async with asyncio.timeout(10):
            assert await received.get() == "still open"
        await asyncio.to_thread(ours.channel.close)

    uvloop.run(exchange())


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
            StageDone("m", "encode", 0.5),
        )
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message: object) -> None:
    assert pickle.loads(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)) == message


def load(worker: int, rows: int) -> EventReport:
    return EventReport(worker, LoadChanged(f"model {worker}", rows, rows, 0))


def test_only_the_last_load_of_each_worker_is_sent_and_everything_else_in_its_order() -> None:
    step = EventReport(1, StepDone("model 1", 4, 0.001))
    failed = Failed(7, EngineFailure("no"))
    messages: list[FromEngine] = [load(1, 1), step, load(2, 5), load(1, 2), step, failed, load(1, 3), step]
    assert latest_loads(messages) == [step, load(2, 5), step, failed, load(1, 3), step]


async def test_what_is_sent_in_one_round_of_the_event_loop_goes_together(start: Start) -> None:
    batches: list[int] = []

    def counted(messages: list[Any]) -> list[Any]:
        batches.append(len(messages))
        return messages

    one, other = start(combine=counted), start()
    one.channel.send_soon("without a loop")
    one.channel.receive_on(asyncio.get_running_loop())
    for number in range(3):
        one.channel.send_soon(number)
    await asyncio.sleep(0)
    assert [other.next() for _ in range(4)] == ["without a loop", 0, 1, 2]
    assert batches == [1, 3]
