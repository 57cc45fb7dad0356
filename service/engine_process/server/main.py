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

from service.engine_process.channel import Wire
from service.engine_process.protocol import FromEngine, ToEngine
from service.engine_process.server.engine_server import Host
from service.logs import configure_logging

VITALS_SECONDS = 0.25  # between two reports
SWITCH_SECONDS = 0.0001  # that a thread may keep others waiting for the interpreter's lock; Python's own is 0.005


def main() -> None:
    """Serve until the parent hangs up."""
    descriptor, level, style = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    configure_logging(level, cast(Literal["auto", "json", "console"], style))
    sys.setswitchinterval(SWITCH_SECONDS)
    over = threading.Event()

    wire: Wire[FromEngine, ToEngine]
    host = Host(lambda message: wire.send(message), lambda message: wire.send_later(message))
    wire = Wire(socket.socket(fileno=int(descriptor)), host.receive, over.set, host.undelivered)
    wire.start()
    while not over.wait(VITALS_SECONDS):
        if wire.full:
            continue  # nobody reads; what is not told now is told when somebody does
        for vitals in host.vitals():
            wire.send(vitals)
    # At once: nobody is left to hear of what still runs, and a run that hangs must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
