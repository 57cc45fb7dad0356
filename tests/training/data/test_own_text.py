"""The project's own text: every line has three languages and a register, and gives a pair in any direction."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from training.data.errors import CorpusError
from training.data.own_text import lemmas, missing, read_topic, topics
from training.data.reading import read_corpus


def test_every_topic_is_well_formed() -> None:
    for topic, triples in topics().items():
        assert triples, topic
        for triple in triples:
            assert all(text == " ".join(text.split()) for text in triple), triple


def test_no_line_stands_twice() -> None:
    """Lines that differ only in capitals are one, but a label ("Keyboard") and its word ("keyboard") are two."""
    topic_of: dict[tuple[str, ...], str] = {}
    for topic, triples in topics().items():
        for triple in triples:
            line = tuple(text[0] + text[1:].casefold() for text in triple[:3])
            assert line not in topic_of, f"{triple.en!r} stands in {topic_of[line]} and in {topic}"
            topic_of[line] = topic


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("de", "en"), ("fr", "de")])
def test_a_recipe_reads_it_in_every_direction(tmp_path: Path, source: str, target: str) -> None:
    pairs = set(read_corpus("everyday", source, target, None, tmp_path))
    words = {"en": "Happy birthday!", "fr": "Joyeux anniversaire !", "de": "Alles Gute zum Geburtstag!"}
    assert (words[source], words[target]) in pairs


def test_a_line_of_another_shape_is_named(tmp_path: Path) -> None:
    file = tmp_path / "topic.tsv"
    file.write_text("Go.\tVa.\tGeh.\tfamiliar\nGo.\tVa.\n")
    with pytest.raises(CorpusError, match=r"topic\.tsv, line 2"):
        read_topic(file)


def test_no_sentence_of_the_everyday_test_sets_is_trained_on() -> None:
    """Short phrases ("Good morning") may stand in both: nobody can say them in another way.

    Of the first phrases the English decides, because the other columns list every accepted translation.
    """
    tested = {
        plain(text)
        for path in files("training").joinpath("text", "test").iterdir()
        for line in path.read_text(encoding="utf-8").splitlines()
        for text in typed(path.name, line)
        if len(text.split()) >= 4
    }
    assert len(tested) > 1_500
    for topic, triples in topics().items():
        assert not [triple for triple in triples if tested & {plain(text) for text in triple[:3]}], topic


def typed(name: str, line: str) -> list[str]:
    return [re.split(r" \| |\t", line)[0]] if name == "first_phrases.tsv" else line.split("\t")


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def test_a_word_is_missing_until_one_of_its_forms_is_there() -> None:
    frequent = lemmas(["The kettles were boiling.", "a kettle", "the horses"], "en")
    own = lemmas(["Is the kettle hot?", "It's boiling."], "en")
    assert "kettle" in frequent
    assert missing(own, frequent, "en", need=1) == ["horse"]
    assert lemmas(["L'homme qu'elle aime"], "fr")["homme"] == 1
