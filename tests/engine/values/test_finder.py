"""Values, terms and places in texts, and how the target language writes them."""

import time
from itertools import pairwise

import pytest

from service.engine.values.finder import ValueRules, find_values
from service.engine.values.places import find_places
from service.engine.values.terms import Glossary, Term
from service.engine.values.value import Kind, merged

EN_FR = ValueRules("en", "fr")


def found(text: str) -> list[tuple[str, str]]:
    values = find_values(text, EN_FR)
    assert all(text[value.start : value.end] == value.text for value in values)
    assert all(one.end <= other.start for one, other in pairwise(values))
    return [(value.kind.value, value.text) for value in values]


def written(text: str, pair: str) -> list[str]:
    source, target = pair.split("-")
    return [value.written for value in find_values(text, ValueRules(source, target))]


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
            "On 4 July 1976 at 3:30 pm, $5.50 for AB-12 at www.x.org/1?y=2",
            [
                *(("number", "4"), ("number", "1976"), ("time", "3:30 pm"), ("amount", "$5.50")),
                *(("code", "AB-12"), ("address", "www.x.org/1?y=2")),
            ],
        ),
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
        ("%{count} files", [("placeholder", "%{count}")]),
        ("Press $t(common.save) now", [("placeholder", "$t(common.save)")]),
        ("%s%d of %name%", [("placeholder", "%s%d"), ("placeholder", "%name%")]),
        ("{{ {name} }} {{{raw}}}", [("placeholder", "{{ {name} }}"), ("placeholder", "{{{raw}}}")]),
        ("½ cup, 1½ cups, 3/4 cup at 16:9", [("number", part) for part in ("½", "1½", "3/4", "16:9")]),
        ("１２３ or ١٢٣ or ±3%", [("number", "１２３"), ("number", "١٢٣"), ("number", "±3%")]),
        ("1.2.3-beta.4 and 1.0.0+build.5", [("code", "1.2.3-beta.4"), ("code", "1.0.0+build.5")]),
        ("1️⃣2️⃣ of 3 #️⃣", [("emoji", "1️⃣2️⃣"), ("number", "3"), ("emoji", "#️⃣")]),
        ("mailto:bob@x.org?subject=Hi%20there!", [("address", "mailto:bob@x.org?subject=Hi%20there")]),
        ("He played 1.e4 e5 2.Nf3 Nc6 3.O-O and won", [("code", "1.e4 e5 2.Nf3 Nc6 3.O-O")]),
        ("1. e4 e5 2. Nf3 Nc6 wins in 7 moves", [("number", "1"), ("code", "e4 e5 2. Nf3 Nc6"), ("number", "7")]),
        ("Mix 2H2 + O2 -> 2H2O, or 3y^2 + 2x", [("code", "2H2 + O2 -> 2H2O"), ("code", "3y^2 + 2x")]),
        ("Sail to 51°30'26\"N 0°7'39\"W", [("code", "51°30'26\"N"), ("code", "0°7'39\"W")]),
        ("At 48.8584, 2.2945 or 20°C", [("code", "48.8584, 2.2945"), ("number", "20")]),
        ("Ping fe80::1ff:fe23:4567:890a at 12:30:45", [("code", "fe80::1ff:fe23:4567:890a"), ("time", "12:30:45")]),
        ("Flights LH123, AF12 and gates B7 C3", [("code", part) for part in ("LH123", "AF12", "B7", "C3")]),
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
        ("12,34 %", "12,34 %", "12,34 %"),
        ("12/05/2024", "12/05/2024", "12/05/2024"),
        ("use Python 3.11, she said", "3.11", "3.11"),
        ("version 2.5", "2.5", "2.5"),
        ("2 × 500 mg", "2 × 500", "2 × 500"),
        ("1.5 x 2.5 x 3 m", "1,5 x 2,5 x 3", "1,5 x 2,5 x 3"),
        ("$5 million", "$5", "$5"),
        ("at 14:30:05", "14:30:05", "14:30:05"),
        ("at 3:30:05 pm", "3:30:05 pm", "3:30:05 pm"),
        ("I got up at half past eight.", "huit heures et demie", "halb neun"),
        ("It's quarter to one!", "une heure moins le quart", "Viertel vor eins"),
        ("Half-past 12 is lunch.", "douze heures et demie", "halb eins"),
        ("It is ten to six.", "six heures moins dix", "zehn vor sechs"),
        ("at twenty-five past nine", "neuf heures vingt-cinq", "fünf vor halb zehn"),
        ("by one o’clock", "une heure", "ein Uhr"),
    ],
)
def test_values_are_written_as_the_target_language_does(text: str, french: str, german: str) -> None:
    assert written(text, "en-fr") == [french]
    assert written(text, "en-de") == [german]


def test_values_are_written_as_they_are_where_that_is_asked_for() -> None:
    [value] = find_values("$1,299.99", ValueRules("en", "fr", localized=False))
    assert value.written == "$1,299.99"


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("It takes from five to six hours.", "en-fr"),
        ("Between ten to twelve people came.", "en-fr"),
        ("Il a dormi huit heures et demie.", "fr-en"),
        ("Après huit heures de travail, il dort.", "fr-en"),
        ("Er kam drei vor zwei.", "de-en"),
    ],
)
def test_ranges_and_lengths_are_no_times_in_words(text: str, pair: str) -> None:
    assert written(text, pair) == []


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
    assert [text for _, text in found(text)] == [value]


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
    ("text", "pair", "expected"),
    [
        ("Meet me at 14:30.", "en-fr", ["14 h 30"]),
        ("The 9:15 train leaves.", "en-fr", ["9 h 15"]),
        ("It's 7:45.", "en-fr", ["7 h 45"]),
        ("between 9:30 and 11:15", "en-fr", ["9 h 30", "11 h 15"]),
        ("Open 10:00-12:00 and 14:00–16:00.", "en-fr", ["10 h 00", "12 h 00", "14 h 00", "16 h 00"]),
        ("Monday (14:30)", "en-fr", ["14 h 30"]),
        ("The door closes, 10:30 in the morning.", "en-fr", ["10 h 30"]),
        ("3:30-4:30 pm", "en-fr", ["15 h 30", "16 h 30"]),
        ("from 11:30 to 1:30 pm", "en-fr", ["11 h 30", "13 h 30"]),
        ("from 12:15 to 1:30 am", "en-fr", ["0 h 15", "1 h 30"]),
        ("Der Zug um 8:15 kommt.", "de-fr", ["8 h 15"]),
        ("10:00-12:00 Uhr", "de-fr", ["10 h 00", "12 h 00"]),
        ("Johannes 3:16", "de-fr", ["3:16"]),
        ("Sie gewannen 25:20.", "de-en", ["25:20"]),
        ("Jean 3:16", "fr-de", ["3:16"]),
        ("Rendez-vous à 15:30", "fr-en", ["3:30 pm"]),
        ("à 15 h 30", "fr-en", ["3:30 pm"]),
        ("pour 1 299,99 €", "fr-en", ["€1,299.99"]),
        ("um 15:30 Uhr", "de-en", ["3:30 pm"]),
        ("um 8 Uhr abends", "de-en", ["8"]),
        ("um 10 Uhr", "de-en", ["10 o'clock"]),
        ("à 7 h du matin", "fr-en", ["7"]),
        ("vers 10 h", "fr-en", ["10 o'clock"]),
        ("de 9 h à 19 h", "fr-en", ["9 o'clock", "7 pm"]),
        ("à 10 h", "fr-de", ["10 Uhr"]),
        ("un trajet de 10 h, à 1 h de route", "fr-en", ["10 hours", "1 hour"]),
        ("un trajet de 10 h", "fr-de", ["10 Stunden"]),
        ("um 8:15 Uhr", "de-en", ["8:15"]),
        ("1.299,99 €", "de-en", ["€1,299.99"]),
        ("3,5 %", "de-en", ["3.5%"]),
        ("Im Mai hatte das Museum 46.300 Besucher.", "de-en", ["46,300"]),
        ("Er nutzt jetzt Python 3.11.", "de-en", ["3.11"]),
    ],
)
def test_words_of_each_language_say_what_figures_are(text: str, pair: str, expected: list[str]) -> None:
    assert written(text, pair) == expected


@pytest.mark.parametrize(
    "part",
    [
        *("1", "1,", "1-", "1/", "1.1", "+1 ", "½", "１,", "1-a.", "1:10, ", "at 1:10 ", "1:10-", "won "),
        *("<", "<a ", "<!--", "<dnt>", "{", "%(", "%s", "&a", "a@", "/a", "www.", "a_", "_/a", "a-", "a.", "😀"),
        *("a1 ", "a1.", "1. ", "1.a1 ", "a^", "a:", "1°", "1.2345, "),
    ],
)
def test_hostile_text_takes_time_in_proportion(part: str) -> None:
    text = part * (20_000 // len(part)) + " 1 _"
    began = time.process_time()
    find_values(text, EN_FR)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "language", "terms", "wanted"),
    [
        ("Contracts and the parties' boxes", "en", {"contract": "X", "box": "Y"}, [("Contracts", "X"), ("boxes", "Y")]),
        ("the contractor", "en", {"contract": "X"}, []),
        ("points of sale", "en", {"point": "P", "point of sale": "Q"}, [("points of sale", "Q")]),
        ("point, of sale", "en", {"point of sale": "Q"}, []),
        ("CONTRACT", "en", {"contract": "vertrag"}, [("CONTRACT", "VERTRAG")]),
        ("nato, NATO", "en", {"NATO": "OTAN"}, [("NATO", "OTAN")]),
        ("a point, a point, points", "en", {"point": "P", "points": "Q"}, [*[("point", "P")] * 2, ("points", "Q")]),
        ("C and C++", "en", {"C++": "le C++"}, [("C++", "le C++")]),
        ("e-mail, not e mail", "en", {"e-mail": "courriel"}, [("e-mail", "courriel")]),
        ("l'école et les châteaux", "fr", {"école": "S", "château": "C"}, [("école", "S"), ("châteaux", "C")]),
        ("die Verträge des Vertrags", "de", {"Vertrag": "C"}, [("Verträge", "C"), ("Vertrags", "C")]),
        ("das Messer", "de", {"Messe": "F"}, []),
        ("a!b", "en", {"a!": "X", "!b": "Y", "b": "Z"}, [("a!", "X"), ("b", "Z")]),
        ("dog  houses", "en", {"dogs house": "X", "dog house": "Y", "DOG": "Z"}, [("dog  houses", "Y")]),
        ("C++", "en", {"C": "X", "C++": "Y"}, [("C", "X")]),
    ],
)
def test_terms_are_found_as_whole_words_in_their_usual_inflections(
    text: str, language: str, terms: dict[str, str], wanted: list[tuple[str, str]]
) -> None:
    glossary = Glossary([Term(source, (target,)) for source, target in terms.items()])
    assert [(value.text, value.written) for value in glossary.find(text, language)] == wanted


def test_a_term_wins_over_numbers_within_it_and_gives_way_to_other_values() -> None:
    text = "Windows 10 costs 10 at https://windows.com"
    terms = Glossary([Term("Windows 10", ("Fenster",)), Term("windows", ("fenêtres",))]).find(text, "en")
    values = merged(find_values(text, ValueRules("en", "fr")), terms)
    assert [(value.text, value.written) for value in values] == [
        ("Windows 10", "Fenster"),
        ("10", "10"),
        ("https://windows.com", "https://windows.com"),
    ]


@pytest.mark.parametrize(
    ("text", "pair", "written", "read"),
    [
        ("We flew from Warsaw to Geneva.", ("en", "fr"), ["Varsovie", "Genève"], ["Paris", "Boston"]),
        ("Munich is nearer than Paris.", ("en", "de"), ["München"], ["Boston"]),
        ("Er kommt aus Lettland.", ("de", "en"), ["Latvia"], ["Frankreich"]),
        ("L'Équateur et Buenos Aires.", ("fr", "en"), ["Ecuador", "Buenos Aires"], ["Italie", "Paris"]),
        ("New Delhi, St. Petersburg", ("en", "fr"), ["New Delhi", "Saint-Pétersbourg"], ["Paris", "Boston"]),
        ("In Munich? From Buenos Aires.", ("en", "de"), ["München", "Buenos Aires"], ["Paris", "Boston"]),
        ("I'M FROM SINGAPORE.", ("en", "de"), ["Singapur"], ["Paris"]),
        ("ELLE HABITE À NEW DELHI.", ("fr", "en"), ["New Delhi"], ["Paris"]),
        ("LE CHILI EST BON.", ("fr", "en"), [], []),
        ("I like a warm bath in a cologne.", ("en", "de"), [], []),
        ("I live in Munich.", ("en", "es"), [], []),
    ],
)
def test_a_place_is_read_as_another_one_that_is_not_in_the_text(
    text: str, pair: tuple[str, str], written: list[str], read: list[str]
) -> None:
    found = list(find_places(text, *pair))
    assert [each.written for each in found] == written
    assert [each.stand_in[0] for each in found] == read


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Hello :name, you have :count.", [":name", ":count"]),
        ("Good morning :coffee:", [":coffee:"]),
        ("Note: this is at 10:30 :-)", ["10:30"]),
        ("To [[name]] and %1 or %%", ["[[name]]", "%1", "%%"]),
        ("{count, number} of {name|upper} and \\1", ["{count, number}", "{name|upper}", "\\1"]),
        ("Use ``[^\\x00-\\x7F]`` for `old house`", ["``[^\\x00-\\x7F]``", "`old house`"]),
        ("a || b, or C++ (C++ is not C#)", ["||", "C++", "C++", "C#"]),
        ("R&D and AT&T of the Q&A", ["R&D", "AT&T", "Q&A"]),
        ("Read § 5 and §§ 12.3a.", ["§ 5", "§§ 12.3a"]),
        ("(https://en.wikipedia.org/wiki/Dog_(animal)).", ["https://en.wikipedia.org/wiki/Dog_(animal)"]),
        ("(http://a.b/c) and www.a.b/c(d)", ["http://a.b/c", "www.a.b/c(d)"]),
        ("a [dog](https://a.b/c_(d)), [cats](#cats)", ["](https://a.b/c_(d))", "](#cats)"]),
        ("He [was](not) here.", []),
    ],
)
def test_placeholders_and_literals_of_programs_are_values(text: str, values: list[str]) -> None:
    assert [value.text for value in find_values(text, ValueRules("en", "fr"))] == values


@pytest.mark.parametrize(
    ("text", "source", "target", "written"),
    [
        ("Die Stadt hat 1.234.567 Einwohner.", "de", "en", ["1,234,567"]),
        ("Es kostet 1.250.000,50 Euro.", "de", "en", ["1,250,000.50"]),
        ("Version 1.2.3 von 10.0.0.254", "de", "en", ["1.2.3", "10.0.0.254"]),
        ("Python 3.11 or 3.12, and 2.5 cups", "en", "fr", ["3.11", "3.12", "2,5"]),
        ("Firefox 102.0 is old.", "en", "de", ["102.0"]),
        ("Add 2.5 cups.", "en", "fr", ["2,5"]),
        ("1.1 Introduction", "en", "fr", ["1.1"]),
        ("1.5 cups of milk", "en", "fr", ["1,5"]),
        ("$204.72 USD", "en", "fr", ["204,72 USD"]),
    ],
)
def test_numbers_from_a_million_versions_and_amounts(text: str, source: str, target: str, written: list[str]) -> None:
    assert [value.written for value in find_values(text, ValueRules(source, target))] == written


@pytest.mark.parametrize(
    ("number", "ending"),
    [("1", "st"), ("2", "nd"), ("3", "rd"), ("4", "th"), ("11", "th"), ("21", "st"), ("112", "th")],
)
def test_a_number_knows_its_ending_as_an_english_ordinal(number: str, ending: str) -> None:
    [value] = find_values(f"der {number}. Versuch", ValueRules("de", "en"))
    assert value.endings[0] == ending
    assert find_values(f"der {number}. Versuch", ValueRules("de", "fr"))[0].endings == ()
