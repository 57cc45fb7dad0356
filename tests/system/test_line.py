"""The whole line, as a user walks it: text → vocabulary → training → ONNX → command line and HTTP."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
import sacrebleu

from tests.support.paths import ROOT
from tests.support.server import running

RECIPES = {"transformer": "toy", "bahdanau": "toy-bahdanau"}


def run(*arguments: object) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module", params=sorted(RECIPES))
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a trained toy: its run folder, and the folder that contains its bundle."""
    runs = tmp_path_factory.mktemp(request.param)
    name = RECIPES[request.param]
    recipe = ROOT / "training" / "recipes" / f"{name}.yaml"
    run("training", "prepare", recipe, "--runs", runs)
    run("training", "train", recipe, "--runs", runs)
    run("training", "export", runs / name, "--output", runs / "models" / name)
    return runs / name, runs / "models"


@pytest.fixture(scope="module")
def development(line: tuple[Path, Path]) -> list[list[str]]:
    """Return sentences that were held out of training, and their translations."""
    rows = [row.split("\t") for row in (line[0] / "development.tsv").read_text().splitlines()]
    return [[row[side] for row in rows] for side in (1, 2)]


def test_held_out_sentences_come_out_right(
    line: tuple[Path, Path], development: list[list[str]], tmp_path: Path
) -> None:
    sources, references = development
    run_folder, models = line
    (tmp_path / "in").write_text("\n".join(sources) + "\n")
    bundle = models / run_folder.name
    run("service", "translate", "--model", bundle, "--input", tmp_path / "in", "--output", tmp_path / "out")
    run("training", "evaluate", run_folder, "--output", tmp_path / "scores.json")
    served = sacrebleu.corpus_bleu((tmp_path / "out").read_text().splitlines(), [references]).score
    trained = json.loads((tmp_path / "scores.json").read_text())["results"][0]["scores"][0]["score"]
    assert served > 90
    assert served > trained - 3, "int8 costs too much"


def test_the_server_translates_and_shows_whose_attention_it_was(
    line: tuple[Path, Path], development: list[list[str]]
) -> None:
    with running("-m", "service", "serve", "--models-dir", str(line[1]), "--device", "cpu") as server:
        source = development[0][0]
        body = {"q": source, "source": "en", "target": "fr"}
        translated = httpx.post(f"{server.url}/translate", json=body).json()["translatedText"]
        shown = httpx.get(f"{server.url}/attention", params={"text": source, "source": "en", "target": "fr"}).json()
        server.signal()
        assert server.exit_code() == 0

    weights = np.array(shown["weights"])
    assert shown["target"]["text"] == translated
    assert weights.shape == (len(shown["target"]["tokens"]), len(shown["source"]["tokens"]))
    assert np.allclose(weights.sum(-1), 1, atol=1e-3)
    assert all(source[t["start"] : t["end"]] == t["text"] for t in shown["source"]["tokens"])
