"""Values, terms and short strings: every way to ask a shipped model for a translation gives the same one."""

import pytest

from service.engine import Glossary, InvalidOption, Term
from service.engine.translation.translator import Translator
from service.engine.types import (
    AttentionOptions,
    Token,
    Translation,
    TranslationOptions,
)

GLOSSARY = Glossary([Term("house", ("bâtisse",)), Term("dog", ("clébard", "clébards"))])
PLAIN = ["I have lost my keys.", "She does not like it.", "Green colourless ideas sleep furiously."]
SPECIAL = [
    *("Take 2 tablets of 500 mg every 6 hours.", "Hello {name}, you have %d new messages.", "Read John 3:16."),
    *("Please visit https://example.com/a?b=c, it costs €1,250.50.", "The meeting begins at 3:30 pm."),
    *("We need １２３ chairs for {{ {name} }}.", "I ❤️ you", "Do you use spice or K2?", "Kabbalah is old."),
    *("OPEN THE WINDOW", "&File", "_Open…", "Name:", "• Street:", "OPEN ALL 25 FILES", "The Red House"),
    *("The dog sleeps in the house.", "Go to the house with 3 dogs.", "THE SHOP IS CLOSED.", "i'm home ."),
]
TEXTS = [*SPECIAL, *PLAIN]
GREEDY = TranslationOptions(beam_size=1)


async def texts_of(translator: Translator, texts: list[str], options: TranslationOptions) -> list[str]:
    return [found.text for found in await translator.translate(texts, options)]


def letters(text: str) -> set[int]:
    return {place for place, character in enumerate(text) if character.isalnum()}


def assert_located(tokens: tuple[Token, ...], text: str) -> None:
    """Check that tokens lie where they say, and that every letter and digit is in one of them."""
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert letters(text) <= {place for token in tokens for place in range(token.start, token.end)}


@pytest.mark.parametrize("shipped", ["transformer-en-fr", "bahdanau-en-fr"], indirect=True, scope="module")
@pytest.mark.parametrize("options", [TranslationOptions(), TranslationOptions(glossary=GLOSSARY), GREEDY])
async def test_a_translation_is_the_same_alone_and_in_company(shipped: Translator, options: TranslationOptions) -> None:
    together = await texts_of(shipped, TEXTS, options)
    assert together == [(await texts_of(shipped, [text], options))[0] for text in TEXTS]
    without = TranslationOptions(beam_size=options.beam_size, values="off")
    assert together[-3:] == await texts_of(shipped, PLAIN, without)


async def test_a_sentence_is_read_the_same_alone_and_in_a_text(shipped: Translator) -> None:
    sentences = ["France is large.", "Algeria is larger.", "I live in Munich.", "He works in Geneva."]
    options = TranslationOptions(details=True)
    [text, *alone] = await shipped.translate([" ".join(sentences), *sentences], options)

    def read(found: Translation) -> list[list[int]]:
        return [[token.id for token in sentence.source_tokens] for sentence in found.sentences]

    assert read(text) == [ids for found in alone for ids in read(found)]


@pytest.mark.parametrize("text", [*PLAIN, "Take 2 tablets every 6 hours.", "OPEN THE WINDOW", "I ❤️ you"])
async def test_a_translation_goes_on_from_its_beginning(shipped: Translator, text: str) -> None:
    [whole] = await texts_of(shipped, [text], TranslationOptions())
    ends = [place for place, character in enumerate(whole) if character == " "]
    for end in (0, *ends):
        options = TranslationOptions(target_prefix=whole[:end], alternatives=2)
        [found] = await shipped.translate([text], options)
        assert all(each.startswith(whole[:end]) for each in (found.text, *found.alternatives))
        assert all(digit in found.text for digit in text if digit.isdigit())
    with pytest.raises(InvalidOption, match="one sentence"):
        await shipped.translate(["Go on. Stop."] * 2, options)


@pytest.mark.parametrize("prefix", ["", "J'ai", "J'ai perdu mes"])
async def test_alternatives_have_other_words_after_a_given_beginning(shipped: Translator, prefix: str) -> None:
    text = PLAIN[0]
    own = [await shipped.translate([text], TranslationOptions(target_prefix=prefix, alternatives=n)) for n in (0, 7)]
    [[alone], [found]] = own
    assert found.text == alone.text
    assert len(found.alternatives) >= 5, "those that begin with half a word may write the same"
    words = [each[len(prefix) :].split()[0] for each in (found.text, *found.alternatives)]
    assert len(set(words)) > 5, "a beam would differ at its end instead"
    scored = await shipped.score_batch([(text, each) for each in found.alternatives])
    totals = [sum(each.token_logprobs) / len(each.token_logprobs) for each in scored]
    assert totals[0] >= totals[-1]


async def test_details_locate_tokens_in_both_texts(shipped: Translator) -> None:
    options = TranslationOptions(details=True, glossary=GLOSSARY)
    for text, found in zip(TEXTS, await shipped.translate(TEXTS, options), strict=True):
        [sentence] = found.sentences
        assert_located(sentence.source_tokens, text)
        assert_located(sentence.target_tokens, found.text)
        assert sentence.target_text == found.text[sentence.target_start :]
        assert len(sentence.token_logprobs) == len(sentence.target_tokens)
        assert sentence.quality is not None


@pytest.mark.parametrize("text", TEXTS)
async def test_attention_is_that_of_the_translation_and_of_its_tokens(shipped: Translator, text: str) -> None:
    [whole] = await shipped.translate([text], TranslationOptions(details=True))
    [detail] = whole.sentences
    own = await shipped.attention(text, None, AttentionOptions())
    assert (own.source_text, own.target_text, own.path) == (text, whole.text, "search")
    assert own.quality == pytest.approx(whole.quality, abs=1e-6)
    assert own.score == pytest.approx(detail.score, abs=1e-4)
    source, target = (tuple(token.id for token in side) for side in (detail.source_tokens, detail.target_tokens))
    forced = await shipped.attention(text, None, AttentionOptions(target_ids=target, source_ids=source))
    assert (forced.target_text, forced.path) == (whole.text, "ids")
    assert forced.score == pytest.approx(detail.score, abs=1e-4)
    given = await shipped.attention(text, whole.text, AttentionOptions())
    assert (given.target_text, given.path) == (whole.text, "canonical")
    assert given.quality is None, "nobody searched for a translation that the client provides"
    if tuple(number for token in given.target_tokens for number in token.ids) == target:
        assert given.score == pytest.approx(detail.score, abs=1e-4)


async def test_each_part_of_a_long_sentence_is_forced_by_its_own_text_and_ids(shipped: Translator) -> None:
    """A part may begin with a sign that is cut off at the beginning of a text."""
    text = (
        "Ruy López de Segura, a priest and a famous Spanish chess player of the 16th century, wrote a book of 150 "
        "pages, called Libro del Ajedrez, about exhaustive studies he made on the opening (1.e4 e5 2.♘f3 ♘c6 3.♗b5) "
        "that is named after him."
    )
    [whole] = await shipped.translate([text], TranslationOptions(details=True))
    for part in whole.sentences:
        source, target = (tuple(token.id for token in side) for side in (part.source_tokens, part.target_tokens))
        forced = await shipped.attention(part.source_text, None, AttentionOptions(target_ids=target, source_ids=source))
        assert forced.score == pytest.approx(part.score, abs=1e-4)
