"""Noun templates: every frame can be filled with every noun of its classes, and what depends on the noun agrees."""

import re

import pytest

from training.data.noun_templates import filled, frames, noun_pairs, nouns
from training.data.number_templates import LANGUAGES

WORDS = {noun.en[0]: noun for listed in nouns().values() for noun in listed}


@pytest.mark.parametrize(
    ("frame", "noun", "french", "german"),
    [
        ("{a}|{un}|{einen}", "kettle", "une bouilloire", "einen Wasserkocher"),
        ("{a}|{ce}|{diesem}", "squirrel", "cet écureuil", "diesem Eichhörnchen"),
        ("{s}|{le}|{den}", "hedgehog", "le hérisson", "den Igel"),
        ("{s}|{du}|{dem}", "water", "de l'eau", "dem Wasser"),
        ("{s}|{au}|{zum}", "town hall", "à la mairie", "zum Rathaus"),
        ("{s}|{mon}|{meinem}", "aunt", "ma tante", "meiner Tante"),
        ("{s}|{mon}|{meinen}", "island", "mon île", "meine Insel"),
        ("{s}|{vieux}|{alten}", "tree", "un vieil arbre", "einen alten Baum"),
        ("{s}|{nouveau}|{neuer}", "key", "une nouvelle clé", "ein neuer Schlüssel"),
        ("{s}|{le}|{den}", "colleague", "le collègue", "den Kollegen"),
        ("{pl}|{depl}|{pln}", "onion", "d'oignons", "Zwiebeln"),
        ("{pl}|{pl}|{pln}", "horse", "chevaux", "Pferden"),
    ],
)
def test_articles_and_endings_agree(frame: str, noun: str, french: str, german: str) -> None:
    sides = dict(zip(LANGUAGES, frame.split("|"), strict=True))
    assert filled(sides, "fr", [WORDS[noun]]) == french
    assert filled(sides, "de", [WORDS[noun]]) == german


def test_every_frame_takes_every_noun_of_its_classes() -> None:
    known = nouns()
    for frame in frames():
        first, *second = frame["classes"].split()
        for noun in (noun for name in first.split("|") for noun in known[name]):
            other = [known[name.split("|")[0]][0] for name in second]
            for language in LANGUAGES:
                text = filled(frame, language, [noun, *other])
                assert not re.search(r"[{}]|  ", text), text
                assert language != "en" or not re.search(r"\ba [aeio]|\ban [^aeiou]", text), text
                assert language != "fr" or not re.search(r"\b(?:le|la|de) [aeioéêâ]|beaue", text), text


def test_pairs_are_the_same_each_time_and_a_language_without_frames_is_named() -> None:
    assert list(noun_pairs("fr", "de", 50, seed=1)) == list(noun_pairs("fr", "de", 50, seed=1))
    with pytest.raises(ValueError, match="not in es"):
        next(noun_pairs("en", "es", 1, seed=1))
