"""The shipped models on odd inputs: never endless, and numbers and addresses come through."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests.robustness.inputs import EXPECTED, KINDS

MODELS = sorted(  # the inputs are English
    path.parent
    for path in (Path(__file__).parents[2] / "models").glob("*/manifest.json")
    if json.loads(path.read_text("utf-8")).get("source_languages") == ["en"]
)
SPELT = {"7": ("sept", "sieben")}  # as good as the figure
KEPT = 0.95  # which share of numbers and addresses has to be in the translations


@pytest.fixture(scope="module", params=MODELS, ids=lambda folder: folder.name)
def model(request: pytest.FixtureRequest) -> Path:
    folder = request.param
    assert isinstance(folder, Path)
    return folder


@pytest.fixture(scope="module")
def translated(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the command's translations by kind."""
    folder = tmp_path_factory.mktemp("odd")
    given, found = folder / "given.txt", folder / "found.txt"
    given.write_text("\n".join(text for texts in KINDS.values() for text in texts) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "service", "translate", "--model", str(model), "--split-sentences"]
    subprocess.run([*command, "--input", str(given), "--output", str(found)], check=True)
    lines = iter(found.read_text(encoding="utf-8").splitlines())
    return {kind: [next(lines) for _ in texts] for kind, texts in KINDS.items()}


def is_loop(text: str) -> bool:
    """Return whether words, four or more with their repetitions, occur three times in a row."""
    words = text.lower().split()
    for period in range(1, len(words) // 3 + 1):
        run = 0
        for word, before in zip(words[period:], words, strict=False):
            run = run + 1 if word == before else 0
            if run >= max(4, 2 * period):
                return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_empty_endless_or_a_loop(model: Path, translated: dict[str, list[str]], kind: str) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))

    def length(text: str) -> int:
        return len(tokenizer.encode(text).ids)

    for source, target in zip(KINDS[kind], translated[kind], strict=True):
        assert target.strip(), source
        assert length(target) <= 3 * length(source) + 10, (source, target)
        assert is_loop(source) or not is_loop(target), (source, target)


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_has_to_be_copied_comes_through(model: Path, translated: dict[str, list[str]], kind: str) -> None:
    def there(wanted: str, text: str) -> bool:
        if wanted.isdigit():
            text = re.sub(r"(?<=\d)[\s.,\u202f](?=\d)", "", text)
        return any(form in text for form in (wanted, *SPELT.get(wanted, ())))

    lost = [
        f"{source} → {target}"
        for source, target, wanted in zip(KINDS[kind], translated[kind], EXPECTED[kind], strict=True)
        if not there(wanted, target)
    ]
    assert len(KINDS[kind]) - len(lost) >= KEPT * len(KINDS[kind]), "\n".join(lost)
