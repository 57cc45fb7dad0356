"""The server of the shipped models whose addresses the docs name."""

from collections.abc import Iterator

import pytest

from tests.support.server import running


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    with running("-m", "service", "serve") as server:
        yield server.url.partition("://")[2].rstrip("/")
