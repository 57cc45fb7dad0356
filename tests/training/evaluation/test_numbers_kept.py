"""Numbers kept: what counts as kept, and that the test sentences are not the training ones."""

import pytest

from training.data.number_templates import TESTING, number_pairs
from training.evaluation.domains import count_kept, keeps_numbers


@pytest.mark.parametrize(
    ("source", "reference", "hypothesis", "kept"),
    [
        ("Take 2 of 500 mg.", "Prends 2 de 500 mg.", "Prends 2 x 500 mg.", True),
        ("Take 2 of 500 mg.", "Prends 2 de 500 mg.", "Prends 2000 mg.", False),
        ("It costs $1,299.99.", "Ça coûte 1 299,99 $.", "Ça coûte 1 299,99 $.", True),
        ("At 3:30 pm.", "À 15 h 30.", "À 15 h 30.", True),
        ("At 3:30 pm.", "À 15 h 30.", "À 3 h 30.", True),
        ("At 3:30 pm.", "À 15 h 30.", "À 16 h 30.", False),
        ("In 1976.", "En 1976.", "En 1976 1976.", False),
        ("In 1976.", "En 1976.", "", False),
    ],
)
def test_each_number_arrives_exactly_once(source: str, reference: str, hypothesis: str, kept: bool) -> None:
    assert keeps_numbers(source, reference, hypothesis) is kept


def test_references_keep_their_own_numbers_and_are_fresh_sentences() -> None:
    pairs = list(number_pairs("en", "de", 500, seed=1, sentences=TESTING))
    sources, references = zip(*pairs, strict=True)
    assert count_kept(sources, references, references).share == 100
    assert count_kept(sources, references, [""] * len(pairs)).kept == 0
    trained = {source for source, _ in number_pairs("en", "de", 5000, seed=1)}
    assert not trained & set(sources)
