"""Which pairs are trained on, and which are held out."""

import random
from pathlib import Path

import pytest
import typer.main
import yaml
from hypothesis import given
from hypothesis import strategies as st

from training.__main__ import app
from training.data.cleaning import clean, normalise
from training.data.split import held_out, sentence_hash, split, subset
from training.recipe import CleaningConfig

TOY = Path(__file__).parents[3] / "training/recipes/toy.yaml"
main = typer.main.get_command(app)
PAIRS = [(f"Sentence number {i // 3}.", f"Phrase {i}.") for i in range(90)]
"""Each English sentence three times, as Tatoeba has it."""


def cleaned(*pairs: tuple[str, str], max_words: int = 80) -> list[tuple[str, str]]:
    return list(clean(pairs, CleaningConfig(), max_words))


def test_pairs_are_normalised_and_kept_once() -> None:
    assert cleaned(("It’s  me.", "C’est\u00a0moi."), ("It's me.", "C'est moi.")) == [("It's me.", "C'est moi.")]


def test_empty_sides_are_left_out() -> None:
    assert cleaned(("", "Va !"), ("Go.", " \u00a0"), ("\u200b", "x")) == []


def test_long_pairs_are_left_out() -> None:
    assert cleaned(("a b c", "a b c"), ("a b c d", "a b"), ("a", "a b c d"), max_words=3) == [("a b c", "a b c")]


def test_lopsided_pairs_are_left_out_but_short_ones_are_not_judged() -> None:
    short, lopsided, long = ("Go.", "Vas-y, maintenant !"), ("Yes.", "x" * 60), ("y" * 60, "x" * 70)
    assert cleaned(short, lopsided, long) == [short, long]


def test_what_is_left_out_of_a_corpus_is_counted_and_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
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
    main(["prepare", str(tmp_path / "toy.yaml"), "--runs", str(tmp_path / "runs")], standalone_mode=False)
    printed = capfd.readouterr().out
    for reason in lines.values():
        assert f"'{reason}': 1" in printed, printed


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_no_held_out_sentence_is_trained_on() -> None:
    training, development = split(PAIRS, held_out(PAIRS, 10))
    assert len(development) == 10
    assert len(training) == 90 - 30
    assert not {source for source, _ in training} & {source for source, _ in development}


def test_sentences_that_differ_in_case_or_full_stop_do_not_leak() -> None:
    pairs = [("Go.", "Va !"), ("go", "allez"), ("GO!", "Vas-y !")]
    training, development = split(pairs, held_out(pairs, 1))
    assert (training, development) == ([], [("Go.", "Va !")])


def test_the_choice_does_not_depend_on_the_order() -> None:
    shuffled = random.Random(0).sample(PAIRS, len(PAIRS))
    assert held_out(PAIRS, 10) == held_out(shuffled, 10)


def test_new_pairs_disturb_few_old_choices() -> None:
    before = held_out(PAIRS, 10)
    after = held_out([*PAIRS, ("Something new.", "Du neuf.")], 10)
    assert len(before & after) >= 9


def test_hashes_are_the_same_everywhere() -> None:
    assert sentence_hash("Go.") == sentence_hash("go !") == 3811555861924027547


def test_a_subset_is_stable_and_no_larger_than_asked() -> None:
    assert subset(PAIRS, None) == PAIRS
    assert subset(PAIRS, 1000) == PAIRS
    assert len(subset(PAIRS, 17)) == 17
    assert set(subset(PAIRS, 15)) <= set(subset(PAIRS, 30))
