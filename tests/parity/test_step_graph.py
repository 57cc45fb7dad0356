"""The step is written as it runs fast: no table of all tokens, no factor in the products of cross-attention."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.parity.bundles import CONFIGS, WORDS, export, in_groups, jobs_of, load
from tests.support.decoding import decode
from tests.support.paths import MODELS
from training.export.shortlist import Shortlist

LISTED = Shortlist(
    np.array([2, *range(100, 140)], np.uint16),
    np.random.default_rng(3).integers(3, WORDS, (WORDS, 30)).astype(np.uint16),
)
SLOW = {"Expand", "FusedMatMul"}  # the tokens of every sentence once for each; a product that copies what it reads


def kinds_of(graph: Path) -> set[str]:
    return {node.op_type for node in onnx.load(str(graph), load_external_data=False).graph.node}


@pytest.mark.parametrize("name", CONFIGS)
def test_an_exported_step_has_the_fast_products_and_gives_a_sentence_the_same_alone(name: str, tmp_path: Path) -> None:
    folder = export(name, tmp_path / name, LISTED, seed=2)
    recurrent = {"Expand"} if name == "bahdanau" else set()
    assert not kinds_of(folder / "decoder.int8.onnx") & (SLOW - recurrent)
    jobs, model = jobs_of(4), load(folder)
    together = decode(model, jobs, in_groups(jobs))
    assert [decode(model, [job])[0] for job in jobs] == together


@pytest.mark.parametrize("name", ["transformer-en-fr", "transformer-en-de", "transformer-fr-en", "transformer-de-en"])
def test_the_shipped_steps_have_the_fast_products(name: str) -> None:
    kinds = kinds_of(MODELS / name / "decoder.int8.onnx")
    assert not kinds & SLOW
    assert {"Where", "GatherElements"} <= kinds
