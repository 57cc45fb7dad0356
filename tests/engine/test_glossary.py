"""Glossaries in translations of a shipped model: the target terms arrive."""

import pytest

from service.engine import Glossary, Term
from service.engine.translation.translator import Translator
from service.engine.types import TranslationOptions

GLOSSARY = Glossary(
    [
        Term("house", ("bâtisse",)),
        Term("dog", ("clébard", "clébards")),
        Term("key", ("clef",)),
        Term("point of sale", ("caisse enregistreuse",)),
        Term("Smart Box", ("Smart Box",)),
    ]
)
SENTENCES = {
    "My house is big.": ("bâtisse",),
    "The dog sleeps in the house.": ("clébard", "bâtisse"),
    "I have lost my key.": ("clef",),
    "Go to the point of sale with 3 dogs.": ("caisse enregistreuse", "clébard", "3"),
    "The Smart Box costs €1,250.50.": ("Smart Box", "1 250,50 €"),
}


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_every_term_arrives_in_every_alternative(shipped: Translator, beam_size: int) -> None:
    options = TranslationOptions(beam_size=beam_size, alternatives=beam_size - 1, glossary=GLOSSARY)
    found = await shipped.translate(list(SENTENCES), options)
    for (text, terms), each in zip(SENTENCES.items(), found, strict=True):
        for written in (each.text, *each.alternatives):
            assert all(term in written for term in terms), (text, written)


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_a_word_that_the_model_cannot_place_stands_where_the_source_term_does(
    shipped: Translator, beam_size: int
) -> None:
    glossary = Glossary([Term("dog", ("clebs",)), Term("garden", ("potager",))])
    options = TranslationOptions(beam_size=beam_size, glossary=glossary)
    [found] = await shipped.translate(["The dog is in the garden."], options)
    assert found.text == "Le clebs est dans le potager."


@pytest.mark.parametrize(
    ("text", "source", "target", "left"),
    [
        ("My washing machine is broken.", "washing machine", "lave-linge", "machine"),
        ("I saw the living room yesterday.", "living room", "salon", "vivante"),
        ("My letter box is broken.", "letter box", "casier", "boîte"),
        ("Where is your bus driver?", "bus driver", "machiniste", "bus"),
    ],
)
async def test_a_term_of_two_words_replaces_both_once_in_every_alternative(
    shipped: Translator, text: str, source: str, target: str, left: str
) -> None:
    options = TranslationOptions(beam_size=4, alternatives=3, glossary=Glossary([Term(source, (target,))]))
    [found] = await shipped.translate([text], options)
    for written in (found.text, *found.alternatives):
        assert written.count(target) == 1
        assert left not in written
        assert not any(mark in written[:-1] for mark in (". ", "? ", "! ")), "the term is glued to the end"


async def test_a_term_at_the_beginning_has_a_capital_and_a_term_alone_is_translated(shipped: Translator) -> None:
    options = TranslationOptions(glossary=Glossary([Term("dogs", ("clébards",))]))
    first, alone = await shipped.translate(["Dogs sleep.", "dogs"], options)
    assert "lébards" in first.text
    assert not first.text.startswith("clébards")
    assert "clébards" in alone.text.lower()


async def test_a_sentence_that_is_cut_off_has_the_target_terms(shipped: Translator) -> None:
    options = TranslationOptions(max_length=2, details=True, glossary=GLOSSARY)
    [found] = await shipped.translate(["The dog that sleeps in my house has lost the key."], options)
    assert [found.text.count(term) for term in ("clébard", "bâtisse", "clef")] == [1, 1, 1]
    assert not {"dog", "house", "key"} & set(found.text.split())
