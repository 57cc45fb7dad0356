"""A shortlist from the user's text holds what a translation may hold, and what copies names."""

from pathlib import Path

import numpy as np
import pytest

from tests.training.imports.marian_models import MarianShape, write_model
from tests.training.imports.toy_text import ENGLISH, FRENCH
from training.export.float_graphs import float_graphs
from training.imports.bundle import describe
from training.imports.files import ImportRefused
from training.imports.marian import read_marian
from training.imports.shortlist import learn_import_shortlist, target_tokens
from training.imports.source import ReadOptions

pytestmark = pytest.mark.filterwarnings("ignore:Recommended")


@pytest.mark.parametrize(
    "shape", [MarianShape(), MarianShape(separate_vocabularies=True), MarianShape(byte_fallback=True)]
)
def test_names_can_be_copied_with_the_pieces_of_the_target(shape: MarianShape, tmp_path: Path) -> None:
    write_model(tmp_path / "opus-mt-en-fr", shape)
    model = read_marian(tmp_path / "opus-mt-en-fr", ReadOptions("opus-mt-en-fr"))
    tokens = target_tokens(model)
    assert not tokens.producible[[0, 1, 3]].any()
    assert tokens.producible[tokens.copies[tokens.copies != 0]].all()
    source, target = model.source.tokenizer, model.target.tokenizer
    for word in ("the", "house", "a"):
        [first, *_] = source.encode(word, add_special_tokens=False).ids
        spelled = [each for each in tokens.copies[first] if each]
        assert "".join(str(target.id_to_token(int(each))) for each in spelled) == source.id_to_token(first)


def test_lists_hold_only_what_a_translation_may_hold_and_need_enough_text(marian: Path) -> None:
    model, pairs = read_marian(marian, ReadOptions("opus-mt-en-fr")), list(zip(ENGLISH, FRENCH, strict=True))[:300]
    with float_graphs(describe(model), model.state, model.float_bias) as graphs:
        learned = learn_import_shortlist(model, graphs, pairs)
        with pytest.raises(ImportRefused, match="has 20 pairs; at least 100 are needed"):
            learn_import_shortlist(model, graphs, pairs[:20])
    producible = set(model.target.producible.tolist())
    assert set(learned.shortlist.always.tolist()) <= producible
    assert set(np.unique(learned.shortlist.likely).tolist()) <= producible | {0}
