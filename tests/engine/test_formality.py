"""Polite and familiar forms in translations of shipped models: as asked for, and one of them in a text."""

import re
from dataclasses import replace

import pytest

from service.engine import InvalidOption, TranslationOptions, formality_note
from service.engine.fields import Formality
from service.engine.text.registers import registers_of
from service.engine.translation.translator import Translator

COMMANDS = [
    *("Open the window.", "Press the green button.", "Enter your password.", "Do not touch the wire."),
    *("Close the door behind you.", "Call me tomorrow."),
]
LIST = [
    *COMMANDS,
    *("Open the door.", "Feed the cat.", "Wait here.", "Turn off the light.", "Wash your hands.", "Save the file."),
    *("Take out the rubbish.", "Read the instructions.", "Clean the kitchen.", "Water the plants.", "Take the train."),
    "Be careful.",
]
NO_FAMILIAR_FORM = {("de", "Do not touch the wire.")}  # among the hypotheses of transformer-en-de 13
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
async def test_sentences_that_are_read_together_have_one_register(shipped: Translator) -> None:
    pairs = ["Your shoes are dirty. Please take them off.", "Your car is in the way. Please move it."]
    source, target = shipped.info.source_language, shipped.info.target_language

    def mixed(texts: list[str]) -> list[str]:
        return [
            text for text, pair in zip(texts, pairs, strict=True) if len(registers_of(text, target, pair, source)) > 1
        ]

    assert mixed(
        [each.text for each in await shipped.translate(pairs, TranslationOptions(beam_size=1))]
    )  # else: nothing
    assert not mixed([each.text for each in await shipped.translate(pairs)])


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


@BOTH_LANGUAGES
@pytest.mark.parametrize("formality", ["default", "prefer_more", "prefer_less"])
async def test_a_list_of_commands_has_one_register_and_no_exclamation(
    shipped: Translator, formality: Formality
) -> None:
    assert len(LIST) == 18
    [found] = await shipped.translate(["\n".join(LIST)], TranslationOptions(formality=formality))
    lines = found.text.split("\n")
    assert [line[-1] for line in lines] == ["."] * len(LIST), lines
    target = shipped.info.target_language
    shown = [
        registers_of(line, target, source, "en")
        for line, source in zip(lines, LIST, strict=True)
        if formality == "prefer_more" or (target, source) not in NO_FAMILIAR_FORM
    ]
    assert len(set(shown)) == 1, [*zip(lines, shown, strict=True)]
    assert shown[0] == {"prefer_more": {"polite"}, "prefer_less": {"familiar"}}.get(formality, shown[0])


@BOTH_LANGUAGES
async def test_a_translation_ends_as_its_sentence_does(shipped: Translator) -> None:
    sources = ["Open the door.", "Open the door!", "Is the door open?", 'He said: "Open the door!"', "Open the door"]
    found = [each.text for each in await shipped.translate(sources)]
    assert [text[-1] for text in found[:3]] == [".", "!", "?"], found
    assert "!" in found[3]
    assert found[4][-1].isalpha()
    for text, each in zip(
        found[:3], await shipped.translate(sources[:3], TranslationOptions(alternatives=3)), strict=True
    ):
        assert {other[-1] for other in each.alternatives} == {text[-1]}, each.alternatives


@pytest.mark.parametrize("shipped", ["transformer-en-de"], indirect=True)
async def test_a_polite_command_begins_with_a_capital(shipped: Translator) -> None:
    commands = ["Buy the bread.", "Read the letter.", "Take the key."]
    found = await shipped.translate(commands, TranslationOptions(formality="prefer_more"))
    wanted = ["Kaufen Sie das Brot.", "Lesen Sie den Brief.", "Nehmen Sie den Schlüssel."]
    assert [each.text for each in found] == wanted


async def test_scores_of_a_changed_end_are_those_of_what_is_written(
    shipped: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search reads an exclamation, so that its translation ends as one, whatever the model makes of a command."""
    async with shipped.model.use(("en", "fr")) as pair:
        worker, exclamation = pair.worker, pair.tokenizers.source.encode("Open the door!")
    submit = worker.submit_all
    monkeypatch.setattr(
        worker, "submit_all", lambda jobs: submit([replace(job, source_ids=exclamation) for job in jobs])
    )
    [found] = await shipped.translate(["Open the door."], TranslationOptions(details=True))
    [plain] = await shipped.translate(["Open the door."])
    assert found.text == plain.text == found.sentences[0].target_text
    [scored] = await shipped.score_batch([("Open the door.", found.text)])
    assert found.sentences[0].token_logprobs == pytest.approx(scored.token_logprobs, abs=1e-4)
    assert found.qualities[0].quality == plain.qualities[0].quality
    [greedy] = await shipped.translate(["Open the door."], TranslationOptions(beam_size=1))
    assert greedy.text.endswith("!")  # otherwise this test shows nothing


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
