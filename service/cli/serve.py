"""`translucent serve`."""

import errno
import socket
from typing import Annotated, Literal

import typer

from service.access.keys import KeyFileError
from service.cli.options import (
    FAILED,
    WRONG,
    Device,
    IntraThreads,
    ModelsDir,
    fail,
    read_settings,
)
from service.engine import EngineError
from service.tracing import TracingError


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [env: TRANSLUCENT_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [env: TRANSLUCENT_PORT]")] = None,
    models_dir: ModelsDir = None,
    device: Device = None,
    intra_threads: IntraThreads = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="Lowest level of log lines that are written. [env: TRANSLUCENT_LOG_LEVEL]"),
    ] = None,
) -> None:
    """Serve all models of a folder over HTTP until SIGTERM or Ctrl-C.

    Every setting is an environment variable that begins with TRANSLUCENT_; `translucent settings` lists them all.
    The options here win over the environment.
    """
    settings = read_settings(
        host=host,
        port=port,
        models_dir=models_dir,
        device=device,
        intra_threads=intra_threads,
        log_level=log_level,
    )
    # Only serving needs the HTTP libraries; the other commands start faster without them.
    from service.server.main import serve_models

    if taken := port_in_use(settings.host, settings.port):
        fail(taken, FAILED)
    try:
        code = serve_models(settings)
    except EngineError as error:
        fail(error.message, FAILED)
    except TracingError as error:
        fail(str(error), WRONG)
    except KeyFileError as error:
        fail(f"TRANSLUCENT_API_KEYS_FILE: {error}", WRONG)
    raise typer.Exit(code)


def port_in_use(host: str, port: int) -> str | None:
    """Return why nobody can listen at an address, before the models are loaded; None if it is free."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(address)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be opened ({error.strerror})"
        return f"Port {port} of {host} {reason}; choose another one with --port or TRANSLUCENT_PORT."
    return None
