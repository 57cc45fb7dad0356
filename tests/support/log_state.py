"""Logging is one state for a whole process; a test that configures it puts it back."""

import contextlib
import logging
from collections.abc import Iterator

import structlog


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Put structlog and the standard library's logging back at the end."""
    root = logging.getLogger()
    # Captured under another test's filters, warnings would not be captured again: pytest has put their printing back.
    logging.captureWarnings(False)
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:], root.level = handlers, level
        logging.captureWarnings(False)
        structlog.reset_defaults()
