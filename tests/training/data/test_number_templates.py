"""Sentences with random values: every value arrives once, written as its language writes it."""

import random
import re
from pathlib import Path

import pytest

from training.data.number_templates import LANGUAGES, TESTING, TRAINING, filled, number_pairs
from training.data.prepare import prepare
from training.export.card_inputs import data_credit
from training.recipe import Recipe, RecipeError, load_recipe
from training.runs.folder import RunFolder

TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.yaml"


def digits(text: str) -> list[str]:
    """Return the sorted digits of a text; apart from times of day, no language adds or drops any."""
    return sorted(re.findall(r"\d", text))


@pytest.mark.parametrize("target", ["fr", "de"])
def test_no_digit_is_lost_or_added_in_any_template(target: str) -> None:
    pairs = [
        pair
        for pair in number_pairs("en", target, 2000, seed=3)
        if not re.search(r"\d ?[ap]m\b", pair[0], re.I) and "1er" not in pair[1]
    ]
    assert len(pairs) > 1200
    for source, target_text in pairs:
        assert digits(source) == digits(target_text), (source, target_text)
        assert "{" not in source + target_text


def test_values_are_written_as_each_language_writes_them() -> None:
    template = {"en": "{money} at {time}", "fr": "{money} à {time}", "de": "{money} um {time}"}
    found = {filled(template, "en", "fr", random.Random(seed)) for seed in range(400)}
    found = {pair for pair in found if re.match(r"\$\d,\d{3}\.\d\d at \d+:\d\d pm", pair[0])}
    assert found
    for english, french in found:
        hour = int(re.search(r"at (\d+)", english)[1]) % 12 + 12  # type: ignore[index]
        assert re.fullmatch(rf"\d \d{{3}},\d\d \$ à {hour} h \d\d", french), (english, french)


def test_a_numbered_slot_names_the_value_of_another_order() -> None:
    template = {"en": "{few} of {few}", "fr": "-", "de": "{few2} und {few1}"}
    english, german = filled(template, "en", "de", random.Random(1))
    first, second = re.findall(r"\d+", english)
    assert german == f"{second} und {first}"


def test_digits_repeat_in_training_and_are_random_in_the_test() -> None:
    shares = {}
    for sentences in (TRAINING, TESTING):
        found = [re.findall(r"[\d +()-]{9,}", english) for english, _ in number_pairs("en", "fr", 3000, 1, sentences)]
        long = [set(re.findall("[1-9]", run)) for row in found for run in row]
        shares[sentences] = sum(len(digits) <= 2 for digits in long) / len(long)
    assert 0.2 < shares[TRAINING] < 0.5
    assert shares[TESTING] < 0.05


def test_same_arguments_same_pairs_and_any_direction() -> None:
    assert list(number_pairs("en", "de", 300, 1)) == list(number_pairs("en", "de", 300, 1))
    assert list(number_pairs("en", "de", 300, 1)) != list(number_pairs("en", "de", 300, 2))
    for english, french in number_pairs("en", "fr", 5, 1):
        assert english.split()[0] in ("Take", "Call", "My", "You")
        assert french.split()[0] in ("Prenez", "Prends", "Appelle-moi", "Mon", "Vous")
    with pytest.raises(ValueError, match=", ".join(LANGUAGES)):
        next(number_pairs("en", "it", 1, 1))


def test_a_recipe_takes_them_as_a_corpus_and_the_card_credits_them(tmp_path: Path) -> None:
    content = load_recipe(TOY).model_dump(mode="python")
    numbers = {"name": "numbers", "number_templates": True, "max_pairs": 50}
    recipe = Recipe.model_validate(content | {"corpora": [*content["corpora"], numbers]})
    statistics = prepare(recipe, RunFolder(tmp_path / "run"), None, tmp_path)
    counts = statistics["numbers"]
    assert isinstance(counts, dict)
    assert 40 <= counts["pairs"] <= 50  # fewer when two are equal
    credit = data_credit(recipe, recipe.corpora[-1], counts["pairs"])
    assert "random numbers" in credit.credit


def test_templates_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(TOY.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(RecipeError, match="needs max_pairs"):
        load_recipe(path, ["corpora=[{name: numbers, number_templates: true}]"])
