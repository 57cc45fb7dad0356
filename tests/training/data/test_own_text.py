"""The project's own text: every line has three languages and a register, and gives a pair in any direction."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.data.errors import CorpusError
from training.data.own_text import read_topic, topics
from training.data.reading import read_corpus


def test_every_topic_is_well_formed_and_says_nothing_twice() -> None:
    for topic, triples in topics().items():
        assert triples, topic
        assert len(set(triples)) == len(triples), topic
        for triple in triples:
            assert all(text == " ".join(text.split()) for text in triple), triple


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("de", "en"), ("fr", "de")])
def test_a_recipe_reads_it_in_every_direction(tmp_path: Path, source: str, target: str) -> None:
    pairs = dict(read_corpus("everyday", source, target, None, tmp_path))
    words = {"en": "Happy birthday!", "fr": "Joyeux anniversaire !", "de": "Alles Gute zum Geburtstag!"}
    assert pairs[words[source]] == words[target]


def test_a_line_of_another_shape_is_named(tmp_path: Path) -> None:
    file = tmp_path / "topic.tsv"
    file.write_text("Go.\tVa.\tGeh.\tfamiliar\nGo.\tVa.\n")
    with pytest.raises(CorpusError, match=r"topic\.tsv, line 2"):
        read_topic(file)
