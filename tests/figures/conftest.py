"""One drawing process for all tests of this folder: starting it takes a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.figures.artist import Artist


@pytest.fixture(scope="session")
def artist() -> Iterator[Artist]:
    artist = Artist(seconds=60)
    yield artist
    artist.close()
