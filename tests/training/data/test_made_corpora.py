"""Corpora that a recipe makes of other corpora or of templates: what is prepared, credited and refused."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.toy_runs import TOY, prepared_text, toy_recipe
from training.data.cleaning import normalise
from training.data.dataset import EncodedPairs
from training.data.errors import CorpusError
from training.data.own_text import FOLDER, read_topic
from training.data.prepare import prepare
from training.export.card_inputs import data_credit
from training.recipe import Recipe, load_recipe
from training.runs.fingerprint import Prepared, PreparedError
from training.runs.folder import RunFolder

NUMBERS = {"name": "numbers", "number_templates": True, "max_pairs": 50}
TYPED = {"name": "typed", "variants_of": "toy", "max_pairs": 50, "weight": 0.5}
AGAIN = {"name": "again", "same_pairs_as": "toy", "subword_dropout": 0.5}


def toy_and(*corpora: dict[str, Any]) -> Recipe:
    return toy_recipe(corpora=[*load_recipe(TOY).model_dump()["corpora"], *corpora])


def test_made_pairs_are_prepared_and_the_vocabulary_is_learnt_from_no_pair_twice(tmp_path: Path) -> None:
    plain, folder = RunFolder(tmp_path / "plain"), RunFolder(tmp_path / "made")
    prepare(toy_and(NUMBERS), plain, None, tmp_path)
    prepare(toy_and(NUMBERS, TYPED, AGAIN), folder, None, tmp_path)
    assert folder.tokenizer.read_bytes() == plain.tokenizer.read_bytes()
    statistics = json.loads(folder.statistics.read_text())
    assert 40 <= statistics["numbers"]["pairs"] <= 50  # fewer when two are equal
    assert 40 < statistics["typed"]["pairs"] <= 50  # longer than the limit are left out
    assert statistics["typed"]["weight"] == 0.5
    assert len(EncodedPairs.load(folder.corpus("typed"))) == statistics["typed"]["pairs"]
    own, again = (EncodedPairs.load(folder.corpus(name)) for name in ("toy", "again"))
    assert len(again) == len(own)
    assert again.source.offsets[-1] > own.source.offsets[-1]
    np.testing.assert_array_equal(again.target.ids, own.target.ids)
    assert prepared_text(folder, "again") == prepared_text(folder, "toy")
    pairs = {tuple(line.split("\t")) for line in TOY.with_suffix(".tsv").read_text(encoding="utf-8").splitlines()}
    assert pairs.issuperset(prepared_text(folder, "toy"))


@pytest.mark.parametrize("kind", ["titles", "wrapped", "names"])
def test_each_kind_of_variants_is_prepared(tmp_path: Path, kind: str) -> None:
    def align(sources: list[str], targets: list[str]) -> list[set[tuple[int, int]]]:
        sizes = (min(len(source.split()), len(target.split())) for source, target in zip(sources, targets, strict=True))
        return [{(i, i) for i in range(size)} for size in sizes]

    short = tmp_path / "short.tsv"
    short.write_text("".join(f"the dog {i}\tle chien {i}\nHi Emma {i}\tSalut Emma {i}\n" for i in range(90)))
    text = {"name": "short", "path": short}
    folder = RunFolder(tmp_path / "made")
    prepare(toy_and(text, TYPED | {"variants_of": "short", "kind": kind}), folder, None, tmp_path, align)
    texts = {source for source, _ in prepared_text(folder, "typed")}
    assert len(texts) > 20
    assert not texts & {f"the dog {i}" for i in range(90)}


def test_pairs_in_signs_need_an_aligner(tmp_path: Path) -> None:
    recipe = toy_and(TYPED | {"kind": "wrapped"})
    with pytest.raises(PreparedError, match="need an aligner"):
        prepare(recipe, RunFolder(tmp_path / "made"), None, tmp_path)


def test_a_corpus_may_read_some_topics_of_our_own_text(tmp_path: Path) -> None:
    corpus = {"name": "texts", "corpus": "everyday", "topics": ["fairy_tales"], "join": 3}
    folder = RunFolder(tmp_path / "made")
    prepare(toy_and(corpus), folder, None, tmp_path)
    Prepared.load(folder.prepared).require(toy_and(corpus))  # training goes on with it
    lines = read_topic(FOLDER / "fairy_tales.tsv")
    whole = " ".join(normalise(line.fr) for line in lines)
    texts = [target for _, target in prepared_text(folder, "texts")]
    assert 10 < len(texts) < len(lines)
    assert all(text in whole for text in texts)
    assert any(f"{normalise(one.fr)} {normalise(next_.fr)}" in texts for one, next_ in pairwise(lines))
    with pytest.raises(CorpusError, match="no topic 'fairy_tale'"):
        prepare(toy_and(corpus | {"topics": ["fairy_tale"]}), RunFolder(tmp_path / "other"), None, tmp_path)


def test_training_pairs_are_joined_up_to_the_limit_of_all_corpora(tmp_path: Path) -> None:
    corpus = load_recipe(TOY).corpora[0].model_dump() | {"join": 5}
    recipe = toy_recipe(corpora=[corpus], cleaning={"max_words": 9})
    folder = RunFolder(tmp_path / "joined")
    prepare(recipe, folder, None, tmp_path)
    lengths = [len(source.split()) for source, _ in prepared_text(folder, "toy")]
    assert max(lengths) <= 9
    assert sum(length > 6 for length in lengths) > len(lengths) / 4


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (TYPED | {"variants_of": "tatoeba"}, "variants_of must be one of toy, not tatoeba"),
        (TYPED | {"variants_of": "typed"}, "variants_of must be one of toy, not typed"),
        (TYPED | {"max_pairs": None}, "needs max_pairs"),
        (TYPED | {"development": 10}, "neither path nor development"),
        (TYPED | {"join": 2}, "join is a key of the corpus with the text, here toy"),
        (AGAIN | {"same_pairs_as": "tatoeba"}, "same_pairs_as must be one of toy, not tatoeba"),
        (AGAIN | {"max_pairs": 10}, "no path, max_pairs"),
        (AGAIN | {"development": 10}, "no path, max_pairs, development"),
        (NUMBERS | {"max_pairs": None}, "number_templates needs max_pairs"),
        ({"name": "grammar", "made_up_grammar": True}, "made_up_grammar needs max_pairs"),
        (NUMBERS | {"kind": "names"}, "kind names is for a corpus of variants"),
        ({"name": "tatoeba", "topics": ["diary"]}, "topics are files of our own text"),
        ({"name": "tatoeba", "licence": "CC0"}, "named corpora have their own"),
    ],
)
def test_what_a_corpus_cannot_be_is_said(corpus: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        toy_and(corpus)


def test_the_card_credits_what_text_is_made_from() -> None:
    recipe = toy_and(NUMBERS, TYPED, AGAIN)
    own = recipe.corpora[0].model_copy(update={"licence": "CC0", "credit": "the toymakers"})
    stated, toy, numbers, typed, again = (data_credit(recipe, corpus, 50) for corpus in (own, *recipe.corpora))
    assert (stated.licence, stated.credit) == ("CC0", "the toymakers")
    assert (typed.name, typed.pairs, typed.licence) == ("typed", 50, "not stated")
    assert typed.credit == "made from toy: local file toy.tsv"
    assert again.licence == toy.licence
    assert toy.credit in again.credit
    assert "random numbers" in numbers.credit
    nouns = recipe.corpora[1].model_copy(update={"number_templates": False, "noun_templates": True})
    assert "random nouns" in data_credit(recipe, nouns, 50).credit
