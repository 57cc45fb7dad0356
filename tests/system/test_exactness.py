"""Mixed requests get the same bytes with 1 and 3 engine processes, with and without the cache, streamed or not."""

from pathlib import Path

from benchmarks.exactness import CONFIGURATIONS, answers_of, differences, mixed_requests, unequal_streams
from tests.support.server import metric, running
from tests.support.toy_onnx import write_speaking_bundle

TEXTS = [
    *("I lost.", "He's calm.", "Go on.", "I'm home, and she isn't! Go, go, go.", "The cat; the dog.", "It is late."),
    *("The boat was sold in 1987 for $3,250.", "Write to help@example.org.", "Why not? Because. I said so, twice."),
]


async def test_configurations_change_no_byte_of_any_answer(tmp_path: Path) -> None:
    write_speaking_bundle(tmp_path / "transformer-en-fr")
    requests = mixed_requests(TEXTS, 60, max_length=8)  # the toy model rarely ends by itself
    found: dict[str, list[bytes]] = {}
    for name in ("1 engine process", "3 engine processes, cache"):
        # The toy model writes tokens that its tokenizer lacks, which values cannot be found among.
        settings = {"TRANSLUCENT_MODELS_DIR": str(tmp_path), "TRANSLUCENT_VALUES": "off", **CONFIGURATIONS[name]}
        with running("-m", "service", "serve", "--device", "cpu", **settings) as server:
            found[name] = await answers_of(server.url, requests)
            looked_up = metric(server.url, "cache_sentences_total", result="hit")
            assert (looked_up > 20) is name.endswith("cache")
    expected = found["1 engine process"]
    for name, answers in found.items():
        assert differences(requests, expected, answers) == [], name
        assert unequal_streams(requests, answers) == 0, name
