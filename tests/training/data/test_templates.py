"""Sentences made of templates and of a grammar: values arrive once, and what depends on a noun agrees."""

import random
import re
from collections.abc import Callable, Iterator

import pytest

from training.data.cleaning import Pair
from training.data.made_up_grammar import LONGEST, made_up_pairs
from training.data.noun_templates import FRAMES, noun_pairs, nouns
from training.data.noun_templates import filled as noun_filled
from training.data.number_templates import LANGUAGES, TESTING, TRAINING, number_pairs, templates
from training.data.number_templates import filled as number_filled

WORDS = {noun.en[0]: noun for listed in nouns().values() for noun in listed}


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (number_pairs, "written in en, fr, de, not in es"),
        (noun_pairs, "written in en, fr, de, not in es"),
        (made_up_pairs, "has en and fr, not en and es"),
    ],
)
def test_pairs_are_the_same_each_time_in_either_direction(
    make: Callable[[str, str, int, int], Iterator[Pair]], refused: str
) -> None:
    pairs = list(make("en", "fr", 300, 1))
    assert len(pairs) == 300
    assert pairs == list(make("en", "fr", 300, 1))
    assert pairs != list(make("en", "fr", 300, 2))
    english, french = ("".join(side) for side in zip(*pairs, strict=True))
    assert 10 * english.count("é") < french.count("é")
    french, english = ("".join(side) for side in zip(*make("fr", "en", 300, 1), strict=True))
    assert 10 * english.count("é") < french.count("é")
    with pytest.raises(ValueError, match=refused):
        next(make("en", "es", 1, 1))


@pytest.mark.parametrize("language", ["fr", "de"])
def test_no_digit_is_lost_or_added_in_any_template_but_in_times_of_day(language: str) -> None:
    pairs = [
        (source, target)
        for source, target in number_pairs("en", language, 2000, seed=3)
        if not re.search(r"\d ?[ap]m\b", source, re.I) and "1er" not in target
    ]
    assert len(pairs) > 1200
    for pair in pairs:
        one, other = (sorted(re.findall(r"\d", text)) for text in pair)
        assert one == other, pair
        assert "{" not in "".join(pair)


def test_values_are_written_as_each_language_writes_them() -> None:
    template = {"en": "{money} at {time}", "fr": "{money} à {time}", "de": "{money} um {time}"}
    found = {number_filled(template, "en", "fr", random.Random(seed)) for seed in range(400)}
    found = {pair for pair in found if re.match(r"\$\d,\d{3}\.\d\d at \d+:\d\d pm", pair[0])}
    assert found
    for english, french in found:
        hour = int(re.search(r"at (\d+)", english)[1]) % 12 + 12  # type: ignore[index]
        assert re.fullmatch(rf"\d \d{{3}},\d\d \$ à {hour} h \d\d", french), (english, french)


def test_a_numbered_slot_names_the_value_of_another_order() -> None:
    template = {"en": "{few} of {few}", "fr": "-", "de": "{few2} und {few1}"}
    english, german = number_filled(template, "en", "de", random.Random(1))
    first, second = re.findall(r"\d+", english)
    assert german == f"{second} und {first}"


def test_digits_repeat_in_training_and_are_random_in_the_test() -> None:
    shares = {}
    for sentences in (TRAINING, TESTING):
        found = [re.findall(r"[\d +()-]{9,}", english) for english, _ in number_pairs("en", "fr", 3000, 1, sentences)]
        long = [set(re.findall("[1-9]", run)) for row in found for run in row]
        shares[sentences] = sum(len(digits) <= 2 for digits in long) / len(long)
    assert 0.2 < shares[TRAINING] < 0.5
    assert shares[TESTING] < 0.05


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
    assert noun_filled(sides, "fr", [WORDS[noun]]) == french
    assert noun_filled(sides, "de", [WORDS[noun]]) == german


def test_every_frame_takes_every_noun_of_its_classes() -> None:
    known = nouns()
    for frame in templates(FRAMES):
        first, *second = frame["classes"].split()
        for noun in (noun for name in first.split("|") for noun in known[name]):
            other = [known[name.split("|")[0]][0] for name in second]
            for language in LANGUAGES:
                text = noun_filled(frame, language, [noun, *other])
                assert not re.search(r"[{}]|  ", text), text
                assert language != "en" or not re.search(r"\ba [aeio]|\ban [^aeiou]", text), text
                assert language != "fr" or not re.search(r"\b(?:le|la|de) [aeioéêâ]|beaue", text), text


def test_the_grammar_makes_different_sentences_whose_words_change_places_and_agree() -> None:
    pairs = dict(made_up_pairs("en", "fr", 4000, 1))
    lengths = [len(english.split()) for english in pairs]
    assert len(pairs) == 4000
    assert min(lengths) <= 4
    assert max(lengths) <= LONGEST
    assert all(english[0].isupper() and french[0].isupper() for english, french in pairs.items())
    texts = "\n".join(f"{english} | {french}" for english, french in pairs.items())
    expected = ("red house", "maison rouge", "green key", "clé verte", "green book", "livre vert")
    assert all(words in texts for words in expected)
    assert "que un" not in texts
    often = [french for english, french in pairs.items() if english.startswith("She often sees ")]
    assert often
    assert all(french.startswith("Elle voit souvent ") for french in often)
