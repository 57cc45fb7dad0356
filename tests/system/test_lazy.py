"""Ten models behind one server with memory for a few: all answer, and the memory stays below the limit."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from service.engine.opening.memory import MEBIBYTE, resident_bytes
from tests.support.made_up_bundles import write_copies, write_made_up_bundles
from tests.support.server import ServerProcess, metric, running

LANGUAGES = ("de", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv", "uk")


@pytest.fixture(scope="module")
def ten_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_made_up_bundles(tmp_path_factory.mktemp("made-up"))
    return write_copies(folder / "transformer-en-fr", tmp_path_factory.mktemp("ten"), LANGUAGES)


def lazy_server(folder: Path, limit: int = 1_000_000) -> AbstractContextManager[ServerProcess]:
    settings = {"TRANSLUCENT_MODELS_DIR": str(folder), "TRANSLUCENT_MEMORY_LIMIT_MB": str(limit)}
    return running("-m", "service", "serve", "--device", "cpu", **settings)


def memory(server: ServerProcess) -> int:
    """Return the resident memory of the server and its engine process."""
    engines = [pid for pid in server.children if b"engine_process" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return resident_bytes([server.process.pid, *engines])


def translate(url: str, target: str) -> httpx.Response:
    fields = {"q": "I lost.", "source": "en", "target": target, "beam_size": 1, "max_length": 4}
    return httpx.post(f"{url}/translate", json=fields)


def states(url: str) -> dict[str, str]:
    return {model["target"]: model["state"] for model in httpx.get(f"{url}/models").json()["models"]}


def test_ten_models_answer_below_a_memory_limit_for_three(ten_models: Path) -> None:
    with lazy_server(ten_models) as server:
        url = server.url
        assert set(states(url).values()) == {"closed"}
        assert [len(each["targets"]) for each in httpx.get(f"{url}/languages").json() if each["code"] == "en"] == [11]
        assert translate(url, "fr").status_code == 200
        assert httpx.post(f"{url}/detect", data={"q": "I lost."}).status_code == 200
        idle = memory(server)
        assert states(url)["fr"] == "ready"
    limit = idle // MEBIBYTE + 22  # each of the ten needs 2, and 17 are expected of it: the tenth would need 34
    with lazy_server(ten_models, limit) as server:
        url = server.url
        assert httpx.post(f"{url}/detect", data={"q": "I lost."}).status_code == 200  # loading it has a peak
        most = 0
        for target in LANGUAGES:
            assert translate(url, target).status_code == 200
            most = max(most, memory(server))
        with ThreadPoolExecutor(8) as clients:
            answers = clients.map(lambda target: translate(url, target).status_code, LANGUAGES)
            assert set(answers) == {200}
        most = max(most, memory(server))
        assert most <= limit * MEBIBYTE
        assert {"ready", "closed"} == set(states(url).values())
        assert metric(url, "model_ready") == 10
        listed = httpx.get(f"{url}/models").json()["models"]
        assert all(model["last_used"].endswith("Z") for model in listed)
