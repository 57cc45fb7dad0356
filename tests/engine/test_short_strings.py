"""Short strings through every way to ask a shipped model for a translation."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from service.engine import open_translator
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, StreamedEnd, StreamedSentence, StreamedToken, TranslationOptions
from service.engine.values.terms import Glossary, Term

MODELS = Path(__file__).resolve().parents[2] / "models"
STRINGS = [
    "OPEN THE WINDOW",
    "&File",
    "_Open…",
    "Name:",
    "• Street:",
    "OPEN ALL 25 FILES",
    "Open {name}…",
    "The Red House",
]


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = open_translator(load_bundle(MODELS / "transformer-en-fr"))
    asyncio.run(translator.start())
    yield translator
    asyncio.run(translator.stop(1))


async def texts_of(translator: Translator, *texts: str, **options: object) -> list[str]:
    found = await translator.translate(texts, TranslationOptions(**options))  # type: ignore[arg-type]
    return [each.text for each in found]


async def test_capitals_are_those_of_the_translation_in_small_letters(translator: Translator) -> None:
    [small, capitals] = await texts_of(translator, "Open the window", "OPEN THE WINDOW")
    assert capitals == small.upper()


async def test_marks_ends_and_bullets_are_kept(translator: Translator) -> None:
    [plain, marked, bullet] = await texts_of(translator, "Street", "&Street…", "• Street:")
    assert marked.replace("&", "") == f"{plain}…"
    assert marked.count("&") == 1
    assert bullet == f"• {plain} :"


async def test_values_of_a_title_stay_as_they_are(translator: Translator) -> None:
    [found] = await texts_of(translator, "OPEN ALL 25 FILES OF {name}")
    assert found.count("{name}") == found.count("25") == 1
    assert found.replace("{name}", "").isupper()


async def test_terms_of_a_title_are_in_capitals(translator: Translator) -> None:
    glossary = Glossary([Term("window", ("hublot",))])
    [found] = await texts_of(translator, "OPEN THE WINDOW", glossary=glossary)
    assert "HUBLOT" in found
    assert found.isupper()


async def test_the_model_alone_answers_with_values_off(translator: Translator) -> None:
    [alone] = await texts_of(translator, "OPEN THE WINDOW", values="off")
    assert alone != (await texts_of(translator, "OPEN THE WINDOW"))[0]


async def test_a_short_string_is_the_same_alone_and_in_company(translator: Translator) -> None:
    texts = [*STRINGS, "I have lost my keys."]
    together = await texts_of(translator, *texts)
    assert together == [(await texts_of(translator, text))[0] for text in texts]
    assert together[-1:] == await texts_of(translator, texts[-1], values="off")


async def test_details_locate_tokens_in_both_texts(translator: Translator) -> None:
    for text, found in zip(STRINGS, await translator.translate(STRINGS, TranslationOptions(details=True)), strict=True):
        [sentence] = found.sentences
        for tokens, whole in ((sentence.source_tokens, text), (sentence.target_tokens, found.text)):
            assert all(whole[token.start : token.end] == token.text for token in tokens)
        assert sentence.target_text == found.text[sentence.target_start :]
        assert sentence.quality is not None


async def test_a_stream_adds_up_to_the_translation(translator: Translator) -> None:
    for text in STRINGS:
        events = [event async for event in translator.stream(text)]
        end = events[-1]
        assert isinstance(end, StreamedEnd)
        assert [end.text] == await texts_of(translator, text, beam_size=1)
        written = "".join(
            event.gap if isinstance(event, StreamedSentence) else event.text
            for event in events
            if isinstance(event, StreamedSentence | StreamedToken)
        )
        assert written == end.text


async def test_attention_is_that_of_the_translation(translator: Translator) -> None:
    found = await translator.attention("OPEN THE WINDOW", None, AttentionOptions())
    assert [found.target_text] == await texts_of(translator, "OPEN THE WINDOW")
    assert found.source_text == "OPEN THE WINDOW"
