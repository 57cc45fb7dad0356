"""The statistical aligner: its links are merged and written; a missing program is reported."""

import sys
from pathlib import Path

import pytest

from training.alignment.eflomal import align_both_ways, gold_line, grow_diagonal, silver, split_words
from training.alignment.gold import AlignmentError, Gold, Links, read_gold


def linked(*pairs: tuple[int, int]) -> Links:
    return frozenset(pairs)


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
    path = tmp_path / "gold"
    path.write_text("".join(gold_line(each) + "\n" for each in gold))
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
