"""A folder of models with a tiny sentence-embedding model."""

from pathlib import Path

import pytest

from tests.support.embedding import tiny_models


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models(tmp_path_factory.mktemp("embedding"))
