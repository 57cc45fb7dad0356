"""The program of an engine process: runs models for the process that started it, and ends with it.

Its arguments are the number of the socket to that process, and the style of the log. It leaves signals to its parent:
a terminal sends them to both, and running requests must finish first.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
from typing import Literal, cast

from service.engine_process.channel import MessageChannel
from service.engine_process.protocol import FromEngine, ToEngine
from service.engine_process.server.engine_server import EngineServer, latest_loads
from service.logs import configure_logging

STATUS_SECONDS = 0.25  # between two reports
SWITCH_SECONDS = 0.0001  # the time that a thread may keep the interpreter's lock; Python's default is 0.005
COLLECT_AFTER = 10_000  # new containers after which the garbage collector looks for cycles; Python's default is 700


def prepare_interpreter() -> None:
    """Set up Python for a process that serves, after its imports.

    The collector never looks at what has been imported, and rarely at the objects of requests: with tens of requests
    in flight its default takes a seventh of the HTTP process' time. What is loaded later is collected as usual.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])


def main() -> None:
    """Serve until the parent closes the connection."""
    descriptor, level, style = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    configure_logging(level, cast(Literal["auto", "json", "console"], style))
    prepare_interpreter()
    over = threading.Event()

    channel: MessageChannel[FromEngine, ToEngine]
    server = EngineServer(lambda message: channel.send(message), lambda message: channel.send_later(message))
    end = socket.socket(fileno=int(descriptor))
    channel = MessageChannel(end, server.receive, over.set, server.undelivered, latest_loads)
    channel.start()
    while not over.wait(STATUS_SECONDS):
        if channel.full:
            continue  # the client does not read now; it gets the next report
        for status in server.statuses():
            channel.send(status)
    # Exit at once: no client is left, and a hanging run must not keep the process alive.
    os._exit(0)


if __name__ == "__main__":
    main()
