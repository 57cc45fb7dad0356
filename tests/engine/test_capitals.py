"""A few words with a capital, as they are typed and as cells and labels have them: the likelier of two readings."""

import asyncio

import pytest

from service.engine import AttentionOptions, TranslationOptions
from service.engine.translation.translator import Translator
from service.engine.types import Token

WORDS = {
    "World": "Monde",
    "Dog": "Chien",
    "Milk": "Lait",
    "Apple": "Pomme",
    "Money": "Argent",
    "Income": "Revenu",
    "Home": "Accueil",  # of a page, not the small *home*
    "Save": "Enregistrer",
    "MILK": "LAIT",
    "Monday": "Lundi",
    "Paris": "Paris",
    "Terms of use": "Conditions d'utilisation",
}


async def test_words_with_a_capital_are_translated_as_well_as_in_small_letters(shipped: Translator) -> None:
    found = await shipped.translate([*WORDS])
    assert {text: each.text for text, each in zip(WORDS, found, strict=True)} == WORDS


async def test_so_are_the_lines_of_a_list(shipped: Translator) -> None:
    [found] = await shipped.translate(["Hello\nWorld\n\n- Milk\n- Bread"])
    assert found.text == "Bonjour\nMonde\n\n- Lait\n- Pain"


async def test_alone_and_in_company_the_same(shipped: Translator) -> None:
    together = await shipped.translate([*WORDS])
    alone = await asyncio.gather(*(shipped.translate([text]) for text in WORDS))
    assert [each.text for each in together] == [each.text for [each] in alone]


@pytest.mark.parametrize("text", ["World", "Home", "Terms of use"])
async def test_attention_and_scores_are_those_of_the_reading_that_was_taken(shipped: Translator, text: str) -> None:
    [own] = await shipped.translate([text], TranslationOptions(details=True))
    [detail] = own.sentences
    source, target = ([token.id for token in side] for side in (detail.source_tokens, detail.target_tokens))
    searched = await shipped.attention(text, None, AttentionOptions())
    given = await shipped.attention(text, own.text, AttentionOptions())
    exact = await shipped.attention(text, None, AttentionOptions(source_ids=tuple(source), target_ids=tuple(target)))
    for found in (searched, given, exact):
        assert [token.id for token in found.source_tokens if isinstance(token, Token)] == source
        assert found.target_text == own.text
    assert exact.token_logprobs == pytest.approx(detail.token_logprobs, abs=1e-5)
    [scored] = await shipped.score_batch([(text, own.text)])
    assert [token.id for token in scored.source_tokens] == source
