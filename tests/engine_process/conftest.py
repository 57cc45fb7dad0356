import pytest

from service.bundle.load import Bundle, load_bundle
from tests.support.toy_onnx import write_toy_bundle


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return load_bundle(write_toy_bundle(tmp_path_factory.mktemp("toy") / "toy"))
