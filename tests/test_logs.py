"""Log lines: one JSON object each, without the messages of exceptions, from any library."""

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from service.logs import configure_logging, get_logger, log_often
from tests.support import log_state


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    with log_state.kept():
        configure_logging("info", "json", stream)
        yield stream


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


def test_a_line_break_in_a_value_does_not_make_a_second_line(stream: io.StringIO) -> None:
    get_logger("service").info("a\nb", value='c\n{"event": "forged"}')
    assert len(lines(stream)) == 1


def test_a_terminal_gets_readable_text() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with log_state.kept():
        terminal = Terminal()
        configure_logging("info", "auto", terminal)
        get_logger("service").info("ready", port=8000)
        assert "ready" in terminal.getvalue()
        assert not terminal.getvalue().startswith("{")


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
    with log_state.kept():
        configure_logging("info", "console", stream)
        log_often("request", {"route": "/translate"})
    assert "request" in stream.getvalue()
    assert "route=/translate" in stream.getvalue()
