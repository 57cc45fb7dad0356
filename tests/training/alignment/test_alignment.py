"""Alignments from attention and from a statistical aligner: words, reading steps, thresholds, error rates, files."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.training.commands import lines
from training.alignment.eflomal import align_both_ways, gold_line, grow_diagonal, silver, split_words
from training.alignment.gold import AlignmentError, Gold, Links, alignment_error_rate, read_gold
from training.alignment.head_search import AlignedPair, describe, find_links, rank_heads


def linked(*pairs: tuple[int, int]) -> Links:
    return frozenset(pairs)


def test_error_rate_by_hand() -> None:
    gold = [Gold(linked((0, 0), (1, 1)), linked((0, 0), (1, 1), (1, 2)))]
    for links, rate in (([(0, 0), (1, 1)], 0), ([(0, 0), (1, 2)], 100 * (1 - 3 / 4)), ([(5, 5)], 100), ([], 100)):
        assert alignment_error_rate([linked(*links)], gold) == pytest.approx(rate)


def planted(step_shift: int, words: int = 5) -> AlignedPair:
    """Two layers of two heads; layer 1, head 0 knows the reversed alignment, one row later if shifted."""
    random = np.random.default_rng(words)
    attention = random.dirichlet(np.ones(words + 1), (2, 2, words + 1)).astype(np.float32) * 0.5
    for target in range(words):
        attention[1, 0, target + step_shift, words - 1 - target] += 1
    groups = [[i] for i in range(words)]
    truth = frozenset((words - 1 - t, t) for t in range(words))
    return AlignedPair(attention, groups, groups, Gold(truth, truth))


@pytest.mark.parametrize(("shift", "step"), [(0, "produce"), (1, "consume")])
def test_the_head_that_knows_is_found_with_its_step(shift: int, step: str) -> None:
    samples = [planted(shift, words) for words in (3, 4, 5, 6)]
    ranked, first = rank_heads(samples), samples[0]
    best = ranked[0]
    assert (best.layer, best.head, best.step, best.aer) == (1, 0, step, 0)
    assert len(ranked) == 2 * 2 * 2
    assert [r.aer for r in ranked] == sorted(r.aer or 0 for r in ranked)
    assert rank_heads(samples, only=best) == [best]
    assert find_links(best, first.attention, first.sources, first.targets) == first.gold.sure


def test_a_threshold_is_chosen_when_doubtful_links_are_wrong() -> None:
    attention = np.array([[0.9, 0.1, 0.0], [0.35, 0.25, 0.4]], np.float32)[None, None]
    sample = AlignedPair(attention, [[0], [1]], [[0], [1]], Gold(linked((0, 0)), linked((0, 0))))
    best = rank_heads([sample])[0]
    assert best.aer == 0
    assert best.threshold is not None
    assert "weight at least" in describe(best)


@pytest.mark.parametrize("line", ["1:2", "a-b", "0-1", "1-2-3"])
def test_broken_gold_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "gold"
    path.write_text(f"1-1\n{line}\n")
    with pytest.raises(AlignmentError, match="line 2"):
        read_gold(path)
    with pytest.raises(AlignmentError, match="no alignments in"):
        read_gold(tmp_path / "none")


def test_words_and_marks_are_set_apart() -> None:
    assert split_words("L'ami n'a pas 3,5 €, dit-il !") == "L' ami n' a pas 3,5 € , dit-il !"
    assert split_words("I don't, at 5 o'clock.") == "I don't , at 5 o'clock ."
    assert split_words("") == ""


def test_growing_keeps_the_intersection_and_stays_in_the_union() -> None:
    forward, reverse = linked((0, 0), (1, 1), (2, 1), (4, 4)), linked((0, 0), (1, 1), (1, 2), (5, 0))
    # Neighbours of a sure link, each with a word that is still free; no neighbour, but both words are free.
    assert grow_diagonal(forward, reverse) == linked((0, 0), (1, 1), (2, 1), (1, 2), (4, 4))


def test_silver_of_both_directions_is_written_as_gold_is_read(tmp_path: Path) -> None:
    gold = [silver(linked((0, 0), (1, 1)), linked((0, 0), (1, 2))), Gold(linked(), linked())]
    path = lines(tmp_path / "gold", map(gold_line, gold))
    assert path.read_text() == "1-1 2p2 2p3\n\n"
    assert read_gold(path) == gold


def test_a_missing_aligner_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AlignmentError, match="pip install eflomal"):
        align_both_ways((["a"], ["b"]), ([], []))


def test_the_aligner_gets_all_text_and_gives_the_measured_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "eflomal-align"
    tool.write_text("#!/bin/sh\nfor w in $(cat 0); do echo 0-0; done > forward\nsed 's/.*/0-1/' 1 > reverse\n")
    tool.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert align_both_ways((["a"], ["x"]), (["b", "c"], ["y", "z"])) == [(linked((0, 0)), linked((0, 1)))]
    tool.write_text("#!/bin/sh\necho no memory >&2; exit 3\n")
    with pytest.raises(AlignmentError, match="failed: no memory"):
        align_both_ways((["a"], ["x"]), ([], []))
