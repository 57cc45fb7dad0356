"""Messages between two ends: all of them, in order, whatever their size; and both ends learn when it is over."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from service.processes.wire import Wire


@dataclass
class End:
    """A wire with what came in and whether it was closed."""

    socket: socket.socket
    received: queue.Queue[Any] = field(default_factory=queue.Queue)
    closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.wire: Wire[Any, Any] = Wire(self.socket, self.received.put, self.closed.set)
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
        sender.wire.send(bytes(2**20))  # nobody reads: far more than any buffer of the system holds
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


def test_a_receiver_that_fails_closes_the_wire_for_both(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_message: object) -> None:
        raise RuntimeError

    ours, theirs = socket.socketpair()
    closed, sender = threading.Event(), End(theirs)
    wire: Wire[Any, Any] = Wire(ours, fails, closed.set)
    wire.start()
    sender.wire.send("a message")
    assert closed.wait(10)
    assert sender.closed.wait(10)
    assert "could not be dealt with" in caplog.text
    wire.close()
    sender.wire.close()
