"""The grid of variants: names, one finished grid of two toys, finished cells that are kept; the report of a run."""

import json
import re
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from tests.training.commands import call, lines
from training.evaluation.test_sets import TestSet
from training.experiments.grid import joined_of, summary
from training.experiments.report import read_history
from training.experiments.variants import combinations, make_variants, parse_axis
from training.recipe import RecipeError

RECIPES = Path(__file__).parents[3] / "training" / "recipes"
TOY = RECIPES / "toy-bahdanau.yaml"
# A network that has learnt nothing chooses between equals, where eight bits are enough to disagree.
ENOUGH = ["network.encoder_hidden=32", "optimisation.max_updates=60", "optimisation.cooldown_updates=30"]
ENOUGH += ["validation.every_updates=30"]


def names(*axes: str, each: bool = False, fixed: tuple[str, ...] = ()) -> list[str]:
    variants, _ = make_variants(TOY, fixed, combinations([parse_axis(axis) for axis in axes], each), 1)
    return [variant.name for variant in variants]


def test_all_combinations_or_one_key_at_a_time() -> None:
    axes = ("network.score=additive,general", "network.cell=gru,lstm")
    assert names(*axes) == ["base", "cell-lstm", "score-general", "cell-lstm-score-general"]
    assert names(*axes, each=True) == ["base", "score-general", "cell-lstm"]


def test_a_variant_has_one_name_and_its_seeds() -> None:
    guided = "optimisation.guided_alignment=null,{weight: 0.1, heads: [{layer: 0, head: 0}]}"
    assert names("network.conditional=false,true", guided, each=True) == ["base", "conditional", "guided-alignment"]
    hard = names("network.hard_gradient=reinforce", fixed=("network.attention=hard",))
    assert hard == ["attention-hard-hard-gradient-reinforce"]
    variants, _ = make_variants(TOY, (), combinations([parse_axis("network.score=concat,additive")], False), 3)
    expected = [(name, seed) for seed in (1, 2, 3) for name in ("score-concat", "base")]
    assert [(variant.name, variant.recipe.seed) for variant in variants] == expected
    assert variants[0].recipe.name == "toy-bahdanau-score-concat"


def test_a_long_name_is_shortened_to_what_a_bundle_may_have() -> None:
    fixed = ("optimisation.max_updates=60", "optimisation.cooldown_updates=30", "network.encoder_hidden=32")
    axes = [parse_axis("network.score=gaussian,dot")]
    variants, _ = make_variants(TOY, fixed, combinations(axes, False), 1)
    found = [variant.recipe.name for variant in variants]
    assert len(set(found)) == 2
    assert all(len(name) <= 64 and name.startswith("toy-bahdanau-encoder-hidden-32-score") for name in found)


def test_combinations_that_no_recipe_can_have_are_named() -> None:
    axes = [parse_axis(text) for text in ("network.cell=gru,lstm", "network.conditional=false,true")]
    variants, refused = make_variants(TOY, (), combinations(axes, False), 1)
    assert [variant.name for variant in variants] == ["base", "conditional", "cell-lstm"]
    assert len(refused) == 1
    assert "network.cell=lstm, network.conditional=true" in refused[0]
    assert "conditional needs cell gru" in refused[0]


@pytest.mark.parametrize("text", ["network.score", "=a", "network.score=", "network.score=[", "network.score=}"])
def test_axes_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="--vary"):
        parse_axis(text)


def test_a_joined_test_has_as_many_sentences_of_each_length_and_each_is_sentences_in_a_row() -> None:
    test = TestSet("t", [f"{i} two three four" for i in range(300)], [f"{i} deux" for i in range(300)])
    found = joined_of(test, 6, (8, 16), 30)
    lengths = [len(source.split()) for source in found.sources]
    assert sum(length <= 8 for length in lengths) == sum(8 < length <= 16 for length in lengths) == 10
    assert len(lengths) == 30
    for source, reference in zip(found.sources, found.references, strict=True):
        numbers = [int(word) for word in source.split()[::4]]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert reference == " ".join(f"{number} deux" for number in numbers)


def test_the_history_of_a_log_has_the_last_values(tmp_path: Path) -> None:
    said = ("update=2 dev_loss=3.5 dev_bleu/toy=1e-05", "update=4 dev_loss=3", "no values", "update=4 dev_loss=2")
    history = read_history(lines(tmp_path / "train.log", (f"2026-11-23 03:00:00,000 {line}" for line in said)))
    assert history["dev_loss"] == {2: 3.5, 4: 2.0}
    assert history["dev_bleu/toy"] == {2: 1e-05}


def test_the_table_has_means_and_deviations() -> None:
    cells = [
        {"variant": name, "seed": seed, "bleu": bleu, "alignment_error": aer, "parameters": 1234}
        for name, seed, bleu, aer in (("none", 1, 10.0, None), ("base", 1, 30.0, 20.0), ("base", 2, 32.0, 21.0))
    ]
    table = summary(cells, None).splitlines()
    assert table[2] == "| base | 2 | 31.0 ± 1.4 | 20.5 ± 0.7 | 1,234 |"
    assert table[3] == "| none | 1 | 10.0 | – | 1,234 |"
    bucket = {"shortest": 11, "longest": None, "sentences": 7, "bleu": 5.0}
    words = cells[0] | {"by_length": [bucket], "no_unk": {"sentences": 4, "bleu": 40.0}}
    head, _, _, row = summary([words, *cells[1:]], None).splitlines()
    assert head.endswith("| parameters | No UNK (4) | over 10 (7) |")
    assert row == "| none | 1 | 10.0 | – | 1,234 | 40.0 | 5.0 |"


def test_join_without_a_test_or_with_too_few_sentences_is_refused(tmp_path: Path) -> None:
    for arguments in ((), ("--test", RECIPES / "toy.tsv", "--sentences", 3)):
        with pytest.raises(ValueError, match="--join needs --test, and at least 4 --sentences"):
            call("grid", TOY, "--join", 3, "--runs", tmp_path, *arguments)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_a_grid_is_trained_exported_and_measured_once_and_a_run_has_a_report(tmp_path: Path) -> None:
    arguments = ["grid", TOY, "--vary", "network.score=additive,gaussian", "--runs", tmp_path / "runs"]
    arguments += ["--edges", "4", "--output", tmp_path / "out" / "toy"]
    arguments += [part for override in ENOUGH for part in ("--set", override)]
    call(*arguments)
    content = json.loads((tmp_path / "out" / "toy.json").read_text("utf-8"))
    assert [cell["variant"] for cell in content["cells"]] == [
        "encoder-hidden-32-cooldown-updates-30-max-updates-60-every-updates-30",
        "encoder-hidden-32-score-gaussian-cooldown-updates-30-max-updates-60-every-updates-30",
    ]
    for cell in content["cells"]:
        assert cell["parameters"] > 10_000
        assert [bucket["longest"] for bucket in cell["by_length"]] == [4, None]
        bundle = load_bundle(tmp_path / "runs" / "toy-bahdanau" / cell["variant"] / "seed-1" / "bundle")
        assert bundle.manifest.name.startswith("toy-bahdanau-encoder")
    assert (tmp_path / "out" / "toy.md").read_text("utf-8").startswith("| variant")
    assert call(*arguments).count("kept") == 2
    run = tmp_path / "runs" / "toy-bahdanau" / content["cells"][0]["variant"] / "seed-1"
    call("report", run)
    page = (run / "report.html").read_text("utf-8")
    for text in ("I lost.", "He&#x27;s calm.", "bigram BLEU", "dev_loss", "score: additive"):
        assert text in page
    assert page.count("<svg") >= 4
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="?http', page)
