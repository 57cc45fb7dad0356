"""A run from text to bundle."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from service.bundle.embedding import load_embedding_bundle
from service.embedding import Embedder
from tests.support.embedding import tiny_recipe, tiny_run
from training.export.compare import ParityError
from training.recipe import RecipeError
from training.sentence.data import Batches, SentenceFolder, prepare
from training.sentence.export import TOLERANCE, export
from training.sentence.measures import distinct, encode, held_out_measures
from training.sentence.recipe import PrunedHidden, SentenceRecipe, load_sentence_recipe
from training.sentence.trainer import load_trained, train

Run = tuple[SentenceRecipe, SentenceFolder]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return tiny_run(tmp_path_factory.mktemp("run"))


def lasting(recipe: SentenceRecipe, updates: int) -> SentenceRecipe:
    changed = recipe.optimisation.model_copy(update={"max_updates": updates})
    return recipe.model_copy(update={"optimisation": changed})


def test_the_history_has_retrieval_and_accuracy_of_pairs_that_training_never_saw(run: Run) -> None:
    recipe, folder = run
    history = json.loads(folder.history.read_text())
    assert [row["update"] for row in history] == [15, 30]
    assert history[-1]["matching loss"] < history[0]["matching loss"]
    assert {"en-fr", "fr-en", "language", "domain", "overlap"} <= set(history[-1])
    held = {pair.first for pair in folder.load_held_out()}
    tokenizer = folder.load_tokenizer()
    seen = {tokenizer.decode(row) for update in range(30) for row in Batches(recipe, folder).draw(update).ids.tolist()}
    assert len(held) == 20
    assert not {sentence.lower() for sentence in held} & seen


def test_a_run_is_resumed_where_it_ended(run: Run, tmp_path: Path) -> None:
    recipe, text = run
    folder = SentenceFolder(tmp_path / "resumed")
    train(lasting(recipe, 15), folder, text)
    history = train(lasting(recipe, 20), folder, text)
    assert [row["update"] for row in history] == [15, 20]


def test_the_exported_graphs_and_the_service_agree_with_the_network(run: Run, tmp_path: Path) -> None:
    recipe, folder = run
    exact = export(folder, folder, tmp_path / "fp32", "fp32")
    stored = export(folder, folder, tmp_path / "int8", "int8")
    assert max(exact.values()) <= TOLERANCE
    assert TOLERANCE < max(stored.values()) < 0.1
    assert (tmp_path / "int8/weights.bin").stat().st_size < (tmp_path / "fp32/weights.bin").stat().st_size / 2
    manifest = load_embedding_bundle(tmp_path / "int8").manifest
    assert (manifest.card["precision"], manifest.hops) == ("int8", 3)
    texts = ["I see the sea.", "Nous mangeons du pain", "They want three apples and an old car."]
    served = np.stack([each.embedding for each in Embedder(tmp_path / "fp32").embed(texts)])
    wanted = encode(load_trained(folder)[1], folder.load_tokenizer(), texts, recipe.max_tokens)
    np.testing.assert_allclose(served, wanted.embeddings, atol=TOLERANCE)


def test_a_refused_export_leaves_the_bundle_that_was_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = run
    export(folder, folder, tmp_path / "bundle", "int8")
    monkeypatch.setattr("training.sentence.export.TOLERANCE", 0.0)
    with pytest.raises(ParityError):
        export(folder, folder, tmp_path / "bundle", "int8")
    assert load_embedding_bundle(tmp_path / "bundle").manifest.card["precision"] == "int8"
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


@pytest.mark.parametrize("head", [12, PrunedHidden(rows=3, columns=0), PrunedHidden(rows=0, columns=2)])
@pytest.mark.parametrize("embedding_states", [True, False])
def test_every_shape_of_the_network_is_exported(run: Run, tmp_path: Path, head: object, embedding_states: bool) -> None:
    _, text = run
    recipe = tiny_recipe(text.path.parent / "text.tsv", head=head, embedding_states=embedding_states, hops=1)
    folder = SentenceFolder(tmp_path / "run")
    train(lasting(recipe, 1), folder, text)
    assert max(export(folder, text, tmp_path / "bundle", "fp32").values()) <= TOLERANCE
    assert len(Embedder(tmp_path / "bundle").embed(["I see the sea."])) == 1


def test_measures_count_a_repeated_sentence_once(run: Run) -> None:
    recipe, folder = run
    pairs = folder.load_held_out()
    assert len(distinct([*pairs, *pairs], ("en", "fr"))) == len(distinct(pairs, ("en", "fr")))
    _, network = load_trained(folder)
    known = (recipe.languages, recipe.domains)
    found = held_out_measures(network, folder.load_tokenizer(), pairs, known, recipe.max_tokens)
    assert found["domain"] == 1  # there is only one
    assert 0 <= found["en-fr"] <= 1


def test_the_shipped_recipe_is_read_and_errors_name_the_key() -> None:
    path = Path("training/recipes/sentence-de-en-fr.yaml")
    recipe = load_sentence_recipe(path, ["network.hops=5"])
    assert (recipe.languages, recipe.network.hops) == (("en", "fr", "de"), 5)
    with pytest.raises(RecipeError, match=r"network\.hops"):
        load_sentence_recipe(path, ["network.hops=0"])


def test_a_corpus_that_is_too_small_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("Yes.\tOui.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="too few to hold 20 out"):
        prepare(tiny_recipe(tmp_path / "text.tsv"), SentenceFolder(tmp_path / "run"), None, tmp_path)


def test_the_same_seed_gives_the_same_parameters(run: Run, tmp_path: Path) -> None:
    first, second = (load_trained(folder)[1].state_dict() for _, folder in (run, tiny_run(tmp_path)))
    assert all(torch.equal(first[name], second[name]) for name in first)
