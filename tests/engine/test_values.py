"""Values, terms and short strings in translations of a shipped model: each arrives."""

import re
import unicodedata

import pytest

from service.engine import Glossary, InvalidOption, Term
from service.engine.translation.translator import Translator
from service.engine.types import AttentionOptions, TranslationOptions

SENTENCES = {
    "Take 2 tablets of 500 mg every 6 hours.": ("2", "500", "6"),
    "Call me at +33 6 12 34 56 78.": ("+33 6 12 34 56 78",),
    "The price is €1,250.50.": ("1 250,50 €",),
    "Hello {name}, you have %d new messages.": ("{name}", "%d"),
    "Visit https://example.com/a?b=c or write to bob@example.org.": ("https://example.com/a?b=c", "bob@example.org"),
    "The meeting begins at 3:30 pm.": ("15 h 30",),
    "Give me 2 × 500 mg.": ("2 × 500",),
    "Read John 3:16.": ("3:16",),
    "Add 1½ cups of milk and 3/4 cup of sugar.": ("1½", "3/4"),
    "We need １２３ chairs for {{ {name} }}.": ("１２３", "{{ {name} }}"),
    "Version 1.2.3-beta.4 wrote %s%d files.": ("1.2.3-beta.4", "%s%d"),
    "My friend <dnt>Mary Miller</dnt> likes #pizza and @anna_b.": ("<dnt>Mary Miller</dnt>", "#pizza", "@anna_b"),
}


CODES = {
    "The game went 1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 and then White was better.": "1.e4 e5 2.Nf3 Nc6 3.Bb5 a6",
    "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 is called the Italian Game.": "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5",
    "The players chose d4 d5 c4 e6 Nc3 Nf6 Bg5 Be7 e3 O-O Nf3 h6 Bh4 b6 cxd5 Nxd5 Bxe7 and stopped.": (
        "d4 d5 c4 e6 Nc3 Nf6 Bg5 Be7 e3 O-O Nf3 h6 Bh4 b6 cxd5 Nxd5 Bxe7"
    ),
    "Order the parts BK7231N, RTL8720DN, ESP32-C3 and STM32F103C8T6.": "BK7231N RTL8720DN ESP32-C3 STM32F103C8T6",
    "x = 3y^2 + 2x - 7 has two solutions, and f(x) = x^2 + 1 has none.": "3y^2 + 2x 7 x^2 + 1",
    "The reaction 2H2 + O2 -> 2H2O gives water, and C6H12O6 is sugar.": "2H2 + O2 -> 2H2O C6H12O6",
    "Enter the license key ABCD1-EFGH2-IJKL3-MNOP4-QRST5 and press the button.": "ABCD1-EFGH2-IJKL3-MNOP4-QRST5",
    "The server 192.168.0.1 calls 10.0.0.254:8080 and fe80::1ff:fe23:4567:890a.": (
        "192.168.0.1 10.0.0.254:8080 fe80::1ff:fe23:4567:890a"
    ),
    "Update from v1.2.3 to 2.0.0-rc.1 before you install 3.11.4.": "v1.2.3 2.0.0-rc.1 3.11.4",
    "Sail to 51°30'26\"N 0°7'39\"W and wait.": "51°30'26\"N 0°7'39\"W",
    "Flights LH123, AF1234 and BA0098 leave from gates A12, B7 and C33.": "LH123 AF1234 BA0098 A12 B7 C33",
    "NATO and the EU named parts AB-12, CD-34 and EF-56 in Room B2.": "AB-12 CD-34 EF-56 B2",
}


@pytest.mark.parametrize(
    "shipped", ["transformer-en-fr", "transformer-en-de", "bahdanau-en-fr", "bahdanau-en-de"], indirect=True
)
async def test_codes_arrive_in_their_order_and_nothing_is_made_of_their_stand_ins(shipped: Translator) -> None:
    found = await shipped.translate(list(CODES))
    for (text, codes), each in zip(CODES.items(), found, strict=True):
        assert re.search(".*".join(map(re.escape, codes.split())), each.text), (text, each.text)
        for word in re.findall(r"\w*[a-zA-Z][A-Z]\w*|\b[XYBLDPGCHJMNRT]\b(?!['’])", each.text):
            assert word in f"{text} {text[:1].upper()} OTAN UE EU", (text, each.text)


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_every_value_arrives_exactly_once(shipped: Translator, beam_size: int) -> None:
    options = TranslationOptions(beam_size=beam_size, alternatives=beam_size - 1)
    found = await shipped.translate(list(SENTENCES), options)
    for (text, values), each in zip(SENTENCES.items(), found, strict=True):
        for written in (each.text, *each.alternatives):
            assert [written.count(value) for value in values] == [1] * len(values), (text, written)
            assert sum(map(str.isdigit, written)) == sum(map(str.isdigit, "".join(values)))


async def test_forms_of_the_target_language_can_be_switched_off(shipped: Translator) -> None:
    [found] = await shipped.translate(["The price is €1,250.50."], TranslationOptions(values="keep"))
    assert "€1,250.50" in found.text


async def test_a_value_is_one_token_in_details(shipped: Translator) -> None:
    text = "Please visit https://example.com/a?b=c, it costs €1,250.50."
    [found] = await shipped.translate([text], TranslationOptions(details=True))
    [sentence] = found.sentences
    assert sentence.values == "search"
    assert {"https://example.com/a?b=c", "€1,250.50"} <= {token.text for token in sentence.source_tokens}
    assert {"https://example.com/a?b=c", "1 250,50 €"} <= {token.text for token in sentence.target_tokens}


async def test_a_path_that_no_model_took_is_refused(shipped: Translator) -> None:
    [end] = (await shipped.attention("I lost.", None, AttentionOptions())).target_tokens[-1].ids
    for ids in ((end, end), (10**6, end)):
        with pytest.raises(InvalidOption, match="target_ids must be tokens"):
            await shipped.attention("I lost.", None, AttentionOptions(target_ids=ids))
    with pytest.raises(InvalidOption, match="source_ids are not what the model reads"):
        await shipped.attention("I lost.", None, AttentionOptions(target_ids=(end,), source_ids=(end,)))


async def test_a_value_alone_is_returned_as_it_is(shipped: Translator) -> None:
    texts = ["https://example.com", "42", "%s", "3:30 pm", "🍕 12 🍕"]
    assert [found.text for found in await shipped.translate(texts)] == texts


async def test_more_values_than_a_search_can_follow_are_kept(shipped: Translator) -> None:
    numbers = [str(number) for number in range(101, 161)]
    [found] = await shipped.translate(["I like " + ", ".join(f"{number} dogs" for number in numbers) + "."])
    assert [found.text.count(number) for number in numbers] == [1] * len(numbers)


async def test_a_sentence_that_is_cut_off_keeps_its_values(shipped: Translator) -> None:
    text = "My order AB-1234 of 25 boxes has not arrived yet."
    [found] = await shipped.translate([text], TranslationOptions(max_length=4, details=True))
    assert (found.text.count("AB-1234"), found.text.count("25")) == (1, 1)
    assert {sentence.values for sentence in found.sentences} == {"copied"}


@pytest.mark.parametrize("shipped", ["bahdanau-en-de"], indirect=True)
async def test_a_verse_is_no_time_of_day_in_german(shipped: Translator) -> None:
    verse, time = await shipped.translate(["Read John 3:16.", "He arrives at 14:30."])
    assert "3:16" in verse.text
    assert "Uhr" not in verse.text
    assert "14:30 Uhr" in time.text


GLOSSARY = Glossary(
    [
        Term("house", ("bâtisse",)),
        Term("dog", ("clébard", "clébards")),
        Term("key", ("clef",)),
        Term("point of sale", ("caisse enregistreuse",)),
        Term("Smart Box", ("Smart Box",)),
    ]
)
TERMS_OF = {
    "My house is big.": ("bâtisse",),
    "The dog sleeps in the house.": ("clébard", "bâtisse"),
    "I have lost my key.": ("clef",),
    "Go to the point of sale with 3 dogs.": ("caisse enregistreuse", "clébard", "3"),
    "The Smart Box costs €1,250.50.": ("Smart Box", "1 250,50 €"),
}


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_every_term_arrives_in_every_alternative(shipped: Translator, beam_size: int) -> None:
    options = TranslationOptions(beam_size=beam_size, alternatives=beam_size - 1, glossary=GLOSSARY)
    found = await shipped.translate(list(TERMS_OF), options)
    for (text, terms), each in zip(TERMS_OF.items(), found, strict=True):
        for written in (each.text, *each.alternatives):
            assert all(term in written for term in terms), (text, written)


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_a_word_that_the_model_cannot_place_stands_where_the_source_term_does(
    shipped: Translator, beam_size: int
) -> None:
    glossary = Glossary([Term("dog", ("clebs",)), Term("garden", ("potager",))])
    options = TranslationOptions(beam_size=beam_size, glossary=glossary)
    [found] = await shipped.translate(["The dog is in the garden."], options)
    assert re.search("clebs .*potager", found.text)


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


async def texts_of(translator: Translator, *texts: str, options: TranslationOptions | None = None) -> list[str]:
    return [each.text for each in await translator.translate(texts, options)]


async def test_capitals_marks_ends_and_bullets_are_kept(shipped: Translator) -> None:
    [small, capitals] = await texts_of(shipped, "Open the window", "OPEN THE WINDOW")
    assert capitals == small.upper()
    [plain, marked, bullet] = await texts_of(shipped, "Street", "&Street…", "• Street:")
    assert marked.replace("&", "") == f"{plain}…"
    assert marked.count("&") == 1
    assert bullet == f"• {plain} :"


async def test_values_of_a_title_stay_as_they_are_and_terms_are_in_capitals(shipped: Translator) -> None:
    options = TranslationOptions(glossary=Glossary([Term("window", ("hublot",))]))
    [values, terms] = await texts_of(shipped, "OPEN ALL 25 FILES OF {name}", "OPEN THE WINDOW", options=options)
    assert values.count("{name}") == values.count("25") == 1
    assert values.replace("{name}", "").isupper()
    assert "HUBLOT" in terms
    assert terms.isupper()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("OPEN {url} OR {url}", ("{url}",)),
        ("COPY %d FILES TO %d", ("%d",)),
        ("THE HOUSE OF {name} IS NEXT TO THE HOUSE OF {name}, AND {name} IS OLD.", ("{name}",)),
    ],
)
async def test_a_value_that_is_twice_in_capitals_is_unchanged_both_times(
    shipped: Translator, text: str, values: tuple[str, ...]
) -> None:
    [found] = await texts_of(shipped, text)
    assert [found.count(value) for value in values] == [text.count(value) for value in values]
    others = re.sub("|".join(map(re.escape, values)), "", found)
    assert others.isupper()


async def test_a_text_that_is_wrapped_at_its_very_end_is_translated(shipped: Translator) -> None:
    [found] = await texts_of(
        shipped, r'["house.A1-B2a@b.de&amp;", "iPhone  house  STOP  \u4f60\u597d  \"  \u200d  dog"]'
    )
    assert "house.A1-B2a@b.de" in found


async def test_the_model_alone_answers_with_values_off(shipped: Translator) -> None:
    alone = await texts_of(shipped, "OPEN THE WINDOW", options=TranslationOptions(values="off"))
    assert alone != await texts_of(shipped, "OPEN THE WINDOW")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The word مرحبا means hello.", "مرحبا"),
        ("The city תל אביב is big.", "תל אביב"),
        ("He wrote Český.", "Český"),
        ("The word Łódź means hello.", "Łódź"),
        ("The flat has 54 m².", "54 m²"),
        ("CO₂ is a gas.", "CO₂"),
        ("the 1ˢᵗ of May", "1ˢᵗ"),
        ("§ 5 of the law", "§ 5"),
        ("Try the new FOOBAR® now!", "FOOBAR®"),
        ("He works for the AT&T company.", "AT&T"),
        ("He said 你好 to me.", "你好"),
        ("It costs 5 ₿.", "5 ₿"),
        ("Český", "Český"),
    ],
)
async def test_words_with_letters_that_no_model_knows_arrive_as_they_are(
    shipped: Translator, text: str, kept: str
) -> None:
    [found] = await shipped.translate([text])
    assert found.text.count(kept) == 1
    rest = found.text.replace(kept, "")
    assert rest.isascii() or all(
        letter in "àâçéèêëîïôöùûüÿœæÀÂÇÉÈÊËÎÏÔÖÙÛÜŸŒÆ’\u00a0\u202f«»" for letter in rest if not letter.isascii()
    )


async def test_letters_of_the_language_itself_are_translated(shipped: Translator) -> None:
    [found] = await shipped.translate(["Hello François, the café is naïve."])
    assert "café" in found.text
    assert found.text != "Hello François, the café is naïve."


async def test_a_word_is_kept_whole_however_its_accents_are_written(shipped: Translator) -> None:
    [found] = await shipped.translate([unicodedata.normalize("NFD", "He wrote Český in François's café.")])
    assert unicodedata.normalize("NFD", "Český") in found.text
    assert "café" in unicodedata.normalize("NFC", found.text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("£3.50", "3,50 £"),
        ("12.5%", "12,5 %"),
        ("- $1,234.50 – $2,000", "- 1 234,50 $ – 2 000 $"),
        ("€5\nI lost my keys.\n12.5%", "5 €\nJ'ai perdu mes clés.\n12,5 %"),
        ("3.5", "3.5"),  # it may be a version or a heading
        ("1. ", "1. "),
    ],
)
async def test_an_amount_alone_is_written_as_in_a_sentence(shipped: Translator, text: str, expected: str) -> None:
    [found] = await shipped.translate([text], TranslationOptions(details=True, alternatives=1))
    assert re.sub("[\u00a0\u202f]", " ", found.text) == expected
    for sentence in found.sentences:
        end = sentence.target_start + len(sentence.target_text)
        assert found.text[sentence.target_start : end] == sentence.target_text
    for values in ("keep", "off"):
        [kept] = await shipped.translate([text], TranslationOptions(values=values))
        assert kept.text.startswith(text[:3])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('He said "%s" and left.', ("« %s »",)),
        ("He is 6'2\" tall.", ("6'2\"",)),
        ("A 5'10\" tall man", ("5'10\"",)),
    ],
)
async def test_quotation_marks_around_a_value_and_inches(
    shipped: Translator, text: str, parts: tuple[str, ...]
) -> None:
    [found] = await shipped.translate([text])
    assert all(part in found.text.replace("\u00a0", " ").replace("\u202f", " ") for part in parts)
