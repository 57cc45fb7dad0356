"""Pairs that training leaves out: words that one book repeats, and further translations of a sentence."""

from collections import Counter
from pathlib import Path

from training.data.cleaning import clean, first_of_each_source
from training.data.prepare import prepare
from training.recipe import CleaningConfig, parse_recipe
from training.runs.folder import RunFolder

PAIRS = [
    ("Michael Strogoff rode on.", "Michel Strogoff repartit."),
    ("My name is Michael.", "Je m'appelle Michael."),
    ("STROGOFF!", "Strogoff !"),
    ("It makes no difference.", "Ça m'est égal."),
]


def test_pairs_with_a_word_to_leave_out_are_left_out_whatever_its_case() -> None:
    left_out: Counter[str] = Counter()
    kept = list(clean(PAIRS, CleaningConfig(without=("Strogoff",)), 80, left_out))
    assert kept == [PAIRS[1], PAIRS[3]]
    assert left_out == {"with a word to leave out": 2}


def test_the_first_translation_of_a_sentence_is_kept() -> None:
    pairs = [("Ça m'est égal.", "I don't care."), ("Oui.", "Yes."), ("Ça m'est égal.", "It's all the same to me.")]
    assert list(first_of_each_source(pairs)) == pairs[:2]


def test_a_corpus_of_one_translation_has_each_sentence_once(tmp_path: Path) -> None:
    lines = [f"Sentence {number}.\tPhrase {number}." for number in range(40)]
    lines += [f"Sentence {number}.\tAutre phrase {number}." for number in range(40)]
    (tmp_path / "a.tsv").write_text("\n".join(lines), "utf-8")
    recipe = parse_recipe(
        {
            "name": "one",
            "source_language": "en",
            "target_language": "fr",
            "corpora": [
                {"name": "a", "path": str(tmp_path / "a.tsv"), "one_translation": True, "development": 5},
                {"name": "all", "path": str(tmp_path / "a.tsv")},
            ],
            "vocabulary": {"size": 400},
            "network": {"kind": "transformer"},
        },
        "a test",
    )
    statistics = prepare(recipe, RunFolder(tmp_path / "run"), None, tmp_path)
    assert [statistics[name]["pairs"] for name in ("a", "all")] == [35, 70]  # type: ignore[index]
