"""One drawing process for all tests of this folder: starting it takes a second."""

from collections.abc import Iterator

import pytest

from service.figures.renderer import FigureRenderer


@pytest.fixture(scope="session")
def renderer() -> Iterator[FigureRenderer]:
    renderer = FigureRenderer(seconds=60)
    yield renderer
    renderer.close()
