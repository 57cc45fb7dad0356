"""Polite and familiar forms in translations of shipped models: as asked for, and one of them in a text."""

import re

import pytest

from service.engine import InvalidOption, TranslationOptions, formality_note
from service.engine.translation.translator import Translator

COMMANDS = [
    *("Open the window.", "Press the green button.", "Enter your password.", "Do not touch the wire."),
    *("Close the door behind you.", "Call me tomorrow."),
]
FAMILIAR = re.compile(
    r"\b(?:toi|ton|ta|tes|tu|dich|dir|dein\w*|[Ff]erme|[Mm]ets|[Aa]ppelle|[Mm]ach|[Rr]uf|[Ss]ei|[Ff]ais)\b"
)
BOTH_LANGUAGES = pytest.mark.parametrize("shipped", ["transformer-en-fr", "transformer-en-de"], indirect=True)


@BOTH_LANGUAGES
async def test_a_text_has_the_register_of_most_of_its_sentences(shipped: Translator) -> None:
    alone = [each.text for each in await shipped.translate(COMMANDS)]
    assert any(map(FAMILIAR.search, alone))  # otherwise this test shows nothing
    for options in (TranslationOptions(), TranslationOptions(details=True, alternatives=2)):
        [together] = await shipped.translate([" ".join(COMMANDS)], options)
        assert not FAMILIAR.search(together.text), together.text
    [greedy] = await shipped.translate([" ".join(COMMANDS)], TranslationOptions(beam_size=1))
    separate = await shipped.translate(COMMANDS, TranslationOptions(beam_size=1))
    assert greedy.text == " ".join(each.text for each in separate)


@BOTH_LANGUAGES
async def test_formality_is_preferred_and_what_is_missing_is_said(shipped: Translator) -> None:
    languages = shipped.info.source_language, shipped.info.target_language
    polite = await shipped.translate(COMMANDS, TranslationOptions(formality="prefer_more"))
    assert not any(FAMILIAR.search(each.text) for each in polite)
    for each in await shipped.translate(COMMANDS, TranslationOptions(formality="prefer_less")):
        pairs = [(one.source_text, one.target_text) for one in each.qualities]
        said = formality_note("prefer_less", pairs, languages)
        assert bool(re.search(r"\b(?:\w+ez|[Vv]ous|[Vv]otre|Sie|Ihre?n?)\b", each.text)) == bool(said), (
            each.text,
            said,
        )


async def test_details_are_those_of_the_chosen_translation(shipped: Translator) -> None:
    options = TranslationOptions(formality="prefer_more", details=True, alternatives=1)
    [found] = await shipped.translate(["Close the door behind you."], options)
    [sentence] = found.sentences
    assert found.text == sentence.target_text == "Fermez la porte derrière vous."
    assert "".join(token.text for token in sentence.target_tokens).replace(" ", "") == found.text.replace(" ", "")
    assert len(sentence.token_logprobs) == len(sentence.target_tokens)
    assert sentence.alignment
    assert found.alternatives[0] != found.text


async def test_a_prefix_has_its_own_register(shipped: Translator) -> None:
    with pytest.raises(InvalidOption, match="target_prefix"):
        await shipped.translate(["Wait."], TranslationOptions(formality="prefer_more", target_prefix="Attends"))
