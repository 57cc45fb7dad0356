"""Which served language a text is taken for, also where imported models name it by another code."""

import errno
import tempfile
from pathlib import Path

import pytest

from service.detection import Detector, has_evidence
from service.engine.languages.tags import Languages

FOREIGN = Path(__file__).parent / "data" / "sentences-of-ten-languages.tsv"
ENGLISH = Path(__file__).parent.parent / "benchmarks" / "data" / "sentences.en-fr.tsv"


@pytest.mark.parametrize(
    ("served", "text", "wanted"),
    [
        (("en", "fil"), "Nasaan ang istasyon ng tren? Nawala ko ang aking mga susi.", "fil"),
        (("en", "nb"), "Hvor er togstasjonen? Jeg har mistet nøklene mine.", "nb"),
        (("en", "gn"), "Mba'éichapa reime? Che cheréra.", "gn"),
        (("en", "ar"), "انا عايز اروح البيت دلوقتي", "ar"),
        (("en", "zh-Hans"), "火车站在哪里？我想买一张票。", "zh-Hans"),
        (("yue", "zh-Hans"), "我哋今日去邊度食飯呀？", "yue"),
        (("az-Latn", "en"), "Mən açarlarımı itirmişəm. Qatar stansiyası haradadır?", "az-Latn"),
    ],
)
def test_a_text_is_found_under_the_code_that_is_served(served: tuple[str, ...], text: str, wanted: str) -> None:
    known = Languages({code: (code,) for code in sorted(served)})
    guesses = Detector(known.primary).detect(text)
    assert guesses[0].language == wanted
    assert guesses[0].confidence > 60
    assert len({guess.language for guess in guesses}) == len(guesses) <= len(served)
    assert sum(guess.confidence for guess in guesses) == pytest.approx(100, abs=0.2)


@pytest.fixture(scope="module")
def english() -> Detector:
    return detector_of("en", "fr")


def detector_of(*served: str) -> Detector:
    return Detector(Languages({code: (code,) for code in sorted(served)}).primary)


def test_short_sentences_of_ten_languages_are_not_english(english: Detector) -> None:
    rows = [line.split("\t") for line in FOREIGN.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 200
    assert len({language for language, _ in rows}) == 10
    checked = [(language, text) for language, text in rows if has_evidence(text)]
    found = [english.other_than(text, "en") for _, text in checked]
    assert sum(language is not None for language in found) >= 0.95 * len(rows)
    named = sum(one == language for one, (language, _) in zip(found, checked, strict=True))
    assert named >= 0.9 * len(rows)


def test_english_sentences_are_english(english: Detector) -> None:
    sentences = [line.split("\t")[0] for line in ENGLISH.read_text(encoding="utf-8").splitlines()]
    assert sentences
    assert [english.other_than(text, "en") for text in sentences] == [None] * len(sentences)


@pytest.mark.parametrize(
    "text", ["Hello World!", "No problem", "Q3 sales report", "Log in", "Mr Smith", "Yanni smiled."]
)
def test_an_unsure_guess_is_no_reason_to_doubt_a_short_text(english: Detector, text: str) -> None:
    assert english.other_than(text, "en") is None


def test_a_language_that_the_library_does_not_know_is_never_doubted() -> None:
    assert detector_of("en", "tlh").other_than("Die Kinder spielen im Garten.", "tlh") is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("He said 你好 to me.", "en"),
        ("She wrote Привет on the wall.", "en"),
        ("Il a dit 谢谢 et il est parti", "fr"),
        ("Wir sagten שלום zu ihm", "de"),
        ("我的 iPhone 坏了", "zh"),
        ("Я купил новый MacBook вчера", "ru"),
    ],
)
def test_a_word_in_another_script_does_not_change_the_language(text: str, language: str) -> None:
    detector = detector_of("en", "fr", "de", "zh", "ru", "he")
    assert detector.detect(text)[0].language == language
    assert detector.other_than(text, language) is None


@pytest.mark.parametrize("source", ["en", None])
def test_codes_alone_are_in_no_language_and_are_not_warned_of(english: Detector, source: str | None) -> None:
    assert not has_evidence("AX-3348-KB QF-7720-RT ZR-9981-MN")
    assert has_evidence("Nf Qxe Bxc Kh")  # chess without numbers
    assert english.other_than("Nf Qxe Bxc Kh", source) is None


def test_varieties_of_a_language_are_that_language() -> None:
    assert detector_of("en", "zh-Hans").other_than("火车站在哪里？我想买一张票。", "zh-Hans") is None
    assert detector_of("en", "pt-BR").other_than("Perdi as minhas chaves.", "pt-BR") is None


@pytest.mark.parametrize("text", ["", "🎉", "Berlin", "OK", "Hi Tom!", "12:30", "Straßenbahnhaltestelle", "3 kg 5 m"])
def test_single_words_and_names_are_no_evidence(text: str) -> None:
    assert not has_evidence(text)


@pytest.mark.parametrize("text", ["Bonjour le monde", "Ich habe Hunger.", "你好，请问火车站在哪里？"])
def test_two_words_are_evidence(text: str) -> None:
    assert has_evidence(text)


def test_a_temporary_folder_without_room_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert detector_of("en", "fr").detect("I have lost the keys of my house.")[0].language == "en"
