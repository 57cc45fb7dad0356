"""Log lines: one JSON object each, without the messages of exceptions, from any library."""

import fcntl
import io
import json
import logging
import os
import threading
import warnings
from typing import Any

import pytest

from service.log_writer import LogWriter
from service.logs import configure_logging, get_logger, log_often
from service.server.uvicorn_server import browsable
from tests.support.polling import wait_until


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail() -> None:
    raise ValueError("the secret text of a user")


def test_our_lines_and_those_of_libraries_look_the_same(stream: io.StringIO) -> None:
    get_logger("service").info("ready", seconds=1.5, name_of="é")
    logging.getLogger("uvicorn.error").info("Started %s", "server", extra={"color_message": "x"})
    logging.getLogger("library").debug("too quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.warn("take care", UserWarning, stacklevel=1)
    ours, theirs, warned = lines(stream)
    assert (ours["event"], ours["level"], ours["seconds"], ours["name_of"]) == ("ready", "info", 1.5, "é")
    assert (theirs["event"], theirs["level"]) == ("Started server", "info")
    assert set(theirs) == {"event", "level", "timestamp"}
    assert warned["level"] == "warning"


def test_exceptions_are_named_and_located_but_not_quoted(stream: io.StringIO) -> None:
    for write in (get_logger("service").exception, logging.getLogger("library").exception):
        try:
            fail()
        except ValueError:
            write("it failed")
    assert "secret" not in stream.getvalue()
    for line in lines(stream):
        assert line["exception"]["type"] == "builtins.ValueError"
        assert line["exception"]["frames"][-1].endswith(" fail")


def test_the_failure_of_a_thread_is_a_line_as_any_other(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    [line] = lines(stream)
    assert (line["level"], line["exception"]["type"]) == ("error", "builtins.ValueError")
    assert "secret" not in stream.getvalue() + capsys.readouterr().err


def test_a_line_break_in_a_value_does_not_make_a_second_line(stream: io.StringIO) -> None:
    get_logger("service").info("a\nb", value='c\n{"event": "forged"}')
    assert len(lines(stream)) == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_plain_sentences_and_last_the_address() -> None:
    log = get_logger("service")
    terminal = Terminal()
    configure_logging("info", "auto", terminal)
    logging.getLogger("uvicorn.error").info("Started server process")
    log.info("model ready", model="small", digest="sha256:0", precision="int8")
    log.info("listening", url="http://0.0.0.0:8000")
    log.info("ready", open="http://localhost:8000/", seconds=1.5)
    written = terminal.getvalue().splitlines()
    assert written == ["small is loaded", "Translucent is ready: http://localhost:8000/ (Ctrl-C to stop)"]


def test_a_terminal_shows_warnings_whole_and_requests_but_not_the_files_of_the_page() -> None:
    log = get_logger("service")
    terminal = Terminal()
    configure_logging("info", "auto", terminal)
    log_often("request", {"method": "GET", "route": "/web/{name}", "status": 200, "seconds": 0.1})
    log_often("request", {"method": "GET", "route": "/web/{name}", "status": 404, "seconds": 0.1})
    log_often("request", {"method": "POST", "route": "/translate", "status": 200, "seconds": 0.2})
    log.warning("it is late", by="two\nhours")
    written = terminal.getvalue().splitlines()
    assert written == [
        "GET /web/{name}: 404 in 0.1 s",
        "POST /translate: 200 in 0.2 s",
        "Warning: it is late (by: two hours)",
    ]


@pytest.mark.parametrize("style", ["console", "json"])
def test_a_terminal_gets_the_format_that_is_asked_for(style: Any) -> None:
    terminal = Terminal()
    configure_logging("info", style, terminal)
    get_logger("service").info("listening", port=8000)
    assert "listening" in terminal.getvalue()
    assert terminal.getvalue().startswith("{") == (style == "json")


@pytest.mark.parametrize("address", ["http://0.0.0.0:8000", "http://127.0.0.1:8000", "http://[::]:8000"])
def test_the_address_of_the_page_is_one_that_people_know(address: str) -> None:
    assert browsable(address) == "http://localhost:8000/"
    assert browsable("http://10.0.0.7:80") == "http://10.0.0.7:80/"


def test_frequent_lines_look_like_all_others(stream: io.StringIO) -> None:
    values = {"route": "/translate", "seconds": 0.25, "name_of": "é\n"}
    get_logger("service").info("request", **values)
    log_often("request", values)
    logging.getLogger().setLevel(logging.WARNING)
    log_often("request", values)
    ours, often = lines(stream)
    assert list(ours) == list(often)
    assert len(ours.pop("timestamp")) == len(often.pop("timestamp"))
    assert ours == often


def test_frequent_lines_are_readable_on_a_terminal() -> None:
    stream = io.StringIO()
    configure_logging("info", "console", stream)
    log_often("request", {"route": "/translate"})
    assert "request" in stream.getvalue()
    assert "route=/translate" in stream.getvalue()


def test_lines_that_find_no_room_are_dropped_and_counted_and_the_next_ones_are_written() -> None:
    reader, pipe = os.pipe()
    capacity = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
    os.write(pipe, b"a" * capacity)
    dropped: list[int] = []
    said: list[int] = []
    writer = LogWriter(pipe, dropped.append, said.append, room=1000)
    lines = [f"{number:99}\n" for number in range(50)]
    for line in lines:
        writer.write(line)
    assert 28 <= sum(dropped) <= 40
    os.read(reader, capacity)
    wait_until(lambda: bool(said))
    writer.write("end\n")
    writer.finish()
    written = os.read(reader, capacity).decode().splitlines(keepends=True)
    assert set(written) < {*lines, "end\n"}
    assert len(written) == len(lines) - sum(dropped) + 1
    assert said == [sum(dropped)]


def test_a_pipe_that_is_closed_loses_lines_and_nothing_else() -> None:
    reader, pipe = os.pipe()
    os.close(reader)
    dropped: list[int] = []
    writer = LogWriter(pipe, dropped.append, lambda _lines: None)
    writer.write("a\n")
    writer.finish()
    assert dropped == [1]
