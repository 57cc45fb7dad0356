"""The comparison of sentence encoders on reviews: equal sizes, no effect of padding, and that each learns."""

import gzip
import json
from pathlib import Path

import pytest
import torch

from tests.training.commands import call
from training.sentence.encoders import ENCODERS, WIDTH
from training.sentence.sentiment import Data, Options, Review, read_reviews, train

encoders = pytest.mark.parametrize("name", ENCODERS)
SUBJECTS = ("the film", "this play", "her role", "the plot", "his voice", "the end")
WORDS = {1: ("good", "moving", "funny"), 0: ("dull", "weak", "long")}


def reviews() -> list[Review]:
    """Each subject with each word: the word says whether it is good."""
    return [(label, f"{subject} is {word}".split())
            for subject in SUBJECTS for label, words in WORDS.items() for word in words]  # fmt: skip


def write(folder: Path) -> Path:
    folder.mkdir()
    for part in ("train", "dev", "test"):
        lines = "".join(f"{label}\t{' '.join(words)}\n" for label, words in reviews())
        with gzip.open(folder / f"small.{part}.tsv.gz", "wt", encoding="utf-8") as file:
            file.write(lines)
    return folder


def test_all_have_one_size_within_a_tenth() -> None:
    sizes = [sum(parameter.numel() for parameter in made().parameters()) for made in ENCODERS.values()]
    assert max(sizes) < 1.1 * min(sizes)


@encoders
def test_a_sentence_alone_is_the_sentence_among_longer_ones(name: str) -> None:
    torch.manual_seed(0)
    encoder, words, lengths = ENCODERS[name]().eval(), torch.randn(3, 9, WIDTH), torch.tensor([9, 5, 1])
    together = encoder(words, lengths)
    torch.testing.assert_close(together.weights.sum(1), torch.ones(3))
    for row, length in enumerate(lengths.tolist()):
        alone = encoder(words[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(alone.vector[0], together.vector[row])
        torch.testing.assert_close(alone.weights[0], together.weights[row, :length])
        assert not together.weights[row, length:].any()


@encoders
def test_the_order_of_words_counts_except_for_an_average_and_self_attention_without_positions(name: str) -> None:
    torch.manual_seed(0)
    encoder, words, length = ENCODERS[name]().eval(), torch.randn(1, 7, WIDTH), torch.tensor([7])
    same = torch.allclose(encoder(words, length).vector, encoder(words.flip(1), length).vector, atol=1e-5)
    assert same is (name in ("average", "self-attention"))


@encoders
def test_each_learns_which_words_are_good(name: str) -> None:
    data = Data(dict.fromkeys(("train", "dev", "test"), reviews()))
    result = train(name, data, ["the film is dull"], seed=1, options=Options(epochs=25, batch=6, dropout=0.1))
    assert result.accuracy == 1.0
    assert 1 <= result.epoch <= 25
    if result.attended[0] and name in ("self-attention", "structured self-attention"):
        assert "dull" in result.attended[0]


def test_the_command_prints_a_table_and_keeps_all_figures(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    data = write(tmp_path / "data")
    shown = call("sentiment", data, "--epochs", 1, "--seeds", 2, "--output", out)
    assert all(f"| {name} |" in shown for name in ENCODERS)
    assert len(json.loads(out.read_text("utf-8"))["results"]) == 2 * len(ENCODERS)


def test_reviews_are_read_from_aclimdb_and_what_is_none_is_refused(tmp_path: Path) -> None:
    for part in ("train", "test"):
        for label, kind in enumerate(("neg", "pos")):
            folder = tmp_path / "aclImdb" / part / kind
            folder.mkdir(parents=True)
            for number in range(11):
                (folder / f"{number}_1.txt").write_text(f"Line one<br />{WORDS[label][0]} film", encoding="utf-8")
    found = read_reviews(tmp_path / "aclImdb", max_words=3)
    assert {part: len(reviews) for part, reviews in found.items()} == {"train": 19, "dev": 3, "test": 22}
    assert found["test"][0] == (0, ["line", "one", "dull"])
    with pytest.raises(ValueError, match=r"train\.tsv"):
        read_reviews(tmp_path, 10)
    wrong = write(tmp_path / "wrong")
    (wrong / "small.dev.tsv.gz").unlink()
    (wrong / "small.dev.tsv").write_text("1\ta good film\n5\tfive stars\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        read_reviews(wrong, 10)
