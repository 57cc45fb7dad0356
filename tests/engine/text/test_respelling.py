"""Sentences that are read in another spelling, and how their translations are written."""

import pytest

from service.engine.text.draft import Draft
from service.engine.text.respelling import may_be_respelled, respelled
from service.engine.values.finder import ValueRules, find_values
from tests.support.paths import MODELS
from translucent_mt import Translator

NAMES = ("Boston", "PDF", "Hunger", "Straße", "Fußball", "Schwester")


class Vocabulary:
    """Knows small words, capitals, a name, and an acronym; every other word has as many tokens as letters."""

    def __init__(self, capitals: bool = True) -> None:
        self.capitals = capitals

    def word(self, text: str) -> tuple[int, ...]:
        letter = len(text) == 1 and self.capitals
        listed = text.lower() in ("nato", *map(str.lower, NAMES))
        known = text in NAMES if listed else text.islower() or letter
        return (0,) if known else tuple(range(max(2, len(text))))


def read(text: str, source: str = "en", target: str = "fr", capitals: bool = True) -> str | None:
    values = find_values(text, ValueRules(source, target))
    draft = respelled(Draft(text, values), (source, target), Vocabulary(capitals))
    return None if draft is None else draft.spelled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I THINK I'M LATE.", "I think I'm late."),
        ("SEE YOU ON MONDAY IN BOSTON!", "See you on Monday in Boston!"),
        ("OPEN THE PDF.", "Open the PDF."),
        ("ASK MRS BAKER AND MR. COOK.", "Ask Mrs Baker and Mr. Cook."),
        ("A PORTUGUESE DOCTOR MAY FEAR HUNGER.", "A Portuguese doctor may fear hunger."),
        (
            "HE LEFT THE US ON 5 MAY, ON THE 13TH IN MAY OR MAY 2.",
            "He left the US on 5 May, on the 13th in May or May 2.",
        ),
        ("STOP!", "Stop!"),
        ("go .", "Go."),
        ("i'm home .", "I'm home."),
        ("Is it you ?", "Is it you?"),
        ("The GOVERNMENT must NEVER do it.", "The government must never do it."),
        ("Today BOSTON votes.", "Today Boston votes."),
        ("WRITE TO ANNA@EXAMPLE.COM NOW.", "Write to ANNA@EXAMPLE.COM now."),
    ],
)
def test_a_model_reads_the_usual_spelling(text: str, expected: str) -> None:
    assert may_be_respelled(text, "en")
    assert read(text) == expected


@pytest.mark.parametrize(
    "text", ["Where is it?", "NATO.", "He works for the UN.", "house", "Ask IBM and HP.", "Now NATO and the WHO met."]
)
def test_other_sentences_stay(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Die Straße ist groß, und es heißt, dass der Fußball draußen liegt.",
        "Wann haben Sie Ihre Schwester besucht? Sind Sie müde?",
        "Erinnern Sie sich? Ich danke Ihnen.",
        "Er ist gesund und schreibt, dass sie kommt. Das freut uns.",
        "Der Zeitungsverkäufer hat die Umleitungen und ein Gartenhäuschen gesehen.",  # in no list
        "Die Leute landen, arbeiten und haben ein Ende gefunden.",
        "Sie leben hier, und das Leben ist gut. Ich esse nach dem Essen.",
        "Achten Sie in diesem Zug auf Ihre Taschen und Ihren Hund.",
    ],
)
def test_german_in_capitals_is_read_as_it_is_written(text: str) -> None:
    assert read(text.upper(), "de", "en") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wann gehst du heute noch über die straße", "Wann gehst du heute noch über die Straße"),
        ("ich habe hunger. haben sie einen fußball für mich", "Ich habe Hunger. Haben Sie einen Fußball für mich"),
        ("über die straße", "über die Straße"),  # no sentence
        ("guten morgen", "guten Morgen"),
        ("wo ist die straße", "Wo ist die Straße"),
        ("Haben sie hunger?", "Haben Sie Hunger?"),
        ("Haben sie das gesehen?", None),  # they
    ],
)
def test_a_text_in_small_letters_is_read_with_the_capitals_of_its_nouns(text: str, expected: str | None) -> None:
    assert read(text, "de", "en") == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Die Tuer ist gross, Oel fuer die Kueche ist da.", "de", "Die Tür ist groß, Öl für die Küche ist da."),
        ("Die Tur ist fur uns offen.", "de", "Die Tür ist für uns offen."),
        ("L'ecole est fermee.", "fr", "L'école est fermée."),
        ("MA SOEUR EST A L'HOPITAL.", "fr", "Ma sœur est à l'hôpital."),
        ("ou est le theatre ?", "fr", "Où est le théâtre ?"),
        ("OU SONT LES ELEVES ?", "fr", "Où sont les élèves ?"),
        ("Ou bien demain.", "fr", None),
        ("A partir de lundi elle a la grippe.", "fr", "À partir de lundi elle a la grippe."),
        ("Il y a encore du pain a manger.", "fr", "Il y a encore du pain à manger."),
        ("L'hotel a l'air ferme.", "fr", "L'hôtel a l'air ferme."),
        ("GROSSİ IST ZU GROSS.", "de", "GROSSİ ist zu groß."),  # İ is two characters in small letters
        ("Frau Mueller kommt aus Goettingen, nicht aus Soest.", "de", None),  # names
        ("Où est le theatre ?", "fr", None),  # a text with one accent is taken to have all of them
        ("The cafe is fur us.", "en", None),
        ("Im sure he doesnt know what youve done.", "en", "I'm sure he doesn't know what you've done."),
        ("i dont know, its late", "en", "I don't know, its late"),  # its is a word, too
        ("THEYRE HERE, ARENT THEY?", "en", "They're here, aren't they?"),
        ("I don't know if hes ill.", "en", "I don't know if he's ill."),
    ],
)
def test_a_text_without_accents_or_apostrophes_gets_them(text: str, language: str, expected: str | None) -> None:
    assert read(text, language, "en") == expected


def test_letters_stand_where_their_plain_forms_were_typed() -> None:
    text = "Die Tuer ist gross."
    found = respelled(Draft(text), ("de", "en"), Vocabulary())
    assert found is not None
    at = [found.spelled.index(word) for word in ("Tür", "ist", "groß.")]
    words = [
        text[slice(*found.spelling.to_old(start, start + length))] for start, length in zip(at, (3, 3, 5), strict=True)
    ]
    assert words == ["Tuer", "ist", "gross."]


def test_languages_and_vocabularies_have_their_own_spelling() -> None:
    assert read("Ça va ?", "fr", "en") is None
    assert read("ça va .", "fr", "en") == "Ça va."
    assert read("DER HUNGER BLEIBT.", "de", "en") == "Der Hunger bleibt."
    assert read("DIE WOHNUNG IST AM ENDE LEER.", "de-AT", "en") == "Die Wohnung ist am Ende leer."
    assert read("a dog runs .", capitals=False) is None


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(str(MODELS / "transformer-en-fr"))


@pytest.mark.parametrize(
    "text", ["Where is the nearest hospital?", "The shop is closed. We are at home.", "It is 2:30."]
)
def test_capitals_give_the_same_translation_in_capitals(translator: Translator, text: str) -> None:
    assert translator(text.upper()).text == translator(text).text.upper()


@pytest.mark.parametrize(("careless", "usual"), [("i'm home .", "I'm home."), ("he is calm .", "He is calm.")])
def test_a_small_letter_and_a_spaced_mark_do_not_matter(translator: Translator, careless: str, usual: str) -> None:
    found, expected = translator(careless), translator(usual)
    assert found.text == expected.text
    assert found.attention.score == pytest.approx(expected.score, abs=1e-4)


def test_a_word_in_capitals_is_translated(translator: Translator) -> None:
    text = "The GOVERNMENT is bad."
    assert translator(text).text == translator(text.replace("GOVERNMENT", "government")).text


def test_a_given_translation_of_capitals_is_scored_as_it_is_translated(translator: Translator) -> None:
    text = "WHERE IS THE NEAREST HOSPITAL?"
    found, usual = translator(text), translator(text.capitalize())
    score = translator.score(text, found.text)
    assert score.score == pytest.approx(translator.score(text.capitalize(), usual.text).score, abs=1e-4)
    assert score.score > -1
    assert all(found.text[token.start : token.end] == token.text for token in score.tokens)
