"""Which pairs of a text are trained on, and what is said of the others."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from training.__main__ import app
from training.data.cleaning import Pair, clean
from training.recipe import CleaningConfig

TOY = Path(__file__).parents[3] / "training/recipes/toy.yaml"
SHORT, LOPSIDED, LONG = ("Go.", "Vas-y, maintenant !"), ("Yes.", "x" * 60), ("y" * 60, "x" * 70)


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        ([("It’s  me.", "C’est\u00a0moi."), ("It's me.", "C'est moi.")], [("It's me.", "C'est moi.")]),
        ([("", "Va !"), ("Go.", " \u00a0"), ("\u200b", "x")], []),
        ([("a b c", "a b c"), ("a b c d", "a b"), ("a", "a b c d")], [("a b c", "a b c")]),
        ([SHORT, LOPSIDED, LONG], [SHORT, LONG]),
    ],
)
def test_pairs_are_normalised_and_good_ones_kept_once(pairs: list[Pair], kept: list[Pair]) -> None:
    assert list(clean(pairs, CleaningConfig(), max_words=3)) == kept


def test_what_is_left_out_of_a_corpus_is_counted_and_printed(tmp_path: Path) -> None:
    recipe = yaml.safe_load(TOY.read_text("utf-8"))
    toy = (TOY.parent / recipe["corpora"][0]["path"]).read_text("utf-8")
    lines = {
        "a " * 500 + "\tb": "too many words",
        "a\0b\tc": "with NUL",
        "x\t": "empty",
        "Yes.\t" + "x" * 90: "lopsided",
        "One.\tUn.\tsource\t7": "columns after the second",
        "One.\tUn.": "repeated",
        "w" * 3000 + "\t" + "v" * 3000: "too many subwords",
    }
    (tmp_path / "pairs.tsv").write_text(toy + "\n".join(lines) + "\n", "utf-8")
    recipe["corpora"][0]["path"] = str(tmp_path / "pairs.tsv")
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
    result = CliRunner().invoke(app, ["prepare", str(tmp_path / "toy.yaml"), "--runs", str(tmp_path / "runs")])
    for reason in lines.values():
        assert f"'{reason}': 1" in result.output, result.output
