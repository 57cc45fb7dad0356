"""Recipes: what is refused says which key and why."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from service.bundle.limits import WRAP_TOKENS
from service.bundle.load import read_bundle
from tests.support.paths import MODELS
from training.recipe import RecipeError, load_recipe, parse_recipe
from training.recipe_stages import load_recipes

ROOT, RUNS = Path(__file__).parents[2], Path("runs")
RECIPES = sorted((ROOT / "training" / "recipes").glob("*.yaml"))


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def content(**changes: Any) -> dict[str, Any]:
    return {
        "name": "toy",
        "source_language": "en",
        "target_language": "fr",
        "corpora": [{"name": "tatoeba"}],
        "network": {"kind": "transformer"},
        **changes,
    }


def guided(kind: str, layer: int = 0, head: int = 0, **network: str) -> dict[str, Any]:
    heads = [{"layer": layer, "head": head}]
    return {"network": {"kind": kind, **network}, "optimisation": {"guided_alignment": {"heads": heads}}}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_committed_recipes_are_valid_and_carry_their_file_name(path: Path) -> None:
    assert {recipe.name for recipe in load_recipes(path, RUNS)} == {path.stem}


@pytest.mark.parametrize(
    "path", [path for path in RECIPES if (MODELS / path.stem).is_dir()], ids=lambda path: path.stem
)
def test_a_shipped_model_reads_as_much_at_once_as_its_recipe_says(path: Path) -> None:
    recipe, manifest = load_recipes(path, RUNS)[-1], read_bundle(MODELS / path.stem).manifest
    assert (manifest.decoding.wrap_tokens or WRAP_TOKENS, manifest.limits.source_tokens) == (
        recipe.wrap_tokens,
        recipe.max_tokens,
    )


def test_committed_recipes_begin_from_what_the_repository_or_another_recipe_has() -> None:
    recipes = [recipe for path in RECIPES for recipe in load_recipes(path, RUNS)]
    for start in {place for recipe in recipes for place in (recipe.start_from, recipe.vocabulary.same_as)}:
        if isinstance(start, Path) and start.parent == RUNS:
            assert start.name in {recipe.run for recipe in recipes}
        elif isinstance(start, Path):
            assert ROOT.joinpath(start, "tokenizer.json").exists()
        elif start is not None and not git("rev-parse", "--is-shallow-repository").startswith("true"):
            git("cat-file", "-e", f"{start.revision}:{start.path}/tokenizer.json")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"network": {"kind": "transformer", "width": 100, "heads": 3}}, "width 100 must be a multiple of heads 3"),
        ({"network": {"kind": "transformer", "positions": "directional", "heads": 1}}, "even number of heads"),
        ({"network": {"kind": "rnn"}}, "network"),
        ({"network": {"kind": "bahdanau", "tie_embeddings": True}}, "output_size 500 == embedding 620"),
        ({"network": {"kind": "bahdanau", "score": "dot"}}, "decoder_hidden"),
        ({"network": {"kind": "bahdanau", "attention": "sharp"}}, "network.bahdanau.attention"),
        ({"optimisation": {"learning_rate": 1}}, "optimisation.learning_rate: Extra inputs are not permitted"),
        ({"optimisation": {"peak_rate": -1}}, "optimisation.peak_rate"),
        ({"corpora": []}, "corpora"),
        ({"vocabulary": {"size": 100}}, "vocabulary.size"),
        ({"name": "No Spaces"}, "name"),
        ({"vocabulary": {"size": 70_000}}, "vocabulary.size"),
        ({"max_tokens": 1000}, "max_tokens"),
        ({"start_from": {"revision": "v1", "path": "models/old"}}, "start_from.git.revision: String should match"),
        (guided("transformer", layer=6), "no layer 6, head 0: attention over the source has 6 layers of 8 heads"),
        (guided("transformer", head=8), "no layer 0, head 8"),
        (guided("bahdanau", head=1), "has 1 layers of 1 heads"),
        (guided("bahdanau", attention="hard"), "guided_alignment needs attention global"),
        (guided("bahdanau", attention="local"), "guided_alignment needs attention global"),
    ],
)
def test_bad_values_are_named(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(content(**changes), "my.yaml")
    assert "my.yaml" in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("written", "override", "expected"),
    [
        (b"name: toy", "seed", "must look like"),
        (b"name: toy", "name.x=1", "is not a section"),
        (b"name: toy", "nope=1", "nope"),
        (b"name: [", None, "not valid UTF-8 YAML"),
        (b"caf\xe9: 1", None, "not valid UTF-8 YAML"),
        (b"- a list", None, "mapping of keys"),
        (None, None, "training/recipes"),
    ],
)
def test_unreadable_recipes_and_bad_overrides_are_named(
    tmp_path: Path, written: bytes | None, override: str | None, expected: str
) -> None:
    path = tmp_path / "toy.yaml"
    if written is not None:
        path.write_bytes(written)
    with pytest.raises(RecipeError, match=expected):
        load_recipe(path, [override] if override else [])


SEVERAL = {
    "source_language": ["de", "fr"],
    "target_language": "en",
    "corpora": [
        {"name": "de_tatoeba", "corpus": "tatoeba", "source_language": "de"},
        {"name": "fr_tatoeba", "corpus": "tatoeba", "source_language": "fr", "development": 10},
    ],
}


def test_several_source_languages_each_with_its_corpora() -> None:
    recipe = parse_recipe(content(**SEVERAL), "my.yaml")
    assert recipe.source_languages == ("de", "fr")
    assert [recipe.language_of(corpus) for corpus in recipe.corpora] == ["de", "fr"]


@pytest.mark.parametrize("language", [None, "it"])
def test_a_corpus_of_several_source_languages_names_its_own(language: str | None) -> None:
    first = {"name": "de_tatoeba", "corpus": "tatoeba", "source_language": language}
    with pytest.raises(RecipeError, match="corpus de_tatoeba: source_language must be one of de, fr"):
        parse_recipe(content(**SEVERAL | {"corpora": [first]}), "my.yaml")
