"""Settings of every test: one thread for each library, so that runs do not differ; logging as it was before.

No test fails for the clock of a busy machine: requests of httpx without a timeout of their own have a long one.
"""

import inspect
import logging
import os
import sys
import threading
from collections.abc import Iterator

import httpx
import pytest
import structlog

from tests.support.polling import PATIENCE

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

default = inspect.signature(httpx.get).parameters["timeout"].default  # one object, that of every client and function
default.connect = default.read = default.write = default.pool = PATIENCE


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Put logging back after a test that sets it up: it is one state for the whole process."""
    root = logging.getLogger()
    # Captured under another test's filters, warnings would not be captured again: pytest has put their printing back.
    logging.captureWarnings(False)
    handlers, level = root.handlers[:], root.level
    hooks = threading.excepthook, sys.unraisablehook
    yield
    threading.excepthook, sys.unraisablehook = hooks
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)
    structlog.reset_defaults()
