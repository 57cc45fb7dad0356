"""Glossaries in translations of a shipped model: the target terms arrive, wherever a translation is asked for."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from service.engine import Glossary, Term, open_translator
from service.engine.translation.translator import Translator
from service.engine.types import StreamedEnd, TranslationOptions

MODELS = Path(__file__).resolve().parents[2] / "models"
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


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = open_translator(load_bundle(MODELS / "transformer-en-fr"))
    asyncio.run(translator.start())
    yield translator
    asyncio.run(translator.stop(1))


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_every_term_arrives_in_every_alternative(translator: Translator, beam_size: int) -> None:
    options = TranslationOptions(beam_size=beam_size, alternatives=beam_size - 1, glossary=GLOSSARY)
    for (text, terms), found in zip(
        SENTENCES.items(), await translator.translate(list(SENTENCES), options), strict=True
    ):
        for written in (found.text, *found.alternatives):
            assert all(term in written for term in terms), (text, written)


async def test_a_glossary_changes_no_sentence_without_its_terms(translator: Translator) -> None:
    plain = ["Where do you live?", "She does not like it."]
    together = await translator.translate([*SENTENCES, *plain], TranslationOptions(glossary=GLOSSARY))
    assert [found.text for found in together[-2:]] == [found.text for found in await translator.translate(plain)]
    alone = [(await translator.translate([text], TranslationOptions(glossary=GLOSSARY)))[0].text for text in SENTENCES]
    assert [found.text for found in together[:-2]] == alone


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_a_word_that_the_model_cannot_place_stands_where_the_source_term_does(
    translator: Translator, beam_size: int
) -> None:
    glossary = Glossary([Term("dog", ("clebs",)), Term("garden", ("potager",))])
    options = TranslationOptions(beam_size=beam_size, glossary=glossary)
    [found] = await translator.translate(["The dog is in the garden."], options)
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
    translator: Translator, text: str, source: str, target: str, left: str
) -> None:
    options = TranslationOptions(beam_size=4, alternatives=3, glossary=Glossary([Term(source, (target,))]))
    [found] = await translator.translate([text], options)
    for written in (found.text, *found.alternatives):
        assert written.count(target) == 1
        assert left not in written
        assert not any(mark in written[:-1] for mark in (". ", "? ", "! ")), "the term is glued to the end"


async def test_a_term_at_the_beginning_has_a_capital_and_a_term_alone_is_translated(translator: Translator) -> None:
    options = TranslationOptions(glossary=Glossary([Term("dogs", ("clébards",))]))
    first, alone = await translator.translate(["Dogs sleep.", "dogs"], options)
    assert "lébards" in first.text
    assert not first.text.startswith("clébards")
    assert "clébards" in alone.text.lower()


async def test_a_sentence_that_is_cut_off_has_the_target_terms(translator: Translator) -> None:
    options = TranslationOptions(max_length=2, details=True, glossary=GLOSSARY)
    [found] = await translator.translate(["The dog that sleeps in my house has lost the key."], options)
    assert [found.text.count(term) for term in ("clébard", "bâtisse", "clef")] == [1, 1, 1]
    assert not {"dog", "house", "key"} & set(found.text.split())


async def test_a_stream_obeys_the_glossary(translator: Translator) -> None:
    text = "My house is big. The dog sleeps."
    events = [event async for event in translator.stream(text, TranslationOptions(glossary=GLOSSARY))]
    end = events[-1]
    assert isinstance(end, StreamedEnd)
    [greedy] = await translator.translate([text], TranslationOptions(beam_size=1, glossary=GLOSSARY))
    assert end.text == greedy.text
    assert "bâtisse" in end.text
