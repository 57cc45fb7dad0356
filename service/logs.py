"""Log lines: JSON (or plain sentences on a terminal), one format for our own code, uvicorn and warnings alike.

No line ever holds the text of a user. Exceptions are written as their type and their stack frames, never with their
message, because the message of a library's exception may quote its input.
"""

import collections
import contextlib
import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from service.log_writer import LogWriter

Style = Literal["auto", "json", "console"]
ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def describe_exception(error: BaseException) -> dict[str, Any]:
    """Return an exception as type, frames and causes, without messages and without source lines."""
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    described: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}", "frames": frames}
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and cause is not error:
        described["cause"] = f"{type(cause).__module__}.{type(cause).__qualname__}"
    return described


def strip_exceptions(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by `describe_exception`, so that no formatter prints the message."""
    info = event.pop("exc_info", None)
    error: BaseException | None = None
    if isinstance(info, BaseException):
        error = info
    elif isinstance(info, tuple) and len(info) == 3 and isinstance(info[1], BaseException):
        error = info[1]
    elif info:
        error = sys.exc_info()[1]
    if error is not None:
        event["exception"] = describe_exception(error)
    return event


def drop_colour(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Drop the copy of each message with terminal colours, which uvicorn adds."""
    event.pop("color_message", None)
    return event


_PROCESSORS: tuple[Processor, ...] = (
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    drop_colour,
    strip_exceptions,
)


def configure_logging(
    level: str = "info",
    style: Style = "auto",
    stream: TextIO | None = None,
    on_drop: Callable[[int], object] = lambda _lines: None,
) -> None:
    """Route structlog, the standard library's loggers and warnings to `stream`.

    Without a stream, lines go to standard output, written in a thread; `on_drop` is called with the number of lines
    that are dropped because nobody reads them.
    """
    out = stream if stream is not None else _standard_output(on_drop)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    as_json = style == "json" or (style == "auto" and not out.isatty())
    handler = JsonLines(out) if as_json else Lines(out)
    if style == "auto" and not as_json:
        handler.addFilter(worth_a_plain_line)
        handler.setFormatter(_formatter(plain_line))
    elif as_json:
        handler.setFormatter(_formatter(structlog.processors.JSONRenderer(ensure_ascii=False)))
    else:
        handler.setFormatter(_formatter(structlog.dev.ConsoleRenderer(colors=out.isatty())))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    _redirect_libraries()


def _standard_output(on_drop: Callable[[int], object]) -> TextIO | LogWriter:
    """Return a writer of standard output; the stream itself if it is no file, as in a notebook."""
    try:
        descriptor = sys.stdout.fileno()
    except OSError:
        return sys.stdout
    return LogWriter(descriptor, on_drop, _say_dropped)


def log_often(event: str, values: Mapping[str, Any]) -> None:
    """Write the same line as `get_logger(...).info(event, **values)`, for what every request writes.

    A line costs a tenth of the time where lines are JSON, because neither an event nor a record is made.
    """
    root = logging.getLogger()
    handler = root.handlers[0] if len(root.handlers) == 1 else None
    if isinstance(handler, JsonLines):
        if root.level <= logging.INFO:
            handler.write(event, values)
    else:
        get_logger(__name__).info(event, **values)


_ENCODER = json.JSONEncoder(ensure_ascii=False)  # json.dumps makes a new one for each line


def _say_dropped(lines: int) -> None:
    get_logger(__name__).warning("log lines were dropped, because they were not read in time", lines=lines)


class Lines(logging.StreamHandler[TextIO | LogWriter]):
    """Writes lines; the end of the process waits a limited time for what is not written yet."""

    def close(self) -> None:
        """Wait for the thread that writes."""
        if isinstance(self.stream, LogWriter):
            self.stream.finish()
        super().close()


class JsonLines(Lines):
    """Writes JSON lines, of records and directly."""

    def write(self, event: str, values: Mapping[str, Any]) -> None:
        """Write an event of the level "info" with plain values."""
        moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {**values, "event": event, "level": "info", "timestamp": moment}
        with self.lock or contextlib.nullcontext():
            try:
                self.stream.write(_ENCODER.encode(line) + self.terminator)
                self.stream.flush()
            except Exception:  # as the standard library's handlers: a full disk must not cost the request
                self.handleError(logging.LogRecord(__name__, logging.INFO, __file__, 0, event, None, None))


PLAIN = {
    "model ready": "{model} is loaded",
    "ready": "Translucent is ready: {open} (Ctrl-C to stop)",
    "request": "{method} {route}: {status} in {seconds} s",
    "stopping": "Stopping …",
    "stopped": "Stopped.",
}
QUIET = ("engine processes", "listening")  # of interest to operators, whose logs are JSON


def worth_a_plain_line(record: logging.LogRecord) -> bool:
    """Return whether somebody at a terminal wants to read a record: no library's, no successful loading of a page."""
    if record.levelno > logging.INFO:
        return True
    event = record.msg if isinstance(record.msg, dict) else {}
    page = event.get("method") == "GET" and event.get("status", 0) < 400
    return bool(event) and event["event"] not in QUIET and not page


def plain_line(_logger: WrappedLogger, _name: str, event: EventDict) -> str:
    """Return an event as a sentence for people; warnings have all of their values."""
    level = event.pop("level", "info")
    event.pop("timestamp", None)
    text = str(event.pop("event"))
    if text in PLAIN and level == "info":
        line = PLAIN[text].format_map(collections.defaultdict(str, event))
    else:
        values = ", ".join(f"{name}: {value}" for name, value in event.items())
        line = f"{text} ({values})" if values else text
    return " ".join(line.split()) if level == "info" else f"{level.capitalize()}: {' '.join(line.split())}"


def _formatter(render: Processor) -> logging.Formatter:
    """Return a formatter for structlog's events and for the records of other loggers."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *_PROCESSORS],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
    )


def _redirect_libraries() -> None:
    """Send the records of uvicorn, asyncio and the warnings module to the root logger."""
    # Uvicorn's own access lines hold the query string, and with it the text of the user.
    logging.getLogger("uvicorn.access").disabled = True
    for name in ("uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # Events inside asyncio matter to operators only if something fails.
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # its warnings quote the headers of forms
    logging.captureWarnings(True)
    # They would print the messages of exceptions, to a standard error that may block.
    threading.excepthook = lambda failed: _log_unhandled("a thread failed", failed.exc_value)
    sys.unraisablehook = lambda failed: _log_unhandled("an exception could not be raised", failed.exc_value)


def _log_unhandled(event: str, error: BaseException | None) -> None:
    get_logger(__name__).error(event, exc_info=error)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger that takes an event and named values: `log.info("stopped", seconds=1.2)`."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
