"""Messages between two ends: all of them, in order, whatever their size; and both ends learn when it is over."""

import asyncio
import queue
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

from service.engine_process import channel as wire_module
from service.engine_process.channel import MessageChannel


@dataclass
class End:
    """A wire with what came in and whether it was closed."""

    socket: socket.socket
    received: queue.Queue[Any] = field(default_factory=queue.Queue)
    closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.wire: MessageChannel[Any, Any] = MessageChannel(self.socket, self.received.put, self.closed.set)
        self.wire.start()

    def next(self) -> Any:
        return self.received.get(timeout=10)


@pytest.fixture
def ends() -> Iterator[tuple[End, End]]:
    one, other = map(End, socket.socketpair())
    yield one, other
    one.wire.close()
    other.wire.close()


def test_messages_arrive_in_order_in_both_directions(ends: tuple[End, End]) -> None:
    one, other = ends
    for number in range(500):
        one.wire.send(number)
        other.wire.send(-number)
    assert [other.next() for _ in range(500)] == list(range(500))
    assert [one.next() for _ in range(500)] == [-number for number in range(500)]


def test_a_message_that_may_wait_goes_with_the_next_and_before_it(ends: tuple[End, End]) -> None:
    one, other = ends
    one.wire.send_later("counted")
    with pytest.raises(queue.Empty):
        other.received.get(timeout=0.1)
    one.wire.send("result")
    assert [other.next(), other.next()] == ["counted", "result"]


def test_a_sender_never_waits_for_a_reader_that_is_busy() -> None:
    one, theirs = socket.socketpair()
    sender = End(one)
    for _ in range(64):
        sender.wire.send(bytes(2**20))  # no process reads: far more than any buffer of the system holds
    reader = End(theirs)
    assert [len(reader.next()) for _ in range(64)] == [2**20] * 64
    sender.wire.close()
    reader.wire.close()


def test_what_was_sent_before_hanging_up_still_arrives(ends: tuple[End, End]) -> None:
    one, other = ends
    one.wire.send("last words")
    one.wire.close()
    assert other.next() == "last words"
    assert other.closed.wait(10)
    assert one.closed.wait(10)


def test_sending_to_nobody_harms_nobody(ends: tuple[End, End]) -> None:
    one, other = ends
    other.wire.close()
    assert one.closed.wait(10)
    one.wire.send("too late")


def test_a_message_that_cannot_be_dealt_with_does_not_cost_the_others(caplog: pytest.LogCaptureFixture) -> None:
    received: queue.Queue[Any] = queue.Queue()

    def fails(message: object) -> None:
        if message == "bad":
            raise RuntimeError
        received.put(message)

    ours, theirs = socket.socketpair()
    closed, sender = threading.Event(), End(theirs)
    wire: MessageChannel[Any, Any] = MessageChannel(ours, fails, closed.set)
    wire.start()
    sender.wire.send_later("one")
    sender.wire.send_later("bad")
    sender.wire.send("two")
    assert [received.get(timeout=10), received.get(timeout=10)] == ["one", "two"]
    assert "could not be handled" in caplog.text
    assert not closed.is_set()
    wire.close()
    sender.wire.close()


class Stubborn:
    """Cannot be pickled."""

    def __reduce__(self) -> str:
        raise MemoryError


class Careless:
    """Sends something itself while it is pickled, as a finaliser may that happens to run then."""

    def __init__(self, wire: MessageChannel[Any, Any]) -> None:
        self.wire = wire

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        self.wire.send("from inside")
        return str, ("outer",)


def test_a_message_that_cannot_be_pickled_is_reported_and_the_others_arrive() -> None:
    one, theirs = socket.socketpair()
    reported: list[object] = []
    wire: MessageChannel[Any, Any] = MessageChannel(one, lambda _: None, lambda: None, reported.append)
    wire.start()
    reader = End(theirs)
    stubborn = Stubborn()
    wire.send_later("before")
    wire.send_later(stubborn)
    wire.send("after")
    assert [reader.next(), reader.next()] == ["before", "after"]
    assert reported == [stubborn]
    wire.send("later")
    assert reader.next() == "later"
    wire.close()
    reader.wire.close()


def test_a_message_that_is_sent_while_another_is_pickled_does_not_break_the_stream() -> None:
    one, theirs = socket.socketpair()
    sender = End(one)
    for _ in range(8):
        sender.wire.send(bytes(2**20))  # nobody reads yet
    sender.wire.send(Careless(sender.wire))
    reader = End(theirs)
    assert [len(reader.next()) for _ in range(8)] == [2**20] * 8
    assert {reader.next(), reader.next()} == {"outer", "from inside"}
    sender.wire.send(Careless(sender.wire))
    assert {reader.next(), reader.next()} == {"outer", "from inside"}
    sender.wire.close()
    reader.wire.close()


def test_a_wire_whose_other_end_reads_nothing_says_that_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_module, "MOST_WAITING", 100)
    one, theirs = socket.socketpair()
    sender = End(one)
    sender.wire.send(bytes(2**22))
    seen = []
    for _ in range(101):
        seen.append(sender.wire.full)
        sender.wire.send(b"more")
    assert seen == [False] * 100 + [True]
    reader = End(theirs)
    assert len(reader.next()) == 2**22
    assert [reader.next() for _ in range(101)] == [b"more"] * 101
    assert not sender.wire.full
    sender.wire.close()
    reader.wire.close()


async def test_an_event_loop_receives_what_comes_after_it_took_over() -> None:
    ours, theirs = map(End, socket.socketpair())
    theirs.wire.send("before")
    assert await asyncio.to_thread(ours.next) == "before"
    loop = asyncio.get_running_loop()
    threads: list[int] = []
    arrived = asyncio.Event()

    def receive(message: object) -> None:
        ours.received.put(message)
        threads.append(threading.get_ident())
        if message == "last":
            arrived.set()

    ours.wire._receive = receive
    ours.wire.receive_on(loop)
    theirs.wire.send("wakes the thread")
    for message in (b"large" * 2**17, *range(200), "last"):
        theirs.wire.send(message)
    async with asyncio.timeout(10):
        await arrived.wait()
    assert [ours.next() for _ in range(203)] == ["wakes the thread", b"large" * 2**17, *range(200), "last"]
    assert threads[-1] == threading.get_ident()
    theirs.wire.close()
    assert await asyncio.to_thread(ours.closed.wait, 10)
    await asyncio.to_thread(ours.wire.close)


async def test_a_channel_that_starts_on_an_event_loop_needs_no_reading_thread() -> None:
    one, other = socket.socketpair()
    received: asyncio.Queue[Any] = asyncio.Queue()
    closed = threading.Event()
    channel: MessageChannel[Any, Any] = MessageChannel(one, received.put_nowait, closed.set)
    channel.receive_on(asyncio.get_running_loop())
    channel.start()
    theirs = End(other)
    theirs.wire.send("first")
    async with asyncio.timeout(10):
        assert await received.get() == "first"
    assert not channel._reader.is_alive()
    await asyncio.to_thread(channel.close)
    assert closed.is_set()
    assert await asyncio.to_thread(theirs.closed.wait, 10)
    theirs.wire.close()


async def test_a_busy_event_loop_knows_that_it_has_not_read_everything() -> None:
    one, other = socket.socketpair()
    received: asyncio.Queue[Any] = asyncio.Queue()
    channel: MessageChannel[Any, Any] = MessageChannel(one, received.put_nowait, lambda: None)
    channel.receive_on(asyncio.get_running_loop())
    channel.start()
    theirs = End(other)
    unread = [channel.has_unread]
    theirs.wire.send("while the loop does something else")
    unread.append(channel.has_unread)
    assert received.empty()
    async with asyncio.timeout(10):
        await received.get()
    unread.append(channel.has_unread)
    await asyncio.to_thread(channel.close)
    unread.append(channel.has_unread)
    assert unread == [False, True, False, False]
    theirs.wire.close()


def test_a_large_message_arrives_although_uvloop_has_made_the_socket_non_blocking() -> None:
    async def exchange() -> tuple[str, int]:
        one, other = socket.socketpair()
        received: asyncio.Queue[Any] = asyncio.Queue()
        channel: MessageChannel[Any, Any] = MessageChannel(one, received.put_nowait, lambda: None)
        channel.receive_on(asyncio.get_running_loop())
        channel.start()
        await asyncio.sleep(0.1)  # uvloop watches the socket
        for _ in range(3):
            channel.send(b"large" * 2**20)
        await asyncio.sleep(0.1)  # the other end is slow: the socket is full
        theirs = End(other)
        sizes = [len(await asyncio.to_thread(theirs.next)) for _ in range(3)]
        theirs.wire.send("still open")
        async with asyncio.timeout(10):
            answer = await received.get()
        await asyncio.to_thread(channel.close)
        await asyncio.to_thread(theirs.wire.close)
        return answer, min(sizes)

    assert uvloop.run(exchange()) == ("still open", 5 * 2**20)


def test_messages_that_are_sent_together_may_be_made_fewer() -> None:
    one, other = socket.socketpair()
    sender: MessageChannel[Any, Any] = MessageChannel(
        one, lambda _message: None, lambda: None, combine=lambda messages: messages[-2:]
    )
    sender.start()
    receiver = End(other)
    for number in range(5):
        sender.send_later(number)
    sender.send("now")
    assert [receiver.next(), receiver.next()] == [4, "now"]
    sender.close()
    receiver.wire.close()
