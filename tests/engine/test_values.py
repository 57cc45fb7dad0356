"""Values in translations of a shipped model: each arrives exactly once, through every way to ask for a translation."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.bundle.load import load_bundle
from service.engine import InvalidOption, open_translator
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, StreamedEnd, StreamedSentence, StreamedToken, TranslationOptions

MODELS = Path(__file__).resolve().parents[2] / "models"
SENTENCES = {
    "Take 2 tablets of 500 mg every 6 hours.": ("2", "500", "6"),
    "Call me at +33 6 12 34 56 78.": ("+33 6 12 34 56 78",),
    "The price is €1,250.50.": ("1 250,50 €",),
    "Hello {name}, you have %d new messages.": ("{name}", "%d"),
    "Please visit https://example.com/a?b=c or write to bob@example.org.": (
        "https://example.com/a?b=c",
        "bob@example.org",
    ),
    "The meeting begins at 3:30 pm.": ("15 h 30",),
    "Give me 2 × 500 mg.": ("2 × 500",),
    "Read John 3:16.": ("3:16",),
    "Add 1½ cups of milk and 3/4 cup of sugar.": ("1½", "3/4"),
    "We need １２３ chairs for {{ {name} }}.": ("１２３", "{{ {name} }}"),
    "Version 1.2.3-beta.4 wrote %s%d files.": ("1.2.3-beta.4", "%s%d"),
    "My friend <dnt>Mary Miller</dnt> likes #pizza and @anna_b.": ("<dnt>Mary Miller</dnt>", "#pizza", "@anna_b"),
}


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = open_translator(load_bundle(MODELS / "transformer-en-fr"))
    asyncio.run(translator.start())
    yield translator
    asyncio.run(translator.stop(1))


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_every_value_arrives_exactly_once(translator: Translator, beam_size: int) -> None:
    options = TranslationOptions(beam_size=beam_size, alternatives=beam_size - 1)
    for (text, values), found in zip(
        SENTENCES.items(), await translator.translate(list(SENTENCES), options), strict=True
    ):
        for written in (found.text, *found.alternatives):
            assert [written.count(value) for value in values] == [1] * len(values), (text, written)
            assert sum(map(str.isdigit, written)) == sum(map(str.isdigit, "".join(values)))


async def test_a_translation_is_the_same_alone_and_in_company(translator: Translator) -> None:
    texts = [*SENTENCES, "I have lost my keys.", "Where do you live?", "She does not like it."]
    together = await translator.translate(texts)
    assert [found.text for found in together] == [(await translator.translate([text]))[0].text for text in texts]
    plain = await translator.translate(texts[-3:], TranslationOptions(values="off"))
    assert [found.text for found in together[-3:]] == [found.text for found in plain]


async def test_forms_of_the_target_language_can_be_switched_off(translator: Translator) -> None:
    [found] = await translator.translate(["The price is €1,250.50."], TranslationOptions(values="keep"))
    assert "€1,250.50" in found.text


async def test_details_locate_the_values_in_both_texts(translator: Translator) -> None:
    text = "Please visit https://example.com/a?b=c, it costs €1,250.50."
    [found] = await translator.translate([text], TranslationOptions(details=True))
    [sentence] = found.sentences
    assert sentence.values == "search"
    for tokens, whole in ((sentence.source_tokens, text), (sentence.target_tokens, found.text)):
        assert all(whole[token.start : token.end] == token.text for token in tokens)
    assert {"https://example.com/a?b=c", "€1,250.50"} <= {token.text for token in sentence.source_tokens}
    assert {"https://example.com/a?b=c", "1 250,50 €"} <= {token.text for token in sentence.target_tokens}
    assert len(sentence.token_logprobs) == len(sentence.target_tokens)


async def test_a_stream_adds_up_to_the_translation(translator: Translator) -> None:
    text = "Hello. The price is €1,250.50 at 3:30 pm.\nPlease visit https://example.com/a?b=c today."
    events = [event async for event in translator.stream(text)]
    end = events[-1]
    assert isinstance(end, StreamedEnd)
    [greedy] = await translator.translate([text], TranslationOptions(beam_size=1))
    assert end.text == greedy.text
    written = ""
    for event in events:
        if isinstance(event, StreamedSentence):
            written += event.gap
        elif isinstance(event, StreamedToken):
            written += event.text
            assert end.text[event.token.start : event.token.end] == event.token.text
    assert written == end.text


async def test_streams_and_attention_have_the_quality_of_the_translation(translator: Translator) -> None:
    text = "The price is €1,250.50. I have lost my keys.\nGreen colourless ideas sleep furiously."
    [greedy] = await translator.translate([text], TranslationOptions(beam_size=1))
    *_, end = [event async for event in translator.stream(text)]
    assert isinstance(end, StreamedEnd)
    assert end.qualities == tuple(each.quality for each in greedy.qualities)
    assert len({*end.qualities}) == 3
    assert all(quality is not None and 0 < quality < 1 for quality in end.qualities)
    for sentence in ("The price is €1,250.50.", "I have lost my keys."):
        [whole] = await translator.translate([sentence], split=False)
        assert (await translator.attention(sentence, None, AttentionOptions())).quality == whole.quality
        given = await translator.attention(sentence, whole.text, AttentionOptions())
        assert given.quality is None, "nobody searched for a translation that the client provides"


async def test_attention_is_that_of_the_translation(translator: Translator) -> None:
    text = "Please visit https://example.com/a?b=c today."
    [translation] = await translator.translate([text], split=False)
    found = await translator.attention(text, None, AttentionOptions())
    assert found.target_text == translation.text
    words = dict.fromkeys((token.start, token.text) for token in found.source_tokens)  # a stand-in has several tokens
    assert "".join(word for _, word in words) == text.replace(" ", "")


@pytest.mark.parametrize(
    "text", ["Do you use spice or K2?", "I ❤️ you", "Great job 👍", "Kabbalah is old.", "OPEN THE FILE AB-12 NOW."]
)
async def test_a_path_is_forced_by_its_tokens(translator: Translator, text: str) -> None:
    [whole] = await translator.translate([text], TranslationOptions(details=True))
    [detail] = whole.sentences
    source, target = (tuple(token.id for token in side) for side in (detail.source_tokens, detail.target_tokens))
    forced = await translator.attention(text, None, AttentionOptions(target_ids=target, source_ids=source))
    assert forced.score == pytest.approx(detail.score, abs=1e-4)
    assert (forced.target_text, forced.path) == (whole.text, "ids")
    own = await translator.attention(text, None, AttentionOptions())
    assert (own.target_text, own.path) == (whole.text, "search")
    assert own.score == pytest.approx(detail.score, abs=1e-4)
    given = await translator.attention(text, whole.text, AttentionOptions())
    assert (given.target_text, given.path) == (whole.text, "canonical")
    if tuple(token.id for token in given.target_tokens) == target:
        assert given.score == pytest.approx(detail.score, abs=1e-4)


async def test_a_path_that_no_model_took_is_refused(translator: Translator) -> None:
    eos = translator._pair.tokenizers.target.eos
    for ids in ((eos, eos), (10**6, eos)):
        with pytest.raises(InvalidOption, match="target_ids must be tokens"):
            await translator.attention("I lost.", None, AttentionOptions(target_ids=ids))
    with pytest.raises(InvalidOption, match="source_ids are not what the model reads"):
        await translator.attention("I lost.", None, AttentionOptions(target_ids=(eos,), source_ids=(eos,)))


@pytest.mark.parametrize("text", ["https://example.com", "42", "%s", "3:30 pm", "🍕 12 🍕"])
async def test_a_value_alone_is_returned_as_it_is(translator: Translator, text: str) -> None:
    [found] = await translator.translate([text])
    assert found.text == text


async def test_more_values_than_a_search_can_follow_are_kept(translator: Translator) -> None:
    numbers = [str(number) for number in range(101, 161)]
    [found] = await translator.translate(["I like " + ", ".join(f"{number} dogs" for number in numbers) + "."])
    assert [found.text.count(number) for number in numbers] == [1] * len(numbers)


async def test_a_sentence_that_is_cut_off_keeps_its_values(translator: Translator) -> None:
    text = "My order AB-1234 of 25 boxes has not arrived yet."
    [found] = await translator.translate([text], TranslationOptions(max_length=4, details=True))
    assert (found.text.count("AB-1234"), found.text.count("25")) == (1, 1)
    assert {sentence.values for sentence in found.sentences} == {"copied"}


async def test_a_verse_is_no_time_of_day_in_german() -> None:
    translator = open_translator(load_bundle(MODELS / "bahdanau-en-de"))
    await translator.start()
    verse, time = await translator.translate(["Read John 3:16.", "He arrives at 14:30."])
    await translator.stop(1)
    assert "3:16" in verse.text
    assert "Uhr" not in verse.text
    assert "14:30 Uhr" in time.text
