"""The best hypothesis in both directions, with scores of the way back that the test gives."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from service.bundle.load import load_bundle
from service.engine import TranslationOptions, open_translator
from service.engine.translation.translator import Translator
from tests.support.paths import MODELS

TEXT = "The little dog sleeps in the garden at 10:45."


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = open_translator(load_bundle(MODELS / "transformer-en-fr"))
    asyncio.run(translator.model.start())
    yield translator
    asyncio.run(translator.model.stop(1))


class Back:
    """Likes translations with some word, and remembers what it was asked."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.pairs: list[tuple[str, str]] = []

    async def __call__(self, pairs: Sequence[tuple[str, str]], deadline: float | None) -> Sequence[float]:
        self.pairs += pairs
        return [0.0 if self.word in translation else -50.0 for translation, _ in pairs]


async def test_the_hypothesis_is_taken_that_leads_back_to_the_source(translator: Translator) -> None:
    [usual] = await translator.translate([TEXT], TranslationOptions(beam_size=8, alternatives=7))
    wanted = usual.alternatives[-1]
    back = Back(wanted)
    [found] = await translator.translate([TEXT], TranslationOptions(back=back))
    assert found.text == wanted != usual.text
    assert len(back.pairs) == 1 + len(usual.alternatives)
    assert {source for _, source in back.pairs} == {TEXT}
    assert wanted in {translation for translation, _ in back.pairs}


async def test_without_a_preference_the_first_stays_with_its_alternatives(translator: Translator) -> None:
    [usual] = await translator.translate([TEXT], TranslationOptions(beam_size=8, alternatives=2))
    [found] = await translator.translate([TEXT], TranslationOptions(back=Back(""), alternatives=2))
    assert (found.text, found.alternatives) == (usual.text, usual.alternatives)


async def test_details_are_those_of_the_translation_that_was_taken(translator: Translator) -> None:
    [usual] = await translator.translate([TEXT], TranslationOptions(beam_size=8, alternatives=7))
    wanted = usual.alternatives[-1]
    [found] = await translator.translate([TEXT], TranslationOptions(back=Back(wanted), details=True))
    [sentence] = found.sentences
    assert sentence.target_text == wanted
    [scored] = await translator.score_batch([(TEXT, wanted)])
    assert sentence.token_logprobs == pytest.approx(scored.token_logprobs, abs=1e-4)
    assert sentence.alignment == scored.alignment


async def test_values_stay_whatever_the_way_back_likes(translator: Translator) -> None:
    [found] = await translator.translate([TEXT], TranslationOptions(back=Back("x"), values="localize"))
    assert "10" in found.text
    assert "45" in found.text
