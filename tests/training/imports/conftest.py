"""Models of the hub's form that several files import."""

from pathlib import Path

import pytest

from tests.training.imports.marian_models import MarianShape, train_pieces, write_model
from tests.training.imports.toy_marian import train
from tests.training.imports.toy_text import PAIRS


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a MarianMT model that has learnt the toy language."""
    folder, shape = tmp_path_factory.mktemp("toy") / "opus-mt-en-fr", MarianShape(byte_fallback=True)
    folder.mkdir()
    train_pieces(folder, shape)
    train(folder, shape, [("", *pair[:2]) for pair in PAIRS], updates=220, rate=3e-3)
    return folder


@pytest.fixture(scope="session")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a MarianMT model of random weights."""
    folder = tmp_path_factory.mktemp("random") / "opus-mt-en-fr"
    write_model(folder)
    return folder
