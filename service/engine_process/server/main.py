"""An engine process: runs models for the process that started it, and ends with it.

Its arguments are the number of the socket that leads there, and how to write the log. It leaves signals to its parent:
a terminal sends them to both, and what runs is to be finished first.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from typing import Literal, cast

from service.engine_process.channel import MessageChannel
from service.engine_process.protocol import FromEngine, ToEngine
from service.engine_process.server.engine_server import EngineServer
from service.logs import configure_logging

STATUS_SECONDS = 0.25  # between two reports
SWITCH_SECONDS = 0.0001  # that a thread may keep others waiting for the interpreter's lock; Python's own is 0.005


def main() -> None:
    """Serve until the parent hangs up."""
    descriptor, level, style = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    configure_logging(level, cast(Literal["auto", "json", "console"], style))
    sys.setswitchinterval(SWITCH_SECONDS)
    over = threading.Event()

    channel: MessageChannel[FromEngine, ToEngine]
    server = EngineServer(lambda message: channel.send(message), lambda message: channel.send_later(message))
    channel = MessageChannel(socket.socket(fileno=int(descriptor)), server.receive, over.set, server.undelivered)
    channel.start()
    while not over.wait(STATUS_SECONDS):
        if channel.full:
            continue  # the client does not read; it gets the next report instead
        for status in server.statuses():
            channel.send(status)
    # At once: no client is left, and a run that hangs must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
