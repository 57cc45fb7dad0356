"""Uvicorn's server with a drain: runs the application in one process and stops it without the loss of a request.

On SIGHUP the server loads the changes in the folder of models; see service.server.reload.
On SIGTERM or SIGINT: /health/ready answers 503 at once, new requests are still accepted for `drain_delay_seconds`, then
the server stops listening, and running requests may finish within `drain_timeout_seconds`. A second signal stops it
at once.
"""

import asyncio
import contextlib
import ctypes
import functools
import os
import re
import signal
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from types import FrameType

import uvicorn
from fastapi import FastAPI

from service.access.addresses import parse_networks
from service.access.connections import Connections
from service.api.app import create_app
from service.api.state import Service, reload_models
from service.logs import describe_exception, get_logger
from service.server.connection_limits import ConnectionPolicy
from service.server.exposure import descriptor_warning, exposure_warning, possible_connections
from service.server.http_protocol import LimitedProtocol
from service.server.reload import Hangup

log = get_logger(__name__)

KEEP_ALIVE_SECONDS = 75  # longer than the idle limit of usual load balancers, so that they close first
STALLED_SECONDS = 30.0  # time that a stalled model has to recover after readiness has failed because of it
LAST_READ_SECONDS = 0.2  # time for a request that was sent before the server stops listening
LONGEST_READ_SECONDS = 2.0  # the same on a busy machine that has not read the request yet
SO_ATTACH_FILTER, RETURN = 26, 6  # of Linux: asm-generic/socket.h, bpf_common.h


class DrainingServer(uvicorn.Server):
    """Uvicorn, with a drain before its shutdown; `exit_code` is set afterwards."""

    def __init__(self, service: Service) -> None:
        self.service, self.registry = service, service.registry
        self.exit_code = 0
        self._stop_at: float | None = None
        self._stalled_since: float | None = None
        self._listening = asyncio.Event()
        self._addresses: list[str] = []
        settings = service.settings
        self._connection_limit = possible_connections()
        connections = Connections(self._connection_limit, parse_networks(settings.trusted_proxies))
        policy = ConnectionPolicy(connections, functools.partial(service.metrics.count, "connections_cut_off"))
        super().__init__(
            uvicorn.Config(
                create_app(service, self._lifespan),
                host=settings.host,
                port=settings.port,
                http=functools.partial(LimitedProtocol, policy),  # type: ignore[arg-type]
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=max(1, round(settings.drain_timeout_seconds)),
            )
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        # The server listens at once, so that probes find a live process that is not ready yet.
        starting = asyncio.create_task(self._start_registry())
        loop = asyncio.get_running_loop()
        hangup = Hangup(lambda: reload_models(self.service), lambda: self.handle_exit(signal.SIGHUP, None))
        loop.add_signal_handler(signal.SIGHUP, hangup)
        yield
        loop.remove_signal_handler(signal.SIGHUP)
        starting.cancel()
        await asyncio.wait([starting])
        await self.registry.stop(0.0)

    async def _start_registry(self) -> None:
        began = time.perf_counter()
        try:
            await self.registry.start()
        except Exception as error:
            log.critical("the models did not start", reason=type(error).__name__, **describe_exception(error))
            self.fail()
            return
        self.service.metrics.show_models(self.registry.models())
        for info in self.registry.models():
            log.info(
                "model ready",
                model=info.name,
                digest=info.digest,
                device=info.device,
                provider=info.provider,
                precision=info.precision,
            )
        seconds = round(time.perf_counter() - began, 3)
        await self._listening.wait()  # so that the line with the address is the last one of a start
        log.info("ready", open=browsable(self._addresses[0]), seconds=seconds)

    def fail(self, delay: float = 0.0) -> None:
        """Stop after `delay` seconds, with an exit code that tells the supervisor that the stop is a failure."""
        self.exit_code = 1
        self.service.draining = True
        self._stop_at = time.monotonic() + delay

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start the drain at the first signal and stop at once at the next."""
        if self._stop_at is None:
            self.service.draining = True
            self._stop_at = time.monotonic() + self.service.settings.drain_delay_seconds
        elif time.monotonic() >= self._stop_at or sig == signal.SIGINT:
            self.should_exit = self.force_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Check the engine and the drain; this runs ten times a second."""
        if self._stop_at is None:
            self._check_engine()
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            self.should_exit = True
        return await super().on_tick(counter)

    def _check_engine(self) -> None:
        if self.registry.dead:
            log.critical("every model has been given up; stopping so that the process is restarted")
            self.fail(self.service.settings.drain_delay_seconds)  # time for clients to go elsewhere
        elif not self.registry.stalled:
            self._stalled_since = None
        elif self._stalled_since is None:
            # The time counts from here: after a pause of the whole process the engine has time to recover.
            self._stalled_since = time.monotonic()
            log.error("a model hangs; not ready until it continues")
        elif time.monotonic() - self._stalled_since >= STALLED_SECONDS:
            log.critical("a model hangs; stopping so that the process is restarted")
            self.fail(self.service.settings.drain_delay_seconds)

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start, and print the address in one line that a program can read."""
        settings = self.service.settings
        few = descriptor_warning(self._connection_limit)
        for warning in (exposure_warning(settings), few):
            if warning:
                log.warning(warning)
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            for listener in self.servers:
                for sock in listener.sockets:
                    host, port = sock.getsockname()[:2]
                    self._addresses.append(f"http://{f'[{host}]' if ':' in host else host}:{port}")
                    log.info("listening", url=self._addresses[-1])
            self._listening.set()

    async def _take(self, connection: socket.socket) -> None:
        """Serve a connection that was not accepted by the event loop."""
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(
            lambda: self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            ),
            connection,
        )

    async def _accept_sent_requests(self) -> None:
        """Wait for requests that have been sent, longer for connections without a request so far."""
        begun = time.monotonic()
        await asyncio.sleep(LAST_READ_SECONDS)
        while time.monotonic() < begun + LONGEST_READ_SECONDS:
            if all(
                getattr(connection, "cycle", connection) is not None for connection in self.server_state.connections
            ):
                return
            await asyncio.sleep(LAST_READ_SECONDS / 4)

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Stop listening, accept requests that have been sent, then let running requests finish."""
        log.info("stopping", connections=len(self.server_state.connections), tasks=len(self.server_state.tasks))
        late = []
        for listener in self.servers:
            if not self.force_exit:
                late += [connection for each in listener.sockets for connection in waiting_connections(each.fileno())]
            listener.close()
        for connection in late:
            await self._take(connection)
        if not self.force_exit:
            # Uvicorn would reset connections that it has accepted but whose request it has not read.
            await self._accept_sent_requests()
        await super().shutdown(sockets)  # type: ignore[arg-type]
        log.info("stopped", exit_code=self.exit_code)


def browsable(address: str) -> str:
    """Return the address of the page for a browser on this machine, which cannot open "every interface"."""
    return re.sub(r"//(0\.0\.0\.0|127\.0\.0\.1|\[::1?\]):", "//localhost:", address) + "/"


def waiting_connections(listener: int) -> Iterator[socket.socket]:
    """Accept the connections that wait in the kernel at a listening socket: to close it would reset them."""
    with socket.socket(fileno=os.dup(listener)) as copy:
        copy.setblocking(False)
        drop_new_connections(copy)
        while True:
            try:
                connection, _ = copy.accept()
            except BlockingIOError:
                return
            connection.setblocking(False)
            yield connection


def drop_new_connections(listener: socket.socket) -> None:
    """Have the kernel drop the packets of new clients: a connection made before the close would be reset.

    These clients try again within a second and find the port closed. Only Linux has such filters.
    """
    program = ctypes.create_string_buffer(struct.pack("HBBI", RETURN, 0, 0, 0))  # keep zero bytes of each packet
    with contextlib.suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))


async def serve(service: Service) -> int:
    """Serve until the process is stopped, and return its exit code."""
    server = DrainingServer(service)
    try:
        await server.serve()
    except SystemExit:
        # Uvicorn exits like this if it cannot listen; the reason is in the log.
        return 1
    return server.exit_code if server.started else 1
