"""Values in texts, and how the target language writes them."""

import time
from itertools import pairwise

import pytest

from service.engine.values.finder import ValueRules, find_values
from service.engine.values.value import Kind

EN_FR, EN_DE = ValueRules("en", "fr"), ValueRules("en", "de")
FR_EN, DE_EN = ValueRules("fr", "en"), ValueRules("de", "en")


def found(text: str, rules: ValueRules = EN_FR) -> list[tuple[str, str]]:
    values = find_values(text, rules)
    for value in values:
        assert text[value.start : value.end] == value.text
    return [(value.kind.value, value.text) for value in values]


def written(text: str, rules: ValueRules) -> list[str]:
    return [value.written for value in find_values(text, rules)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Take 2 tablets of 500 mg every 6 hours.", [("number", "2"), ("number", "500"), ("number", "6")]),
        ("Call +33 6 12 34 56 78 or (030) 123456.", [("phone", "+33 6 12 34 56 78"), ("phone", "(030) 123456")]),
        ("On 12/05/2024, or 2024-05-12.", [("date", "12/05/2024"), ("date", "2024-05-12")]),
        ("Order AB-1234-XY, COVID-19 and v2.0.1", [("code", "AB-1234-XY"), ("code", "COVID-19"), ("code", "v2.0.1")]),
        (
            "See https://example.com/a?b=c. Write to bob@example.org!",
            [("address", "https://example.com/a?b=c"), ("address", "bob@example.org")],
        ),
        ("Open report_final.pdf in C:\\temp.", [("address", "report_final.pdf"), ("address", "C:\\temp")]),
        (
            "Hi {name}, %d of %(total)s, {{x}}, ${HOME}, %1$s",
            [("placeholder", text) for text in ("{name}", "%d", "%(total)s", "{{x}}", "${HOME}", "%1$s")],
        ),
        ("Press <b>Save</b> &amp; go", [("tag", "<b>"), ("tag", "</b>"), ("entity", "&amp;")]),
        ("@anna likes #pizza 🍕 a lot", [("mention", "@anna"), ("mention", "#pizza"), ("emoji", "🍕")]),
        (
            'Meet <span translate="no">Mr X</span> and <dnt>ACME Inc</dnt>.',
            [("marked", '<span translate="no">Mr X</span>'), ("marked", "<dnt>ACME Inc</dnt>")],
        ),
        ("In the 1990s he took 500mg on the 21st.", [("number", "1990"), ("number", "500"), ("number", "21")]),
        ("a 30-year-old in mid-2024", [("number", "30"), ("number", "2024")]),
        ("Save 50% now, or 50 % later", [("number", "50%"), ("number", "50 %")]),
        ("caf&eacute;", [("code", "caf&eacute;")]),
        ("%s%d of %name%", [("placeholder", "%s%d"), ("placeholder", "%name%")]),
        ("{{ {name} }} {{{raw}}}", [("placeholder", "{{ {name} }}"), ("placeholder", "{{{raw}}}")]),
        ("½ cup, 1½ cups, 3/4 cup at 16:9", [("number", part) for part in ("½", "1½", "3/4", "16:9")]),
        ("１２３ or ١٢٣ or ±3%", [("number", "１２３"), ("number", "١٢٣"), ("number", "±3%")]),
        ("1.2.3-beta.4 and 1.0.0+build.5", [("code", "1.2.3-beta.4"), ("code", "1.0.0+build.5")]),
        ("1️⃣2️⃣ of 3 #️⃣", [("emoji", "1️⃣2️⃣"), ("number", "3"), ("emoji", "#️⃣")]),
        ("mailto:bob@x.org?subject=Hi%20there!", [("address", "mailto:bob@x.org?subject=Hi%20there")]),
    ],
)
def test_values_are_found_whole(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text", ["Hello, world.", "He said: e.g. the U.S. and/or us.", "A well-known, mid-size T-shirt!", "I am; are you?"]
)
def test_ordinary_text_has_no_values(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "french", "german"),
    [
        ("$1,299.99", "1 299,99 $", "1.299,99 $"),
        ("at 3:30 pm", "15 h 30", "15:30 Uhr"),
        ("at 12:15 am", "0 h 15", "0:15 Uhr"),
        ("at 3 p.m. today", "15 h", "15 Uhr"),
        ("10,000 people", "10 000", "10.000"),
        ("12.5%", "12,5 %", "12,5 %"),
        ("12/05/2024", "12/05/2024", "12/05/2024"),
        ("Python 3.11, she said".replace("Python", "use Python"), "3.11", "3.11"),
        ("version 2.5", "2.5", "2.5"),
        ("2 × 500 mg", "2 × 500", "2 × 500"),
        ("1.5 x 2.5 x 3 m", "1,5 x 2,5 x 3", "1,5 x 2,5 x 3"),
        ("$5 million", "$5", "$5"),
        ("14:30:05", "14:30:05", "14:30:05"),
    ],
)
def test_values_are_written_as_the_target_language_does(text: str, french: str, german: str) -> None:
    assert written(text, EN_FR) == [french]
    assert written(text, EN_DE) == [german]
    assert written(text, ValueRules("en", "fr", localized=False)) == [find_values(text, EN_FR)[0].text]


@pytest.mark.parametrize(
    ("text", "french", "german"),
    [
        ("I got up at half past eight.", "huit heures et demie", "halb neun"),
        ("It's quarter to one!", "une heure moins le quart", "Viertel vor eins"),
        ("Half-past 12 is lunch.", "douze heures et demie", "halb eins"),
        ("It is ten to six.", "six heures moins dix", "zehn vor sechs"),
        ("at twenty-five past nine", "neuf heures vingt-cinq", "fünf vor halb zehn"),
        ("by one o’clock", "une heure", "ein Uhr"),
    ],
)
def test_times_in_words_are_said_as_the_target_language_does(text: str, french: str, german: str) -> None:
    assert written(text, EN_FR) == [french]
    assert written(text, EN_DE) == [german]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It takes from five to six hours.", "en"),
        ("Between ten to twelve people came.", "en"),
        ("Il a dormi huit heures et demie.", "fr"),
        ("Après huit heures de travail, il dort.", "fr"),
        ("Er kam drei vor zwei.", "de"),
    ],
)
def test_ranges_and_lengths_are_no_times_in_words(text: str, source: str) -> None:
    assert find_values(text, ValueRules(source, "en" if source != "en" else "fr")) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("at 5 p.m. on Tuesday", "5 p.m."),
        ("At 5 p.m., we left.", "5 p.m."),
        ("Is it 5 p.m.?", "5 p.m."),
        ("It is 5 p.m.", "5 p.m"),
        ("It is 5 p.m. She left.", "5 p.m"),
    ],
)
def test_the_stop_of_an_abbreviation_is_the_value_s_unless_it_ends_the_sentence(text: str, value: str) -> None:
    assert [each.text for each in find_values(text, EN_FR)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "John 3:16 says so.",
        "We read at 1 John 4:18 today.",
        "See Romans 8:28-39 and Matthew 13:45.",
        "They won 3:2.",
        "They won 20:15 at home.",
        "won by 20:10",
        "The screen is 16:9 or 16:10.",
        "a ratio of 10:15",
        "from verse 3:16",
        "Look at 1:45 in the video.",
        "a length of 2:30 minutes",
        "14:30",
        "at 25:20",
    ],
)
def test_figures_with_a_colon_are_no_time_without_words_that_say_so(text: str) -> None:
    for value in find_values(text, EN_FR):
        assert value.kind in (Kind.NUMBER, Kind.CODE)
        assert value.written == value.text


@pytest.mark.parametrize(
    ("text", "french"),
    [
        ("Meet me at 14:30.", ["14 h 30"]),
        ("The 9:15 train leaves.", ["9 h 15"]),
        ("It's 7:45.", ["7 h 45"]),
        ("between 9:30 and 11:15", ["9 h 30", "11 h 15"]),
        ("Open 10:00-12:00 and 14:00–16:00.", ["10 h 00", "12 h 00", "14 h 00", "16 h 00"]),
        ("Monday (14:30)", ["14 h 30"]),
        ("The door closes, 10:30 in the morning.", ["10 h 30"]),
        ("3:30-4:30 pm", ["15 h 30", "16 h 30"]),
        ("from 11:30 to 1:30 pm", ["11 h 30", "13 h 30"]),
    ],
)
def test_words_beside_a_time_say_that_it_is_one(text: str, french: list[str]) -> None:
    assert written(text, EN_FR) == french


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        ("Der Zug um 8:15 kommt.", ValueRules("de", "fr"), ["8 h 15"]),
        ("10:00-12:00 Uhr", ValueRules("de", "fr"), ["10 h 00", "12 h 00"]),
        ("Johannes 3:16", ValueRules("de", "fr"), ["3:16"]),
        ("Sie gewannen 25:20.", DE_EN, ["25:20"]),
        ("Rendez-vous à 15:30", FR_EN, ["3:30 pm"]),
        ("Jean 3:16", ValueRules("fr", "de"), ["3:16"]),
    ],
)
def test_words_of_other_languages_say_that_it_is_a_time(text: str, rules: ValueRules, expected: list[str]) -> None:
    assert written(text, rules) == expected


@pytest.mark.parametrize(
    ("text", "rules", "english"),
    [
        ("à 15 h 30", FR_EN, "3:30 pm"),
        ("pour 1 299,99 €", FR_EN, "€1,299.99"),
        ("um 15:30 Uhr", DE_EN, "3:30 pm"),
        ("um 8 Uhr abends", DE_EN, "8"),
        ("um 8:15 Uhr", DE_EN, "8:15"),
        ("1.299,99 €", DE_EN, "€1,299.99"),
        ("3,5 %", DE_EN, "3.5%"),
    ],
)
def test_values_are_written_as_english_does(text: str, rules: ValueRules, english: str) -> None:
    assert written(text, rules) == [english]


@pytest.mark.parametrize(
    "part",
    [
        "1",
        "<",
        "{",
        "a@",
        "/a",
        "1,",
        "+1 ",
        "&a",
        "%(",
        "www.",
        "1-",
        "a_",
        "<a ",
        "😀",
        "<!--",
        "<dnt>",
        "_/a",
        "a-",
        "a.",
        "1.1",
        "%s",
        "1/",
        "½",
        "１,",
        "1-a.",
        "1:10, ",
        "at 1:10 ",
        "won ",
        "1:10-",
    ],
)
def test_hostile_text_takes_time_in_proportion(part: str) -> None:
    text = part * (20_000 // len(part)) + " 1 _"
    began = time.process_time()
    find_values(text, EN_FR)
    assert time.process_time() - began < 5


def test_values_do_not_overlap() -> None:
    text = "On 4 July 1976 at 3:30 pm, $5.50 for AB-12 at www.x.org/1?y=2 or #3 @me_2 %d {n} 50% +49 30 1234567 🍕"
    values = find_values(text, EN_DE)
    assert len(values) > 10
    assert all(one.end <= other.start for one, other in pairwise(values))
    assert {value.kind for value in values} >= {Kind.TIME, Kind.AMOUNT, Kind.PHONE, Kind.EMOJI}
