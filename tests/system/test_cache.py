"""The cache of a real server answers each API key with its own results: no client learns what another one has sent."""

from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from service.cli.main import cli
from tests.support.server import metric, running
from tests.support.toy_onnx import write_speaking_bundle

TEXT = {"q": "I lost my dog.", "source": "en", "target": "fr"}


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_second_key_is_never_answered_with_what_the_first_has_sent(tmp_path: Path, place: str) -> None:
    file = str(tmp_path / "keys.json")
    first, second = (
        CliRunner().invoke(cli, ["keys", "add", name, "--file", file]).stdout.strip() for name in ("first", "second")
    )
    write_speaking_bundle(tmp_path / "models" / "transformer-en-fr")
    settings = {"TRANSLUCENT_MODELS_DIR": str(tmp_path / "models"), "TRANSLUCENT_CACHE_MB": "64"}
    with running("-m", "service", "serve", "--device", "cpu", TRANSLUCENT_API_KEYS_FILE=file, **settings) as server:

        def hits(key: str | None) -> tuple[float, dict[str, object]]:
            """Return how many sentences the cache has answered after a request with this key, and its answer."""
            fields = TEXT | ({"api_key": key} if key and place == "body" else {})
            headers = {"Authorization": f"Bearer {key}"} if key and place == "header" else {}
            answer = httpx.post(f"{server.url}/translate", json=fields, headers=headers, timeout=60)
            assert answer.status_code == 200, answer.text
            return metric(server.url, "cache_sentences_total", result="hit"), answer.json()

        found = [hits(key) for key in (first, second, None, first, second, None)]
    assert [count for count, _ in found] == [0, 0, 0, 1, 2, 3]
    assert all(answer == found[0][1] for _, answer in found)
