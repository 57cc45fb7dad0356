"""Which sentences are read together with the one before them."""

import pytest

from service.engine.text.context import in_context
from service.engine.text.segmenter import split_sentences

TOGETHER = {
    "en": [
        "The lamp is new. It is bright.",
        "Where are my keys? I can't find them.",
        "She bought two chairs. One is broken.",
    ],
    "fr": [
        "La lampe est neuve. Elle est belle.",
        "Où est la clé ? Je l'ai posée sur la table.",
        "La porte est ouverte. Ferme-la.",
        "Le train est en retard. Il arrive à dix heures.",
    ],
    "de": [
        "Die Lampe ist neu. Sie ist sehr hell.",
        "Wo ist der Schlüssel? Ich habe ihn verloren.",
        "Mein Bruder wohnt in Bonn. Seine Wohnung ist klein.",
    ],
}
APART = {
    "en": ["The lamp is new. We like to read.", "Come quickly. It is urgent.", "I lost my key.\nIt rains."],
    "fr": ["La lampe est neuve. Nous lisons.", "Le soleil se couche. Il fait froid.", "Viens vite. Elle arrive."],
    "de": ["Die Lampe ist neu. Wir lesen gern.", "Der Zug kommt. Es regnet.", "Komm schnell. Er ist da."],
    "ja": ["The lamp is new. It is bright."],  # a language of which no such words are known
}


def number_of_parts(text: str, language: str, longest: int = 100) -> int:
    """Return in how many parts a text is read by a model that takes so many characters."""
    return len(in_context(text, split_sentences(text, language), language, lambda joined: len(joined) <= longest))


@pytest.mark.parametrize(("language", "text"), [(tag, text) for tag, texts in TOGETHER.items() for text in texts])
def test_a_pronoun_is_read_with_the_noun_before_it(language: str, text: str) -> None:
    assert number_of_parts(text, language) == 1


@pytest.mark.parametrize(("language", "text"), [(tag, text) for tag, texts in APART.items() for text in texts])
def test_other_sentences_are_read_alone(language: str, text: str) -> None:
    assert number_of_parts(text, language) == 2


def test_what_a_model_would_have_to_cut_is_not_joined() -> None:
    text = "The lamp is new. It is bright. It is very bright."
    assert [number_of_parts(text, "en", longest) for longest in (100, 40, 20)] == [1, 2, 3]


def test_a_sentence_behind_something_that_is_copied_is_read_alone() -> None:
    assert number_of_parts("Read the page. https://example.com It is long.", "en") == 2
